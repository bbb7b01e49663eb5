// NVIDIA's k8s-device-plugin: `version: v1` with `flags`, `sharing` and `resources`, and its command line.

#include <algorithm>
#include <array>
#include <utility>

#include "convert/peer.hpp"
#include "convert/theirs.hpp"
#include "device/template.hpp"

namespace plughost {
namespace {

constexpr std::array<std::string_view, 4> kFlags = {"mig-strategy", "device-list-strategy",
                                                    "device-id-strategy", "pass-device-specs"};
constexpr const char* kWholeGpu = "nvidia.com/gpu";
const Node kNothing;

// What the file says, or the command line, which wins.
class Settings {
 public:
  Settings(const Node& flags, Arguments& arguments, Diagnostics& diagnostics)
      : flags_(flags, "flags", diagnostics),
        plugin_(or_nothing(flags_.node("plugin")), "flags.plugin", diagnostics),
        arguments_(arguments) {}

  std::string text(const char* key, const char* flag, const char* fallback) {
    const auto from_file = flags_.text(key);
    return arguments_.value(flag).value_or(from_file.value_or(fallback));
  }
  std::string plugin_text(const char* key, const char* flag, const char* fallback) {
    const auto from_file = plugin_.text(key);
    return arguments_.value(flag).value_or(from_file.value_or(fallback));
  }
  bool truth(const char* key, const char* flag) {
    const auto from_file = flags_.flag(key);
    return arguments_.truth(flag).value_or(from_file.value_or(false));
  }
  bool plugin_truth(const char* key, const char* flag) {
    const auto from_file = plugin_.flag(key);
    return arguments_.truth(flag).value_or(from_file.value_or(false));
  }
  std::vector<std::string> strategies() {
    std::vector<std::string> all = plugin_.texts("deviceListStrategy");
    const std::vector<std::string> given = arguments_.values("device-list-strategy");
    if (given.empty()) return all;
    all.clear();
    for (std::string_view list : given) {  // "envvar,cdi-cri", or the flag several times
      while (!list.empty()) {
        const std::string_view one = list.substr(0, list.find(','));
        all.emplace_back(one);
        list.remove_prefix(std::min(one.size() + 1, list.size()));
      }
    }
    return all;
  }

  // Notes on what has no counterpart.
  std::vector<std::string> notes() {
    std::vector<std::string> notes;
    if (flags_.node("gfd"))
      notes.emplace_back("`flags.gfd` is left out: it is for GPU feature discovery, a program of its own.");
    const auto left_out = [&](bool there, const char* name, const char* why) {
      if (there) notes.push_back('`' + std::string(name) + "` is left out: " + why);
    };
    left_out(given(flags_, "failOnInitError", "fail-on-init-error"), "failOnInitError",
             "plughost runs without GPUs, too, and lists them when they appear.");
    left_out(given(flags_, "nvidiaDriverRoot", "nvidia-driver-root"), "nvidiaDriverRoot",
             "plughost runs on the machine, not in a container.");
    left_out(given(flags_, "nvidiaDevRoot", "nvidia-dev-root"), "nvidiaDevRoot",
             "plughost runs on the machine, not in a container.");
    left_out(given(flags_, "deviceDiscoveryStrategy", "device-discovery-strategy"), "deviceDiscoveryStrategy",
             "plughost finds out by itself.");
    left_out(given(flags_, "useNodeFeatureAPI", "use-node-feature-api"), "useNodeFeatureAPI",
             "it is for GPU feature discovery, a program of its own.");
    left_out(given(flags_, "mpsRoot", "mps-root"), "mpsRoot", "MPS is not converted.");
    left_out(given(plugin_, "containerDriverRoot", "container-driver-root"), "plugin.containerDriverRoot",
             "plughost runs on the machine, not in a container.");
    left_out(given(plugin_, "nvidiaCTKPath", "nvidia-ctk-path"), "plugin.nvidiaCTKPath",
             "nvidia-ctk is found by its name.");
    left_out(given(plugin_, "cdiAnnotationPrefix", "cdi-annotation-prefix"), "plugin.cdiAnnotationPrefix",
             "the annotation's prefix is always cdi.k8s.io/.");
    arguments_.value("config-file");
    for (Theirs* each : {&flags_, &plugin_}) {
      for (std::string& note : each->notes()) notes.push_back(std::move(note));
    }
    return notes;
  }

  static const Node& or_nothing(const Node* node) { return node ? *node : kNothing; }

 private:
  bool given(Theirs& from, const char* key, const char* flag) {
    const bool in_file = from.node(key) != nullptr;
    return arguments_.value(flag).has_value() || in_file;
  }

