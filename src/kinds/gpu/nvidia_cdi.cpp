#include "kinds/gpu/nvidia_cdi.hpp"

#include <sys/stat.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/event_loop.hpp"
#include "kinds/gpu/terms.hpp"
#include "programs/subprocess.hpp"

namespace plughost {
namespace {

using Json = nlohmann::json;

// The name that NVIDIA's device plugin uses: a file of its own that is still there would clash with another.
constexpr const char* kFile = "k8s.device-plugin.nvidia.com-gpu.json";
// Where the driver has the nodes of MIG.
constexpr const char* kCapabilities = "/dev/nvidia-caps";
constexpr const char* kPlaces[] = {"/usr/bin/nvidia-ctk", "/usr/local/bin/nvidia-ctk",
                                   "/usr/local/nvidia/toolkit/nvidia-ctk", "/opt/nvidia/toolkit/nvidia-ctk",
                                   "/run/nvidia/toolkit/nvidia-ctk"};

// Another one of the same name has another stamp, and so has one that was away.
std::string stamp_of(const std::filesystem::path& file) {
  struct stat its {};
  if (::stat(file.c_str(), &its) != 0) return "none";
  std::string stamp;
  for (const auto number :
       {static_cast<std::uint64_t>(its.st_dev), static_cast<std::uint64_t>(its.st_ino),
        static_cast<std::uint64_t>(its.st_ctim.tv_sec), static_cast<std::uint64_t>(its.st_ctim.tv_nsec)})
    stamp += std::to_string(number) + ' ';
  return stamp;
}

// Why the text does not name the cards; empty: it does.
std::string look_through(const std::string& text, const std::vector<NvidiaGpu>& gpus, bool by_index) {
  const Json specification = Json::parse(text, nullptr, false);
  if (!specification.is_object() || !specification.contains("devices") ||
      !specification["devices"].is_array())
    return "what it printed is no CDI specification in JSON";
  std::set<std::string> names;
  for (const Json& device : specification["devices"]) {
    if (device.is_object() && device.contains("name") && device["name"].is_string())
      names.insert(device["name"].get<std::string>());
  }
  for (const NvidiaGpu& gpu : gpus) {
    const std::string& name = by_index ? gpu.index : gpu.uuid;
    if (!names.contains(name)) return "its specification has no device " + name;
  }
  return {};
}

}  // namespace

// What the scans and the loop tell each other.
struct NvidiaCdi::Shared {
  std::mutex mutex;
  std::function<void(Program)> begin;  // in the loop, from any thread; not set: nobody watches
  bool runs = false;
  std::optional<Ending> ended;
};

// Loop thread only.
class NvidiaCdi::Runner final : public SourceWatch {
 public:
  Runner(Programs& programs, std::shared_ptr<Shared> shared, std::function<void()> hint)
      : queue_(programs, Purpose::kList), shared_(std::move(shared)), hint_(std::move(hint)) {
    const std::lock_guard lock(shared_->mutex);
    shared_->begin = [poster = programs.loop().poster(), start = lifetime_.bound([this](Program program) {
      start_program(std::move(program));
    })](Program program) { poster([start, program = std::move(program)] { start(program); }); };
  }

 private:
  void start_program(Program program) {
    process_.emplace(queue_, std::move(program), [this](Ending ending) {
      {
        const std::lock_guard lock(shared_->mutex);
        shared_->runs = false;
        shared_->ended = std::move(ending);
      }
      hint_();
    });
  }

  ProgramQueue queue_;
  std::shared_ptr<Shared> shared_;
  std::function<void()> hint_;
  Lifetime lifetime_;
  std::optional<Subprocess> process_;  // the one that runs, or the last one
};

std::unique_ptr<SourceWatch> NvidiaCdi::watch(Programs& programs, const std::function<void()>& hint) {
  return std::make_unique<Runner>(programs, shared_, hint);
}

std::optional<Ending> NvidiaCdi::run(const Program& program) {
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->begin) {
      if (shared_->ended || shared_->runs) return std::exchange(shared_->ended, std::nullopt);
      shared_->runs = true;
      shared_->begin(program);
      return std::nullopt;
    }
  }
  return run_program(program);
}

