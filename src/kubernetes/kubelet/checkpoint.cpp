#include "kubernetes/kubelet/checkpoint.hpp"

#include <absl/strings/escaping.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/text/text.hpp"
#include "kubernetes/kubelet/wire.hpp"

namespace plughost {

namespace {

using nlohmann::json;

const json& member(const json& object, const char* name) {
  static const json null;
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

int numa_node(const std::string& text) {
  if (const auto node = number_in<int>(text)) return *node;
  throw std::runtime_error("'" + text + "' is no NUMA node");
}

Checkpoint::PodDevices pod_devices_of(const json& from) {
  Checkpoint::PodDevices some{from.at("PodUID").get<std::string>(),
                              from.at("ContainerName").get<std::string>(),
                              from.at("ResourceName").get<std::string>(),
                              {},
                              std::nullopt};
  const json& ids = member(from, "DeviceIDs");
  if (ids.is_array()) {
    some.ids[-1] = ids.get<std::vector<std::string>>();
  } else if (ids.is_object()) {
    for (const auto& [node, on_node] : ids.items())
      some.ids[numa_node(node)] = on_node.get<std::vector<std::string>>();
  }
  std::vector<std::string> all;
  for (const auto& [node, on_node] : some.ids) all.insert(all.end(), on_node.begin(), on_node.end());
  some.set = IdSet::of(some.resource, all);
  if (const json& stored = member(from, "AllocResp"); stored.is_string()) {
    std::string bytes;
    if (absl::Base64Unescape(stored.get_ref<const std::string&>(), &bytes))
      some.allocation = parse_allocation(bytes);
  }
  return some;
}

}  // namespace

Checkpoint Checkpoint::parse(std::string_view text) {
  try {
    Checkpoint checkpoint;
    const json document = json::parse(text);
    const json& data = document.at("Data");
    if (const json& entries = member(data, "PodDeviceEntries"); !entries.is_null()) {
      for (const json& entry : entries) checkpoint.pod_devices.push_back(pod_devices_of(entry));
    }
    if (const json& registered = member(data, "RegisteredDevices"); !registered.is_null()) {
      for (const auto& [resource, ids] : registered.items()) {
        if (!ids.is_null()) checkpoint.registered[resource] = ids.get<std::vector<std::string>>();
      }
    }
    return checkpoint;
  } catch (const json::exception& exception) {
    throw std::runtime_error(std::string("this is not a kubelet's checkpoint: ") + exception.what());
  }
}

Checkpoint Checkpoint::read(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  const bool empty = stream && stream.peek() == std::ifstream::traits_type::eof() && !stream.bad();
  if (empty) throw std::runtime_error("it is empty");
  if (!stream || !(text << stream.rdbuf()))
    throw std::system_error(errno, std::generic_category(), "cannot read it");
  return parse(text.str());
}

namespace {

constexpr const char* kHangs = "reading it takes too long";

// Returns nullptr and sets `error` if the directory cannot be read.
std::shared_ptr<const std::set<std::string>> names_in(const std::filesystem::path& directory,
                                                      std::error_code& error) {
  std::filesystem::directory_iterator entry(directory, error);
  std::set<std::string> names;
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    names.insert(entry->path().filename());
  return error ? nullptr : std::make_shared<const std::set<std::string>>(std::move(names));
}

}  // namespace

struct CheckpointReader::Outcome {
  std::shared_ptr<const Checkpoint> checkpoint;
  std::string why;
  std::shared_ptr<const std::set<std::string>> pods;
  std::string why_no_pods;  // why `pods` is nullptr; empty also if the checkpoint has no pods
};

CheckpointReader::CheckpointReader(Workers& workers, Log& log, std::filesystem::path file,
                                   std::filesystem::path pods, std::chrono::milliseconds deadline)
    : workers_(workers), log_(log), file_(std::move(file)), pods_(std::move(pods)), deadline_(deadline) {}

void CheckpointReader::read(Clock::time_point since, Done done) {
  // A read that hangs is not retried, because each attempt would take the whole deadline.
  if (hung_) return done({.checkpoint = nullptr, .why = kHangs, .pods = nullptr, .began = Clock::now()});
  if (!reading_ && last_.began >= since) return done(Reading(last_));
  if (reading_ && began_ < since) {
    next_.push_back(std::move(done));
    return;
  }
  waiting_.push_back(std::move(done));
  if (!reading_) begin();
}

void CheckpointReader::begin() {
  reading_ = true;
  began_ = Clock::now();
  const auto outcome = std::make_shared<Outcome>();
  // The worker frees the former checkpoint before it reads the next one: a checkpoint can have 100,000 ids.
  const auto former = std::make_shared<std::shared_ptr<const Checkpoint>>(std::move(last_.checkpoint));
  workers_.run(
      [former, outcome, file = file_, pods = pods_] {
        former->reset();
        try {
          outcome->checkpoint = std::make_shared<const Checkpoint>(Checkpoint::read(file));
        } catch (const std::runtime_error& failure) {
          outcome->why = failure.what();
          std::error_code error;
          if (!std::filesystem::exists(file, error) && !error)
            outcome->checkpoint = std::make_shared<const Checkpoint>();
        }
        // The names are read last, because a pod's directory is created after its entry in the checkpoint.
        std::error_code error;
        outcome->pods = names_in(pods, error);
        if (error && outcome->checkpoint && !outcome->checkpoint->pod_devices.empty())
          outcome->why_no_pods = error.message();
      },
      lifetime_.bound([this, outcome] { on_end(*outcome); }), deadline_, lifetime_.bound([this] {
        hung_ = true;
        finish({.checkpoint = nullptr, .why = kHangs, .pods = nullptr, .why_no_pods = {}});
      }));
}

void CheckpointReader::on_end(const Outcome& outcome) {
  hung_ = false;
  reading_ = false;
  finish(outcome);
  if (!reading_ && !waiting_.empty()) begin();
}

void CheckpointReader::finish(const Outcome& outcome) {
  last_ = {.checkpoint = outcome.checkpoint, .why = outcome.why, .pods = outcome.pods, .began = began_};
  const Reading told = last_;
  std::vector<Done> done = std::exchange(waiting_, {});
  if (hung_)
    done.insert(done.end(), std::make_move_iterator(next_.begin()), std::make_move_iterator(next_.end()));
  else
    waiting_ = std::move(next_);
  next_.clear();
  for (const Done& each : done) each(told);
  const std::string error = told.checkpoint ? "" : told.why;
  if (std::exchange(told_why_, error) != error && !error.empty())
    log_.warn(
        "cannot read the kubelet's checkpoint: a device that a pod has from another plugin may be given "
        "twice",
        {{"file", file_.string()}, {"why", error}});
  if (!std::exchange(told_no_pods_, !outcome.why_no_pods.empty()) && told_no_pods_)
    log_.warn(
        "cannot read the kubelet's directory of pods: devices stay reserved after their pod has ended, until "
        "the kubelet's next Allocate",
        {{"directory", pods_.string()}, {"why", outcome.why_no_pods}});
}

}  // namespace plughost
