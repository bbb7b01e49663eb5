// NVIDIA's k8s-device-plugin: `version: v1` with `flags`, `sharing` and `resources`, and its command line.

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "convert/converter.hpp"
#include "convert/lenient_fields.hpp"

namespace plughost {
namespace {

constexpr unsigned kLastImexChannel = 2047;

constexpr const char* kWholeGpu = "nvidia.com/gpu";

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
  std::string driver_root() { return text("nvidiaDriverRoot", "nvidia-driver-root", "/"); }
  // Of shares and of parts of cards.
  std::string sharing_policy() {
    const std::string policy =
        plugin_text("sharedDevicesAllocationPolicy", "shared-devices-allocation-policy", "distributed");
    return policy == "packed" ? policy : "distributed";
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
    left_out(text("nvidiaDevRoot", "nvidia-dev-root", "/") != driver_root() &&
                 given(flags_, "nvidiaDevRoot", "nvidia-dev-root"),
             "nvidiaDevRoot", "nodes are those of `driverRoot` where it has some, else the machine's.");
    left_out(given(flags_, "deviceDiscoveryStrategy", "device-discovery-strategy"), "deviceDiscoveryStrategy",
             "plughost finds out by itself.");
    left_out(given(flags_, "useNodeFeatureAPI", "use-node-feature-api"), "useNodeFeatureAPI",
             "it is for GPU feature discovery, a program of its own.");
    left_out(given(plugin_, "containerDriverRoot", "container-driver-root"), "plugin.containerDriverRoot",
             "plughost runs on the machine, not in a container.");
    left_out(given(plugin_, "nvidiaCTKPath", "nvidia-ctk-path"), "plugin.nvidiaCTKPath",
             "nvidia-ctk is found by its name.");
    left_out(given(plugin_, "cdiAnnotationPrefix", "cdi-annotation-prefix"), "plugin.cdiAnnotationPrefix",
             "the annotation's prefix is always cdi.k8s.io/.");
    arguments_.value("config-file");
    for (LenientFields* each : {&flags_, &plugin_}) {
      for (std::string& note : each->notes()) notes.push_back(std::move(note));
    }
    return notes;
  }

 private:
  bool given(LenientFields& from, const char* key, const char* flag) {
    const bool in_file = from.node(key) != nullptr;
    return arguments_.value(flag).has_value() || in_file;
  }

