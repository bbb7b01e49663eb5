#include "kinds/gpu/nvidia_cdi.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/system/event_loop.hpp"
#include "host/programs/subprocess.hpp"
#include "kinds/gpu/terms.hpp"

namespace plughost {
namespace {

using JsonValue = nlohmann::json;

// The name that NVIDIA's device plugin uses, so that its former file is replaced instead of conflicting.
constexpr const char* kFile = "k8s.device-plugin.nvidia.com-gpu.json";
// The default directories of container runtimes.
constexpr const char* kCdiDirectories[] = {"/var/run/cdi/", "/etc/cdi/"};
constexpr std::size_t kMostText = 4u << 20;
// The driver's directory for MIG nodes.
constexpr const char* kCapabilities = "/dev/nvidia-caps";
constexpr const char* kPlaces[] = {"/usr/bin/nvidia-ctk", "/usr/local/bin/nvidia-ctk",
                                   "/usr/local/nvidia/toolkit/nvidia-ctk", "/opt/nvidia/toolkit/nvidia-ctk",
                                   "/run/nvidia/toolkit/nvidia-ctk"};

// Returns a stamp that changes when the file is replaced, or removed and created again.
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

// Returns true if the host has each file that the edits mount.
bool files_exist(const HostRoot& host, const JsonValue& edits) {
  for (const char* const list : {"mounts", "deviceNodes"}) {
    for (const JsonValue& item : edits.value(list, JsonValue::array())) {
      const auto path = item.value("hostPath", item.value("path", std::string()));
      if (!path.empty() && !host.exists(path)) return false;
    }
  }
  return true;
}

// Returns the names of the specification's devices, without devices whose files are missing on the host;
// nullopt if the text is not a specification. `host` is nullptr for a new specification.
std::optional<std::set<std::string>> names_in(const std::string& text, const HostRoot* host) {
  const JsonValue specification = JsonValue::parse(text, nullptr, false);
  std::set<std::string> names;
  try {
    const auto usable = [&](const JsonValue& its) {
      return !host || files_exist(*host, its.value("containerEdits", JsonValue::object()));
    };
    const bool all_usable = usable(specification);
    for (const JsonValue& device : specification.at("devices"))
      if (all_usable && usable(device)) names.insert(device.at("name").get<std::string>());
  } catch (const JsonValue::exception&) {
    return std::nullopt;
  }
  return names;
}

}  // namespace

// Shared by the scans and the loop.
struct NvidiaCdi::Shared {
  std::mutex mutex;
  std::function<void(Program)> begin;  // starts the tool in the loop; thread-safe; not set: no watch exists
  bool runs = false;
  std::optional<Ending> ended;
};

// Loop thread only.
class NvidiaCdi::Runner final : public SourceWatch {
 public:
  Runner(Programs& programs, std::shared_ptr<Shared> shared, std::function<void()> request_scan)
      : queue_(programs, Purpose::kList), shared_(std::move(shared)), request_scan_(std::move(request_scan)) {
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
      request_scan_();
    });
  }

  ProgramQueue queue_;
  std::shared_ptr<Shared> shared_;
  std::function<void()> request_scan_;
  Lifetime lifetime_;
  std::optional<Subprocess> process_;  // the running or the previous program
};

std::unique_ptr<SourceWatch> NvidiaCdi::watch(Programs& programs, const std::function<void()>& request_scan) {
  return std::make_unique<Runner>(programs, shared_, request_scan);
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

NvidiaCdi::NvidiaCdi(std::string program, std::string driver_root, bool by_index)
    : program_(std::move(program)),
      driver_root_(std::move(driver_root)),
      by_index_(by_index),
      shared_(std::make_shared<Shared>()) {}

std::string NvidiaCdi::what_there_is(const HostRoot& host, const std::string& program,
                                     const std::string& library, const std::vector<NvidiaGpu>& gpus) const {
  std::string there = "tool " + stamp_of(host.at(program)) + "library " + stamp_of(library) + "driver " +
                      host.text("/proc/driver/nvidia/version").value_or("") + '\n';
  // The present nodes: the driver creates some of them on first use.
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

void NvidiaCdi::describe(const HostRoot& host, std::vector<NvidiaGpu>& gpus,
                         const std::optional<std::string>& library, Scan& scan) {
  if (!host.runs_programs()) return;
  if (!library) {
    if (!text_.empty()) scan.cdi.push_back({.name = kFile, .text = text_});
    return;
  }
  scan.watch.push_back({driver_root_ + kCapabilities, "*"});
  const std::string program = gpus.empty() ? "" : find_program(host);
  if (program.empty()) {
    described_.clear();
    return;
  }
  const std::string there = what_there_is(host, program, *library, gpus);
  const auto is_named = [&](const NvidiaGpu& gpu) { return names_.contains(name_of(gpu)); };
  const bool complete = error_.empty() && std::ranges::all_of(gpus, is_named);
  const bool retry = there == described_ && !complete && when_ + kRetry <= LoopClock::now();
  if (!running_.empty() || there != described_ || retry) run_tool(program, there, host);
  scan.undecided = there != described_;
  if (!text_.empty()) scan.cdi.push_back({.name = kFile, .text = text_});
  const std::string failure = error_.empty() ? "" : program + " cdi generate: " + error_;
  if (!failure.empty() && !text_.empty())
    scan.remarks.push_back(failure +
                           "; the cards that its former specification names stay available: run the command "
                           "on the node to see the error");
  for (NvidiaGpu& gpu : gpus) {
    if (is_named(gpu)) continue;
    scan.rescan_after = NvidiaGpus::kInterval;
    if (!gpu.error.empty()) continue;
    gpu.error = failure.empty() ? program + " cdi generate: its specification has no device " + name_of(gpu)
                                : failure;
  }
  if (!failure.empty()) scan.rescan_after = NvidiaGpus::kInterval;
}

void NvidiaCdi::run_tool(const std::string& program, const std::string& there, const HostRoot& host) {
  if (running_.empty()) running_ = there;
  std::optional<Ending> ending = run(command(host.at(program).string()));
  if (ending && running_ != there) {  // the result of an outdated run
    running_ = there;
    ending = run(command(host.at(program).string()));
  }
  if (!ending) return;
  described_ = std::exchange(running_, {});
  on_end(std::move(*ending), host);
  when_ = LoopClock::now();
}

std::string NvidiaCdi::find_program(const HostRoot& host) const {
  if (!program_.empty()) return program_;
  for (const char* const place : kPlaces)
    if (host.exists(place)) return place;
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

void NvidiaCdi::on_end(Ending ending, const HostRoot& host) {
  error_ = why_failed({}, ending);
  if (error_.empty()) {
    if (auto names = names_in(ending.output, nullptr)) {
      names_ = std::move(*names);
      text_ = std::move(ending.output);
      return;
    }
    error_ = "its output is not a CDI specification in JSON";
  }
  // A former specification by index is not used: an index may belong to another card by now.
  std::string former = by_index_ ? "" : std::move(text_);
  for (const char* const directory : kCdiDirectories) {
    if (former.empty() && !by_index_)
      former = host.text(directory + std::string(kFile), kMostText).value_or("");
  }
  names_ = names_in(former, &host).value_or(std::set<std::string>());
  text_ = names_.empty() ? "" : std::move(former);
}

}  // namespace plughost
