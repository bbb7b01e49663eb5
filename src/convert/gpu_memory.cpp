// The plugins that count GPU memory and give the card that a scheduler's extender has written into the pod:
// Aliyun's gpushare-device-plugin, kube-device-plugin-mini and Volcano's.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "convert/converter.hpp"
#include "convert/lenient_fields.hpp"

namespace plughost {
namespace {

// The bound of plughost's `unit: {memory}`.
constexpr unsigned kLargestFactor = 1024 * 1024;
// Of the log of each of them.
constexpr const char* kLogFlags[] = {"v", "logtostderr", "alsologtostderr", "stderrthreshold"};

struct Memory {
  std::string resource;
  std::string dialect;
  std::string unit;
  std::vector<std::pair<std::string, std::string>> counts;  // that the node shows
  bool only_card = false;
  std::string id = {};  // empty: the kind's own
  bool empty_at_stop = false;
};

YamlDraft flow_map() {
  YamlDraft map = YamlDraft::map();
  map.flow = true;
  return map;
}

void add_memory(const Memory& memory, ConfigDraft& draft) {
  YamlDraft server = YamlDraft::map();
  server.add("kubeconfig", YamlDraft::text("auto"));
  server.notes.emplace_back(
      "The kubelet's own credentials: they need no RBAC rule. Theirs is needed no more once it runs "
      "nowhere.");
  draft.top.add("apiServer", std::move(server));

  YamlDraft entry = YamlDraft::map();
  entry.add("name", YamlDraft::text(memory.resource));
  YamlDraft gpu = YamlDraft::map();
  gpu.add("vendor", YamlDraft::text("nvidia"));
  YamlDraft unit = flow_map();
  unit.add("memory", YamlDraft::text(memory.unit));
  gpu.add("unit", std::move(unit));
  entry.add("gpu", std::move(gpu));
  if (!memory.id.empty()) entry.add("id", YamlDraft::text(memory.id));
  YamlDraft assume = flow_map();
  assume.add("dialect", YamlDraft::text(memory.dialect));
  if (memory.only_card) assume.add("onlyCard", YamlDraft::flag());
  assume.notes.emplace_back(
      "On Kubernetes before 1.37 the pod is guessed by its size, as theirs does. Where the container runtime "
      "knows CDI, `cdi: true` in the entry makes it certain: docs/gpu-memory.md.");
  entry.add("assume", std::move(assume));
  YamlDraft counts = flow_map();
  for (const auto& [name, count] : memory.counts) counts.add(name, YamlDraft::text(count));
  entry.add("nodeResources", std::move(counts));
  if (memory.empty_at_stop) entry.add("emptyAtStop", YamlDraft::flag());
  draft.resources.add(std::move(entry));

  draft.notes.emplace_back(
      "Each card has as many units as its own memory. Theirs counts the first card's size for all cards.");
  draft.notes.emplace_back(
      "Ids are others than theirs: drain the node of pods that hold units first, as docs/gpu-memory.md "
      "says.");
}

void convert_gpushare(const Node&, Arguments& arguments, ConfigDraft& draft, Diagnostics&) {
  for (const char* const flag : kLogFlags) arguments.value(flag);
  // How it reaches the kubelet for its list of pods.
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
              .counts = {{"aliyun.com/gpu-count", "{cards}"}},
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
        "pipe "
        "of a control daemon that somebody else runs.");
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
  add_memory({.resource = "doslab.io/gpu-memory",
              .dialect = "doslab",
              .unit = "1MiB",
              .counts = {{"doslab.io/gpu-count", "{cards}"}, {"doslab.io/gpu-core", "{cores}"}},
              .id = "{index}",
              .empty_at_stop = true},
             draft);
  draft.notes.emplace_back(
      "--masterUrl and --token are left out. The token may do whatever its account may: take it away there.");
  draft.notes.emplace_back(
      "LD_PRELOAD, POD_MANAGER_IP and what else gem needs are left out: `env` and `mounts` of the entry can "
      "have what is the same for all pods.");
}

// What was said last of: the file, the variable, the flag.
std::string setting(LenientFields& flags, const char* key, Arguments& arguments, const char* flag,
                    std::string usual) {
  const std::optional<std::string> of_file = flags.text(key);
  return arguments.value(flag).value_or(of_file.value_or(std::move(usual)));
}

void add_whole_cards(ConfigDraft& draft) {
  YamlDraft entry = YamlDraft::map();
  entry.add("name", YamlDraft::text("volcano.sh/gpu-number"));
  YamlDraft gpu = YamlDraft::map();
  gpu.add("vendor", YamlDraft::text("nvidia"));
  entry.add("gpu", std::move(gpu));
  entry.notes.emplace_back(
      "Theirs gives the cards that the scheduler wrote into the pod (volcano.sh/gpu-index). For whole cards "
      "that has no counterpart: the kubelet chooses, and the annotation is not looked at.");
  draft.resources.add(std::move(entry));
}

void convert_volcano(const Node& root, Arguments& arguments, ConfigDraft& draft, Diagnostics& diagnostics) {
  for (const char* const flag : kLogFlags) arguments.value(flag);
  arguments.value("config-file");
  LenientFields top(root, "", diagnostics);
  top.text("version");
  LenientFields flags(or_nothing(top.node("flags")), "flags", diagnostics);
  const std::string strategy = setting(flags, "GPUStrategy", arguments, "gpu-strategy", "share");
  const std::string factor = setting(flags, "GPUMemoryFactor", arguments, "gpu-memory-factor", "1");
  const auto mebibytes = number_in(factor, kLargestFactor);
  if (!mebibytes || *mebibytes == 0)
    diagnostics.error({.file = "--gpu-memory-factor"}, "",
                      quote(factor) + " is no number of MiB from 1 to " + std::to_string(kLargestFactor));
  if (strategy != "share" && strategy != "number")
    diagnostics.error({.file = "--gpu-strategy"}, "",
                      quote(strategy) + " is no strategy of theirs; there are share and number");
  if (strategy == "number")
    add_whole_cards(draft);
  else
    add_memory({.resource = "volcano.sh/gpu-memory",
                .dialect = "volcano",
                .unit = std::to_string(mebibytes.value_or(1)) + "MiB",
                .counts = {{"volcano.sh/gpu-number", "{cards}"}},
                .id = "{index}"},
               draft);
  draft.notes.emplace_back(
      "The node's annotation volcano.sh/gpu-unhealthy-ids is not written: a sick card's units are "
      "Unhealthy.");
  add_notes(draft.notes, flags.notes());
  add_notes(draft.notes, top.notes());
}

}  // namespace

Converter gpushare_converter() {
  return {.plugin = OtherPlugin::kGpushare, .looked_for = {}, .convert = convert_gpushare};
}

Converter mini_converter() {
  return {.plugin = OtherPlugin::kMini, .looked_for = {}, .convert = convert_mini};
}

Converter volcano_converter() {
  return {.plugin = OtherPlugin::kVolcano,
          .looked_for = "`flags` with `GPUStrategy` or `GPUMemoryFactor`",
          .convert = convert_volcano};
}

}  // namespace plughost