  Theirs flags_;
  Theirs plugin_;
  Arguments& arguments_;
};

// One row of sharing.timeSlicing.resources.
struct Shared {
  std::string name;
  std::string rename;
  unsigned replicas = 1;
  std::vector<std::string> notes;
};

std::string with_domain(const std::string& name) {
  return name.find('/') == std::string::npos ? "nvidia.com/" + name : name;
}

std::vector<Shared> read_sharing(Theirs& top, ConfigDraft& draft, Diagnostics& diagnostics) {
  Theirs sharing(Settings::or_nothing(top.node("sharing")), "sharing", diagnostics);
  if (sharing.node("mps"))
    draft.notes.emplace_back("`sharing.mps` is left out: plughost does not run MPS's control daemon.");
  Theirs slicing(Settings::or_nothing(sharing.node("timeSlicing")), "sharing.timeSlicing", diagnostics);
  const bool rename = slicing.flag("renameByDefault").value_or(false);
  if (slicing.flag("failRequestsGreaterThanOne").value_or(false))
    draft.notes.emplace_back(
        "`failRequestsGreaterThanOne` is left out: a container may ask for several replicas here, and gains "
        "no time by that.");
  std::vector<Shared> all;
  for (std::size_t i = 0; const Node& item : slicing.items("resources")) {
    Theirs row(item, "sharing.timeSlicing.resources[" + std::to_string(i++) + ']', diagnostics);
    Shared shared;
    shared.name = row.require_text("name");
    shared.name = with_domain(shared.name);
    shared.rename = row.text("rename").value_or(rename ? shared.name + ".shared" : "");
    shared.replicas = row.number("replicas").value_or(1);
    const Node* const devices = row.node("devices");
    if (devices && devices->scalar != "all")
      shared.notes.emplace_back("`devices` chose some of the GPUs; here all of them are shared.");
    for (std::string& note : row.notes()) shared.notes.push_back(std::move(note));
    all.push_back(std::move(shared));
  }
  for (std::string& note : slicing.notes()) draft.notes.push_back(std::move(note));
  for (std::string& note : sharing.notes()) draft.notes.push_back(std::move(note));
  return all;
}

YamlDraft gpu_draft(Settings& settings, ConfigDraft& draft) {
  YamlDraft gpu = YamlDraft::map();
  gpu.add("vendor", YamlDraft::text("nvidia"));
  std::vector<std::string> strategies = settings.strategies();
  if (strategies.empty()) strategies = {"envvar"};
  gpu.add("deviceListStrategy", YamlDraft::texts(strategies));
  if (const std::string ids = settings.plugin_text("deviceIDStrategy", "device-id-strategy", "uuid");
      ids != "uuid")
    gpu.add("deviceIDStrategy", YamlDraft::text(ids));
  if (settings.plugin_truth("passDeviceSpecs", "pass-device-specs"))
    gpu.add("passDeviceSpecs", YamlDraft::word("true"));
  const std::string mig = settings.text("migStrategy", "mig-strategy", "none");
  gpu.add("mig", YamlDraft::text(mig));
  if (mig == "mixed")
    draft.notes.emplace_back("With `mig: mixed` the profiles are resources such as nvidia.com/mig-1g.5gb.");
  return gpu;
}

YamlDraft env_draft(Settings& settings) {
  YamlDraft env = YamlDraft::map();
  const auto add = [&](const char* key, const char* flag, const char* variable) {
    if (settings.truth(key, flag)) env.add(variable, YamlDraft::text("enabled"));
  };
  add("gdsEnabled", "gds-enabled", "NVIDIA_GDS");
  add("mofedEnabled", "mofed-enabled", "NVIDIA_MOFED");
  add("gdrcopyEnabled", "gdrcopy-enabled", "NVIDIA_GDRCOPY");
  return env;
}

void convert_nvidia(const Node& root, Arguments& arguments, ConfigDraft& draft, Diagnostics& diagnostics) {
  Theirs top(root, "", diagnostics);
  if (const auto version = top.text("version"); version && *version != "v1")
    draft.notes.push_back("Its version is " + quote(*version) + "; plughost knows v1.");
  Settings settings(Settings::or_nothing(top.node("flags")), arguments, diagnostics);

  YamlDraft entry = YamlDraft::map();
  std::string name = kWholeGpu;
  unsigned replicas = 1;
  for (Shared& shared : read_sharing(top, draft, diagnostics)) {
    if (shared.name != kWholeGpu) {
      draft.notes.push_back("Sharing of " + quote(shared.name) +
                            " is left out: only nvidia.com/gpu is converted.");
      continue;
    }
    replicas = shared.replicas;
    if (!shared.rename.empty()) name = with_domain(shared.rename);
    for (std::string& note : shared.notes) entry.notes.push_back(std::move(note));
  }
  entry.add("name", YamlDraft::text(Template::escape(name)));
  entry.add("gpu", gpu_draft(settings, draft));
  if (replicas > 1) entry.add("replicas", sharing_draft(replicas));
  entry.add("allocationPolicy", YamlDraft::text(replicas > 1 ? "distributed" : "aligned"));
  if (YamlDraft env = env_draft(settings); !env.empty()) entry.add("env", std::move(env));
  draft.resources.add(std::move(entry));

  if (top.node("resources"))
    draft.notes.emplace_back(
        "`resources` is left out: all GPUs are one resource; make entries of your own for other names.");
  if (top.node("imex")) draft.notes.emplace_back("`imex` is left out.");
  for (std::string& note : settings.notes()) draft.notes.push_back(std::move(note));
  for (std::string& note : top.notes()) draft.notes.push_back(std::move(note));
  draft.notes.emplace_back(
      "Settings that are given by environment variables (MIG_STRATEGY and so on) are not seen here.");
}

}  // namespace

Peer nvidia_peer() {
  return {.which = ForeignConfig::kNvidia,
          .looked_for = "`version` with `flags` or `sharing`",
          .flags = kFlags,
          .convert = convert_nvidia};
}

}  // namespace plughost
