// Aliyun's gpushare-device-plugin, which has flags only: the memory of a card in GiB or MiB, and the card
// that its scheduler extender writes into the pod.

#include <string>
#include <utility>

#include "convert/converter.hpp"

namespace plughost {
namespace {

void add_memory_notes(Arguments& arguments, ConfigDraft& draft) {
  // How it reaches the kubelet for its list of pods; --v and so on are of its log.
  for (const char* flag : {"v", "logtostderr", "alsologtostderr", "stderrthreshold", "kubelet-address",
                           "kubelet-port", "client-cert", "client-key", "token", "timeout"})
    arguments.value(flag);
  if (arguments.truth("query-kubelet").value_or(false))
    draft.notes.emplace_back(
        "`--query-kubelet` is left out: plughost has the node's pods by one watch of the API server.");
  const auto mps = arguments.truth("mps");
  const auto pipe = arguments.value("mps-pipe");
  if (mps.value_or(false) || pipe)
    draft.notes.emplace_back(
        "MPS is left out: theirs takes the flag and does nothing with it. `mps: true` below `gpu` gives "
        "containers the pipe of a control daemon that somebody else runs.");
  if (!arguments.truth("health-check").value_or(false))
    draft.notes.emplace_back(
        "Theirs looks at the cards' health with --health-check only, and a card that was sick once stays so. "
        "Here a sick card's units are Unhealthy until it is well; `healthChecks: false` below `gpu` leaves "
        "it out.");
}

void convert_gpushare(const Node&, Arguments& arguments, ConfigDraft& draft, Diagnostics&) {
  const std::string unit = arguments.value("memory-unit").value_or("GiB");
  const bool known = unit == "GiB" || unit == "MiB";
  if (!known)
    draft.notes.push_back("`--memory-unit=" + unit +
                          "` is none that theirs knows: it takes GiB then, and so does this.");

  draft.top.add("apiServer", api_server_draft());
  YamlDraft assume = YamlDraft::map();
  assume.add("dialect", YamlDraft::text("gpushare"));
  assume.add("onlyCard", YamlDraft::word("true"));
  YamlDraft entry = assumed_entry("aliyun.com/gpu-mem", known ? "1" + unit : "1GiB", std::move(assume));
  entry.add("nodeResources", node_resource_draft("aliyun.com/gpu-count"));
  draft.resources.add(std::move(entry));

  add_assume_notes(draft);
  if (const auto kubeconfig = arguments.variable("KUBECONFIG"))
    draft.notes.push_back(
        "KUBECONFIG was '" + *kubeconfig +
        "' in its container: `auto` finds the kubelet's own; any other file is named at `kubeconfig`.");
  draft.notes.emplace_back(
      "Its ClusterRole (nodes, nodes/proxy, pods, nodes/status, events) is needed no more once it runs "
      "nowhere. With "
      "the kubelet's own identity plughost needs no rule at all; another one needs pods: list, watch; "
      "pods/status and nodes/status: patch; nodes: list, watch.");
  add_memory_notes(arguments, draft);
  draft.notes.emplace_back(
      "The scheduler's extender (gpushare-schd-extender) stays as it is. A container for which no pod is "
      "found gets "
      "an error that says why; theirs starts it with NVIDIA_VISIBLE_DEVICES=no-gpu-has-..., and so does "
      "`answerWithoutCard: true` in `assume`.");
}

}  // namespace

Converter gpushare_converter() {
  return {.plugin = OtherPlugin::kGpushare, .looked_for = {}, .convert = convert_gpushare};
}

}  // namespace plughost
