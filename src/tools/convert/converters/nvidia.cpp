// NVIDIA's k8s-device-plugin: `version: v1` with `flags`, `sharing` and `resources`, and its command line.

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text/text.hpp"
#include "tools/convert/converters/converter.hpp"

namespace plughost {
namespace {

constexpr unsigned kLastImexChannel = 2047;

constexpr const char* kWholeGpu = "nvidia.com/gpu";

// The settings of the command line, or else of the file.
class Settings {
 public:
  Settings(const Node& flags, Arguments& arguments, Diagnostics& diagnostics)
      : flags_(flags, "flags", diagnostics),
        plugin_(or_nothing(flags_.node("plugin")), "flags.plugin", diagnostics),
        arguments_(arguments) {}

  // Return a setting of `flags`, and of `flags.plugin`.
  std::string text(const char* key, const char* flag, const char* fallback) {
    return setting(flags_, key, arguments_, flag).value_or(fallback);
  }
  std::string plugin_text(const char* key, const char* flag, const char* fallback) {
    return setting(plugin_, key, arguments_, flag).value_or(fallback);
  }
  bool truth(const char* key, const char* flag) { return truth(flags_, key, flag); }
  bool plugin_truth(const char* key, const char* flag) { return truth(plugin_, key, flag); }
  std::string driver_root() { return text("nvidiaDriverRoot", "nvidia-driver-root", "/"); }
  // Returns the allocation policy for shares and for MIG devices.
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
    for (const std::string& list : given)  // "envvar,cdi-cri", or the flag repeated
      std::ranges::move(words_between_commas(list), std::back_inserter(all));
    return all;
  }

  // Returns notes on settings without a counterpart.
  Notes notes() {
    Notes notes;
    if (flags_.node("gfd"))
      notes.emplace_back("`flags.gfd` is left out: it is for GPU feature discovery, a program of its own.");
    const auto left_out = [&](LenientFields& from, const char* key, const char* flag, const char* why) {
      const std::string name = (&from == &plugin_ ? "plugin." : "") + std::string(key);
      if (given(from, key, flag)) notes.push_back('`' + name + "` is left out: " + why);
    };
    left_out(flags_, "failOnInitError", "fail-on-init-error",
             "plughost runs without GPUs, too, and lists them when they appear.");
    if (text("nvidiaDevRoot", "nvidia-dev-root", "/") != driver_root())
      left_out(flags_, "nvidiaDevRoot", "nvidia-dev-root",
               "nodes are those of `driverRoot` where it has some, else the machine's.");
    left_out(flags_, "deviceDiscoveryStrategy", "device-discovery-strategy", "plughost finds out by itself.");
    left_out(flags_, "useNodeFeatureAPI", "use-node-feature-api",
             "it is for GPU feature discovery, a program of its own.");
    left_out(plugin_, "containerDriverRoot", "container-driver-root",
             "plughost runs on the machine, not in a container.");
    left_out(plugin_, "nvidiaCTKPath", "nvidia-ctk-path", "nvidia-ctk is found by its name.");
    left_out(plugin_, "cdiAnnotationPrefix", "cdi-annotation-prefix",
             "the annotation's prefix is always cdi.k8s.io/.");
    arguments_.value("config-file");
    add_notes(notes, flags_.notes());
    add_notes(notes, plugin_.notes());
    return notes;
  }

 private:
  bool truth(LenientFields& from, const char* key, const char* flag) {
    const auto from_file = from.flag(key);
    return arguments_.truth(flag).value_or(from_file.value_or(false));
  }
  bool given(LenientFields& from, const char* key, const char* flag) {
    const bool in_file = from.node(key) != nullptr;
    return arguments_.value(flag).has_value() || in_file;
  }