NvidiaCdi::NvidiaCdi(std::string program, std::string driver_root, bool by_index, NvidiaGpus::Now now)
    : program_(std::move(program)),
      driver_root_(std::move(driver_root)),
      by_index_(by_index),
      now_(std::move(now)),
      shared_(std::make_shared<Shared>()) {}

std::string NvidiaCdi::what_there_is(const HostRoot& host, const std::string& program,
                                     const std::string& library, const std::vector<NvidiaGpu>& gpus) const {
  std::string there = "tool " + stamp_of(host.at(program)) + "library " + stamp_of(library) + "driver " +
                      host.text("/proc/driver/nvidia/version").value_or("") + '\n';
  // The nodes as they are: the driver makes some of them when somebody first needs them.
  const auto add = [&](const std::string& node) {
    there += ' ' + node + ' ' + host.device_number(node_below(host, driver_root_, node)).value_or("none");
  };
  for (const NvidiaGpu& gpu : gpus) {
    there += gpu.uuid + ' ' + gpu.index;
    for (const std::string& node : gpu.nodes) add(node);
    there += '\n';
  }
  for (const char* const node : kNvidiaNodes) add(node);
  return there;
}

std::string NvidiaCdi::describe(const HostRoot& host, const std::vector<NvidiaGpu>& gpus,
                                const std::string& library, Scan& scan) {
  if (!host.runs_programs()) return {};
  scan.watch.push_back({driver_root_ + kCapabilities, "*"});
  const std::string program = gpus.empty() ? "" : find_program(host);
  if (program.empty()) {
    described_.clear();
    return {};
  }
  const std::string there = what_there_is(host, program, library, gpus);
  const bool retry = there == described_ && text_.empty() && when_ + kRetry <= now_();
  if (!running_.empty() || there != described_ || retry) look_at(program, there, gpus, host);
  scan.undecided = there != described_;
  if (text_.empty())
    scan.look_again = NvidiaGpus::kInterval;
  else
    scan.cdi.push_back({.name = kFile, .text = text_});
  return trouble_;
}

void NvidiaCdi::look_at(const std::string& program, const std::string& there,
                        const std::vector<NvidiaGpu>& gpus, const HostRoot& host) {
  if (running_.empty()) running_ = there;
  std::optional<Ending> ending = run(command(host.at(program).string()));
  if (ending && running_ != there) {  // of what is not there any more
    running_ = there;
    ending = run(command(host.at(program).string()));
  }
  if (!ending) return;
  described_ = std::exchange(running_, {});
  text_.clear();
  trouble_ = take(std::move(*ending), gpus);
  if (!trouble_.empty()) trouble_ = program + " cdi generate: " + trouble_;
  when_ = now_();
}

std::string NvidiaCdi::find_program(const HostRoot& host) const {
  if (!program_.empty()) return program_;
  for (const char* const place : kPlaces) {
    if (host.exists(place)) return place;
  }
  return {};
}

Program NvidiaCdi::command(const std::string& program) const {
  std::vector<std::string> words = {
      program,
      "cdi",
      "generate",
      "--format=json",
      "--vendor=" + std::string(kNvidiaCdiVendor),
      "--class=gpu",
      by_index_ ? "--device-name-strategy=index" : "--device-name-strategy=uuid"};
  if (!driver_root_.empty()) words.push_back("--driver-root=" + driver_root_);
  Program command = document_program(std::move(words));
  command.timeout = kDeadline;
  return command;
}

// Why it made no specification that names the cards; empty: text_ is one.
std::string NvidiaCdi::take(Ending ending, const std::vector<NvidiaGpu>& gpus) {
  std::string why = why_failed({}, ending);
  if (why.empty()) why = look_through(ending.output, gpus, by_index_);
  if (why.empty()) text_ = std::move(ending.output);
  return why;
}

}  // namespace plughost