  LenientFields flags_;
  LenientFields plugin_;
  Arguments& arguments_;
};

// `sharing`: of time, or by MPS.
struct Sharing {
  bool mps = false;
  bool rename = false;
  bool one_only = false;
  std::vector<std::pair<std::string, unsigned>> replicas;  // by the resource's full name
};

std::string with_domain(const std::string& name) {
  return name.find('/') == std::string::npos ? "nvidia.com/" + name : name;
}

void read_shared(LenientFields& from, const std::string& place, Sharing& sharing, ConfigDraft& draft,
                 Diagnostics& diagnostics) {
  sharing.rename = from.flag("renameByDefault").value_or(false);
  sharing.one_only = from.flag("failRequestsGreaterThanOne").value_or(sharing.mps);
  for (std::size_t i = 0; const Node& item : from.items("resources")) {
    LenientFields row(item, place + ".resources[" + std::to_string(i++) + ']', diagnostics);
    const std::string name = with_domain(row.require_text("name"));
    sharing.replicas.emplace_back(name, row.number("replicas").value_or(1));
    if (row.text("rename"))
      draft.notes.push_back("`rename` of " + quote(name) + " is left out, as theirs ignores it.");
    const Node* const devices = row.node("devices");
    if (devices && devices->scalar != "all")
      draft.notes.push_back("`devices` of " + quote(name) +
                            " is left out, as theirs ignores it: all of its GPUs are shared.");
    add_notes(draft.notes, row.notes());
  }
  add_notes(draft.notes, from.notes());
}

Sharing read_sharing(LenientFields& top, ConfigDraft& draft, Diagnostics& diagnostics) {
  LenientFields from(or_nothing(top.node("sharing")), "sharing", diagnostics);
  Sharing sharing{.mps = from.node("mps") != nullptr};
  const std::string key = sharing.mps ? "mps" : "timeSlicing";
  LenientFields shared(or_nothing(from.node(key)), "sharing." + key, diagnostics);
  read_shared(shared, "sharing." + key, sharing, draft, diagnostics);
  if (sharing.mps && from.node("timeSlicing"))
    draft.notes.emplace_back(
        "`sharing.timeSlicing` is left out: theirs takes one of the two, and MPS is there.");
  add_notes(draft.notes, from.notes());
  return sharing;
}

YamlDraft gpu_draft(Settings& settings, const Sharing& sharing, const std::string& mig) {
  YamlDraft gpu = YamlDraft::map();
  gpu.add("vendor", YamlDraft::text("nvidia"));
  std::vector<std::string> strategies = settings.strategies();
  if (strategies.empty()) strategies = {"envvar"};
  gpu.add("deviceListStrategy", YamlDraft::texts(strategies));
  if (const std::string ids = settings.plugin_text("deviceIDStrategy", "device-id-strategy", "uuid");
      ids != "uuid")
    gpu.add("deviceIDStrategy", YamlDraft::text(ids));
  const auto add_flag = [&gpu](const char* key, bool set) {
    if (set) gpu.add(key, YamlDraft::flag());
  };
  add_flag("passDeviceSpecs", settings.plugin_truth("passDeviceSpecs", "pass-device-specs"));
  gpu.add("mig", YamlDraft::text(mig));
  if (const std::string root = settings.driver_root(); root != "/")
    gpu.add("driverRoot", YamlDraft::text(root));
  add_flag("gds", settings.truth("gdsEnabled", "gds-enabled"));
  add_flag("mofed", settings.truth("mofedEnabled", "mofed-enabled"));
  add_flag("gdrcopy", settings.truth("gdrcopyEnabled", "gdrcopy-enabled"));
  const std::string root = settings.text("mpsRoot", "mps-root", "");
  if (!sharing.mps) return gpu;
  YamlDraft mps = YamlDraft::flag();
  mps.notes.emplace_back(
      "plughost does not run MPS's control daemon: until something else does, the cards are Unhealthy.");
  gpu.add("mps", std::move(mps));
  if (!root.empty()) gpu.add("mpsRoot", YamlDraft::text(root));
  return gpu;
}

YamlDraft imex_draft(LenientFields& top, ConfigDraft& draft, Diagnostics& diagnostics) {
  LenientFields imex(or_nothing(top.node("imex")), "imex", diagnostics);
  YamlDraft channels = YamlDraft::texts({});
  for (const std::string& word : imex.texts("channelIDs")) {
    if (const auto channel = number_in(word, kLastImexChannel))
      channels.add(YamlDraft::number(*channel));
    else
      imex.error(*imex.node("channelIDs"), "channelIDs",
                 quote(word) + " is no IMEX channel; they are numbers from 0 to " +
                     std::to_string(kLastImexChannel));
  }
  if (imex.flag("required").has_value())
    draft.notes.emplace_back(
        "`imex.required` is left out: a channel that is not there refuses the container.");
  add_notes(draft.notes, imex.notes());
  return channels;
}

// With `mig: mixed` cards and their parts are of one entry, and their types tell them apart.
YamlDraft replicas_by_type(const Sharing& sharing) {
  YamlDraft replicas = YamlDraft::list();
  for (const auto& [name, count] : sharing.replicas) {
    YamlDraft type = YamlDraft::map();
    type.add("type", YamlDraft::text(name.substr(name.find('/') + 1)));
    YamlDraft each = YamlDraft::map();
    each.flow = true;
    each.add("only", std::move(type));
    each.add("count", sharing_draft(count));
    replicas.add(std::move(each));
  }
  return replicas;
}

YamlDraft replicas_of(const Sharing& sharing, bool by_type, ConfigDraft& draft) {
  if (by_type) return replicas_by_type(sharing);
  unsigned replicas = 1;
  for (const auto& [name, count] : sharing.replicas) {
    if (name == kWholeGpu)
      replicas = count;
    else
      draft.notes.push_back("Sharing of " + quote(name) +
                            " is left out: without `mig: mixed` there is none.");
  }
  return replicas > 1 ? sharing_draft(replicas) : YamlDraft::list();
}

// Adds how the entry's devices are shared, and which of them a container gets.
void add_sharing(const Sharing& sharing, const std::string& mig, const std::string& policy, YamlDraft& entry,
                 ConfigDraft& draft) {
  YamlDraft replicas = replicas_of(sharing, mig == "mixed", draft);
  const bool shared = replicas.kind != YamlDraft::Kind::kList || !replicas.empty();
  if (shared) {
    entry.add("replicas", std::move(replicas));
    if (sharing.rename) entry.add("renameByDefault", YamlDraft::flag());
    if (sharing.one_only) entry.add("failRequestsGreaterThanOne", YamlDraft::flag());
  }
  entry.add("allocationPolicy", YamlDraft::text(shared || mig == "single" ? policy : "aligned"));
}

void convert_nvidia(const Node& root, Arguments& arguments, ConfigDraft& draft, Diagnostics& diagnostics) {
  LenientFields top(root, "", diagnostics);
  if (const auto version = top.text("version"); version && *version != "v1")
    draft.notes.push_back("Its version is " + quote(*version) + "; plughost knows v1.");
  Settings settings(or_nothing(top.node("flags")), arguments, diagnostics);

  const Sharing sharing = read_sharing(top, draft, diagnostics);
  const std::string mig = settings.text("migStrategy", "mig-strategy", "none");
  const bool by_type = mig == "mixed";
  YamlDraft entry = YamlDraft::map();
  // A part of a divided card is nvidia.com/mig-1g.5gb and so on.
  entry.add("name", YamlDraft::text(by_type ? "nvidia.com/{type}" : kWholeGpu));
  YamlDraft gpu = gpu_draft(settings, sharing, mig);
  if (YamlDraft channels = imex_draft(top, draft, diagnostics); !channels.empty())
    gpu.add("imexChannels", std::move(channels));
  entry.add("gpu", std::move(gpu));
  add_sharing(sharing, mig, settings.sharing_policy(), entry, draft);
  draft.resources.add(std::move(entry));

  if (top.node("resources"))
    draft.notes.emplace_back("`resources` is left out, as theirs ignores it: the names are NVIDIA's.");
  add_notes(draft.notes, settings.notes());
  add_notes(draft.notes, top.notes());
  if (!arguments.complete())
    draft.notes.emplace_back(
        "Settings that are given by environment variables (MIG_STRATEGY and so on) are not seen here.");
}

}  // namespace

Converter nvidia_converter() {
  return {.plugin = OtherPlugin::kNvidia,
          .looked_for = "`version` with `flags` or `sharing`",
          .convert = convert_nvidia};
}

}  // namespace plughost