  LenientFields flags_;
  LenientFields plugin_;
  Arguments& arguments_;
};

// The map `sharing`: time slicing or MPS.
struct Sharing {
  bool mps = false;
  bool rename = false;
  bool one_only = false;
  std::vector<std::pair<std::string, unsigned>> replicas;  // by the resource's full name
};

std::string with_domain(const std::string& name) {
  return name.find('/') == std::string::npos ? "nvidia.com/" + name : name;
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

Sharing read_sharing(LenientFields& top, ConfigDraft& draft, Diagnostics& diagnostics) {
  LenientFields from(or_nothing(top.node("sharing")), "sharing", diagnostics);
  Sharing sharing{.mps = from.node("mps") != nullptr};
  const char* const key = sharing.mps ? "mps" : "timeSlicing";
  LenientFields shared(or_nothing(from.node(key)), from.path_of(key), diagnostics);
  sharing.rename = shared.flag("renameByDefault").value_or(false);
  sharing.one_only = shared.flag("failRequestsGreaterThanOne").value_or(sharing.mps);
  for (std::size_t i = 0; const Node& item : shared.items("resources")) {
    LenientFields row(item, shared.path_of("resources") + '[' + std::to_string(i++) + ']', diagnostics);
    const std::string name = with_domain(row.require_text("name"));
    const unsigned replicas = row.number("replicas").value_or(0);
    if (replicas < 2)
      draft.notes.push_back(doubt("`replicas` of " + quote(name) + " is " + std::to_string(replicas) +
                                  ", which theirs refuses: it is 2 or more. Here it is not shared."));
    sharing.replicas.emplace_back(name, std::max(replicas, 1U));
    if (row.text("rename"))
      draft.notes.push_back("`rename` of " + quote(name) + " is left out, as theirs ignores it.");
    const Node* const devices = row.node("devices");
    if (devices && devices->scalar != "all")
      draft.notes.push_back("`devices` of " + quote(name) +
                            " is left out, as theirs ignores it: all of its GPUs are shared.");
    add_notes(draft.notes, row.notes());
  }
  add_notes(draft.notes, shared.notes());
  if (sharing.mps && from.node("timeSlicing"))
    draft.notes.emplace_back(
        "`sharing.timeSlicing` is left out: theirs takes one of the two, and MPS is there.");
  add_notes(draft.notes, from.notes());
  return sharing;
}

// Returns the effective `migStrategy`.
std::string mig_of(Settings& settings, const Sharing& sharing, ConfigDraft& draft, Diagnostics& diagnostics) {
  std::string mig = settings.text("migStrategy", "mig-strategy", "none");
  if (sharing.mps && mig == "mixed")
    diagnostics.error(
        {.file = "flags.migStrategy"}, "",
        "MPS with `migStrategy: mixed` is refused by theirs, too; with `none` it shares whole cards");
  if (sharing.mps && mig == "single") {
    mig = "none";
    draft.notes.push_back(doubt(
        "It was `migStrategy: single`: MPS shares whole cards, and no parts of one, with theirs, too."));
  }
  return mig;
}

YamlDraft gpu_draft(Settings& settings, const Sharing& sharing, const std::string& mig) {
  YamlDraft gpu = YamlDraft::map({{"vendor", "nvidia"}});
  std::vector<std::string> strategies = settings.strategies();
  if (strategies.empty()) strategies = {"envvar"};
  gpu.add("deviceListStrategy", strategies);
  const std::string ids = settings.plugin_text("deviceIDStrategy", "device-id-strategy", "uuid");
  if (ids != "uuid") gpu.add("deviceIDStrategy", ids);
  const auto add_flag = [&gpu](const char* key, bool set) {
    if (set) gpu.add(key, true);
  };
  add_flag("passDeviceSpecs", settings.plugin_truth("passDeviceSpecs", "pass-device-specs"));
  gpu.add("mig", mig);
  if (settings.driver_root() != "/") gpu.add("driverRoot", settings.driver_root());
  add_flag("gds", settings.truth("gdsEnabled", "gds-enabled"));
  add_flag("mofed", settings.truth("mofedEnabled", "mofed-enabled"));
  add_flag("gdrcopy", settings.truth("gdrcopyEnabled", "gdrcopy-enabled"));
  const std::string root = settings.text("mpsRoot", "mps-root", "");
  if (!sharing.mps) return gpu;
  gpu.add("mps", true).notes = {
      "plughost does not run MPS's control daemon: until something else does, the cards are Unhealthy."};
  if (!root.empty()) gpu.add("mpsRoot", root);
  return gpu;
}

YamlDraft imex_draft(LenientFields& top, Arguments& arguments, ConfigDraft& draft, Diagnostics& diagnostics) {
  LenientFields imex(or_nothing(top.node("imex")), "imex", diagnostics);
  YamlDraft channels(std::vector<std::string>{});
  std::vector<std::string> words = imex.texts("channelIDs");
  const Mark mark = or_nothing(imex.node("channelIDs")).mark;
  if (const auto given = arguments.value("imex-channel-ids")) words = words_between_commas(*given);
  for (const std::string& word : words) {
    if (const auto channel = number_in(word, kLastImexChannel))
      channels.add(*channel);
    else
      diagnostics.error(mark, "imex.channelIDs",
                        quote(word) + " is no IMEX channel; they are numbers from 0 to " +
                            std::to_string(kLastImexChannel));
  }
  const auto in_file = imex.flag("required");
  const bool required = arguments.truth("imex-required").value_or(in_file.value_or(false));
  if (!channels.empty() && !required)
    draft.notes.push_back(
        doubt("`imex.required` is not true: theirs leaves a channel out that is not there, and here the "
              "container is refused then."));
  add_notes(draft.notes, imex.notes());
  return channels;
}

YamlDraft replicas_of(const Sharing& sharing, const std::string& mig, ConfigDraft& draft) {
  YamlDraft by_type = YamlDraft::list();
  unsigned replicas = 1;
  for (const auto& [name, count] : sharing.replicas) {
    // Whole cards and MIG devices share an entry, and are distinguished by their types.
    if (mig == "mixed")
      by_type.add(YamlDraft::flow_map({{"only", YamlDraft::map({{"type", name.substr(name.find('/') + 1)}})},
                                       {"count", sharing_draft(count)}}));
    else if (name == kWholeGpu)
      replicas = count;
    else
      draft.notes.push_back("Sharing of " + quote(name) +
                            " is left out: without `mig: mixed` there is none.");
  }
  return replicas > 1 ? sharing_draft(replicas) : by_type;
}

// Adds the sharing of the entry's devices and the policy of their allocation.
void add_sharing(const Sharing& sharing, const std::string& mig, const std::string& policy, YamlDraft& entry,
                 ConfigDraft& draft) {
  YamlDraft replicas = replicas_of(sharing, mig, draft);
  const bool shared = replicas.kind != YamlDraft::Kind::kList || !replicas.empty();
  if (shared) {
    entry.add("replicas", std::move(replicas));
    if (sharing.rename) entry.add("renameByDefault", true);
    if (sharing.one_only) entry.add("failRequestsGreaterThanOne", true);
  }
  entry.add("allocationPolicy", shared || mig == "single" ? policy : "aligned");
}

}  // namespace

void convert_nvidia(const Node& root, Arguments& arguments, ConfigDraft& draft, Diagnostics& diagnostics) {
  static constexpr std::pair<const char*, const char*> kOtherNames[] = {
      {"nvidia-driver-root", "driver-root"},
      {"nvidia-dev-root", "dev-root"},
      {"nvidia-ctk-path", "nvidia-cdi-hook-path"},
      {"container-driver-root", "driver-root-ctr-path"}};
  for (const auto& [flag, other] : kOtherNames) arguments.also_called(flag, other);
  if (const auto socket = arguments.value("kubelet-socket"))
    draft.top.add("kubelet", YamlDraft::map({{"directory", directory_of(*socket)}}));
  LenientFields top(root, "", diagnostics);
  if (const auto version = top.text("version"); version && *version != "v1")
    draft.notes.push_back(doubt("Its version is " + quote(*version) + "; plughost knows v1."));
  Settings settings(or_nothing(top.node("flags")), arguments, diagnostics);

  const Sharing sharing = read_sharing(top, draft, diagnostics);
  const std::string mig = mig_of(settings, sharing, draft, diagnostics);
  // The resource of a MIG device is, for example, nvidia.com/mig-1g.5gb.
  YamlDraft& entry =
      draft.resources.add(YamlDraft::map({{"name", mig == "mixed" ? "nvidia.com/{type}" : kWholeGpu}}));
  YamlDraft gpu = gpu_draft(settings, sharing, mig);
  if (YamlDraft channels = imex_draft(top, arguments, draft, diagnostics); !channels.empty())
    gpu.add("imexChannels", std::move(channels));
  entry.add("gpu", std::move(gpu));
  add_sharing(sharing, mig, settings.sharing_policy(), entry, draft);

  if (top.node("resources"))
    draft.notes.push_back(doubt("`resources` is left out, as theirs ignores it: the names are NVIDIA's."));
  add_notes(draft.notes, settings.notes());
  add_notes(draft.notes, top.notes());
  if (!arguments.complete())
    draft.notes.push_back(doubt(
        "Settings that are given by environment variables (MIG_STRATEGY and so on) are not seen here."));
}

}  // namespace plughost
