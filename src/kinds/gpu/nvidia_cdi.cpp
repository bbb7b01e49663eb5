#include "kinds/gpu/nvidia_cdi.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "kinds/gpu/nvidia_injection.hpp"
#include "programs/command.hpp"
#include "programs/ending.hpp"

namespace plughost {
namespace {

using Json = nlohmann::json;

// The name that NVIDIA's device plugin uses: a file of its own that is still there would clash with another.
constexpr const char* kFile = "k8s.device-plugin.nvidia.com-gpu.json";
constexpr const char* kPlaces[] = {"/usr/bin/nvidia-ctk", "/usr/local/bin/nvidia-ctk",
                                   "/usr/local/nvidia/toolkit/nvidia-ctk", "/opt/nvidia/toolkit/nvidia-ctk",
                                   "/run/nvidia/toolkit/nvidia-ctk"};

// All of a card that a specification depends on.
std::string text_of(const std::vector<NvidiaGpu>& gpus) {
  std::string text;
  for (const NvidiaGpu& gpu : gpus) {
    text += gpu.uuid + ' ' + gpu.index;
    for (const std::string& node : gpu.nodes) text += ' ' + node;
    text += '\n';
  }
  return text;
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

NvidiaCdi::NvidiaCdi(std::string program, bool by_index, NvidiaGpus::Now now)
    : program_(std::move(program)), by_index_(by_index), now_(std::move(now)) {}

std::string NvidiaCdi::describe(const HostRoot& host, const std::vector<NvidiaGpu>& gpus, Scan& scan) {
  const std::string program = gpus.empty() ? "" : find_program(host);
  if (program.empty()) return {};
  const std::string cards = text_of(gpus);
  const bool due = cards != described_ || (text_.empty() && when_ + kRetry <= now_());
  if (due) {
    described_ = cards;
    text_.clear();
    trouble_ = generate(host.at(program).string(), gpus);
    if (!trouble_.empty()) trouble_ = program + " cdi generate: " + trouble_;
    when_ = now_();
  }
  if (text_.empty())
    scan.look_again = NvidiaGpus::kInterval;
  else
    scan.cdi.push_back({.name = kFile, .text = text_});
  return trouble_;
}

std::string NvidiaCdi::find_program(const HostRoot& host) const {
  if (!program_.empty()) return program_;
  for (const char* const place : kPlaces) {
    std::error_code failed;
    if (std::filesystem::exists(host.at(place), failed)) return place;
  }
  return {};
}

std::string NvidiaCdi::generate(const std::string& program, const std::vector<NvidiaGpu>& gpus) {
  Program command = document_program(
      {program, "cdi", "generate", "--format=json", "--vendor=" + std::string(kNvidiaCdiVendor),
       "--class=gpu", by_index_ ? "--device-name-strategy=index" : "--device-name-strategy=uuid"});
  command.timeout = kDeadline;
  std::optional<Ending> ending = run_.run(command);
  if (!ending) return "nobody waits for the program any more";
  std::string why = why_failed({}, *ending);
  if (why.empty()) why = look_through(ending->output, gpus, by_index_);
  if (why.empty()) text_ = std::move(ending->output);
  return why;
}

}  // namespace plughost
