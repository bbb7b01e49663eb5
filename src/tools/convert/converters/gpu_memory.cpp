// The plugins that count GPU memory and give the card that a scheduler extender has recorded in the pod:
// Aliyun's gpushare-device-plugin, kube-device-plugin-mini and Volcano's.

#include <string>

#include "base/text/text.hpp"
#include "tools/convert/converters/converter.hpp"

namespace plughost {
namespace {

// Limit of plughost's `unit: {memory}`.
constexpr unsigned kLargestFactor = 1024 * 1024;
// Log flags that all of these plugins have.
constexpr const char* kLogFlags[] = {"v", "logtostderr", "alsologtostderr", "stderrthreshold"};

struct Memory {
  std::string resource;
  std::string dialect;
  std::string unit;
  YamlDraft counts;  // shown by the node
  bool only_card = false;
  std::string id = {};  // empty: the default of the kind
  bool empty_at_stop = false;
};

void add_memory(const Memory& memory, ConfigDraft& draft) {
  draft.top.add("apiServer", YamlDraft::map({{"kubeconfig", "auto"}})).notes = {
      "The kubelet's own credentials: they need no RBAC rule. Theirs is needed no more once it runs "
      "nowhere."};

  YamlDraft& entry = draft.resources.add(YamlDraft::map({{"name", memory.resource}}));
  entry.add("gpu",
            YamlDraft::map({{"vendor", "nvidia"}, {"unit", YamlDraft::flow_map({{"memory", memory.unit}})}}));
  if (!memory.id.empty()) entry.add("id", memory.id);
  YamlDraft& assume = entry.add("assume", YamlDraft::flow_map({{"dialect", memory.dialect}}));
  if (memory.only_card) assume.add("onlyCard", true);
  assume.notes.emplace_back(
      "On Kubernetes before 1.37 the pod is guessed by its size, as theirs does. Where the container runtime "
      "knows CDI, `cdi: true` in the entry makes it certain: docs/gpu-memory.md.");
  entry.add("nodeResources", memory.counts);
  if (memory.empty_at_stop) entry.add("emptyAtStop", true);

  draft.notes.emplace_back(
      "Each card has as many units as its own memory. Theirs counts the first card's size for all cards.");
  draft.notes.emplace_back(
      "Ids are others than theirs: drain the node of pods that hold units first, as docs/gpu-memory.md "
      "says.");
}

}  // namespace

void convert_gpushare(const Node&, Arguments& arguments, ConfigDraft& draft, Diagnostics&) {
  for (const char* const flag : kLogFlags) arguments.value(flag);
  // Flags for the connection to the kubelet's list of pods, which plughost does not need.
  for (const char* const flag :
       {"kubelet-address", "kubelet-port", "client-cert", "client-key", "token", "timeout"})
    arguments.value(flag);
  const std::string unit = arguments.value("memory-unit").value_or("GiB");
  const bool known = unit == "GiB" || unit == "MiB";
  if (!known)
    draft.notes.push_back("`--memory-unit=" + unit + "` is unknown to theirs, too: it takes GiB then.");
  add_memory({.resource = "aliyun.com/gpu-mem",
              .dialect = "gpushare",
              .unit = known ? "1" + unit : "1GiB",
              .counts = YamlDraft::flow_map({{"aliyun.com/gpu-count", "{cards}"}}),
              .only_card = true},
             draft);
  if (const auto kubeconfig = arguments.variable("KUBECONFIG"))
    draft.notes.push_back("KUBECONFIG was " + quote(*kubeconfig) +
                          " in its container: `auto` finds the kubelet's own, wherever it is.");
  if (arguments.truth("query-kubelet").value_or(false))
    draft.notes.emplace_back(
        "`--query-kubelet` is left out: from Kubernetes 1.37 on plughost does it anyway.");
  const auto pipe = arguments.value("mps-pipe");
  if (arguments.truth("mps").value_or(false) || pipe)
    draft.notes.emplace_back(
        "MPS is left out: theirs does nothing with the flag. `mps: true` below `gpu` gives containers the "
        "pipe of a control daemon that somebody else runs.");
  if (!arguments.truth("health-check").value_or(false))
    draft.notes.emplace_back(
        "Theirs looks at the cards' health with --health-check only. Here a sick card's units are Unhealthy "
        "until it is well; `healthChecks: false` below `gpu` leaves it out.");
  draft.notes.emplace_back(
      "A container whose pod is not found is refused, with the reason in the pod's events. Theirs starts it "
      "with NVIDIA_VISIBLE_DEVICES=no-gpu-has-...; `answerWithoutCard: true` in `assume` does so, too.");
}

void convert_mini(const Node&, Arguments& arguments, ConfigDraft& draft, Diagnostics&) {
  for (const char* const flag : {"masterUrl", "token"}) arguments.value(flag);
  add_memory(
      {.resource = "doslab.io/gpu-memory",
       .dialect = "doslab",
       .unit = "1MiB",
       .counts = YamlDraft::flow_map({{"doslab.io/gpu-count", "{cards}"}, {"doslab.io/gpu-core", "{cores}"}}),
       .id = "{index}",
       .empty_at_stop = true},
      draft);
  draft.notes.emplace_back(
      "--masterUrl and --token are left out. The token may do whatever its account may: take it away there.");
  draft.notes.push_back(
      loss("LD_PRELOAD, POD_MANAGER_IP and what else gem needs are left out: `env` and `mounts` of the entry "
           "can have what is the same for all pods."));
}

void convert_volcano(const Node& root, Arguments& arguments, ConfigDraft& draft, Diagnostics& diagnostics) {
  for (const char* const flag : kLogFlags) arguments.value(flag);
  arguments.value("config-file");
  LenientFields top(root, "", diagnostics);
  top.text("version");
  LenientFields flags(or_nothing(top.node("flags")), "flags", diagnostics);
  const std::string strategy = setting(flags, "GPUStrategy", arguments, "gpu-strategy").value_or("share");
  const std::string factor = setting(flags, "GPUMemoryFactor", arguments, "gpu-memory-factor").value_or("1");
  const auto mebibytes = number_in(factor, kLargestFactor);
  if (!mebibytes || *mebibytes == 0)
    diagnostics.error({.file = "--gpu-memory-factor"}, "",
                      quote(factor) + " is not a number of MiB from 1 to " + std::to_string(kLargestFactor));
  if (strategy != "share" && strategy != "number")
    diagnostics.error({.file = "--gpu-strategy"}, "",
                      quote(strategy) + " is not one of its strategies; valid: share, number");
  if (strategy == "number")
    draft.resources.add(gpu_entry("volcano.sh/gpu-number", "nvidia")).notes = {
        loss("Theirs gives the cards that the scheduler wrote into the pod (volcano.sh/gpu-index). For whole "
             "cards that has no counterpart: the kubelet chooses, and the annotation is not looked at.")};
  else
    add_memory({.resource = "volcano.sh/gpu-memory",
                .dialect = "volcano",
                .unit = std::to_string(mebibytes.value_or(1)) + "MiB",
                .counts = YamlDraft::flow_map({{"volcano.sh/gpu-number", "{cards}"}}),
                .id = "{index}"},
               draft);
  draft.notes.emplace_back(
      "The node's annotation volcano.sh/gpu-unhealthy-ids is not written: a sick card's units are "
      "Unhealthy.");
  add_notes(draft.notes, flags.notes());
  add_notes(draft.notes, top.notes());
}

}  // namespace plughost
