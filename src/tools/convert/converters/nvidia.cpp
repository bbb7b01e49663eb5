// NVIDIA's k8s-device-plugin: `version: v1` with `flags`, `sharing` and `resources`, and its command line.

#include <algorithm>
#include <utility>

#include "base/text/text.hpp"
#include "tools/convert/converters/converter.hpp"

namespace plughost {
namespace {

constexpr unsigned kLastImexChannel = 2047;

constexpr const char* kWholeGpu = "nvidia.com/gpu";

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

Sharing read_sharing(PeerSettings& settings, ConfigDraft& draft, Reading& diagnostics) {
  LenientFields& from = settings.map("sharing");
  Sharing sharing{.mps = from.node("mps") != nullptr};
  if (sharing.mps && from.node("timeSlicing"))
    draft.notes.emplace_back(
        "`sharing.timeSlicing` is left out: theirs takes one of the two, and MPS is there.");
  LenientFields& shared = settings.map(sharing.mps ? "sharing.mps" : "sharing.timeSlicing");
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
  return sharing;
}

// Returns the effective `migStrategy`.
std::string mig_of(PeerSettings& settings, const Sharing& sharing, ConfigDraft& draft, Reading& diagnostics) {
  const std::string mig = *settings.text("flags.migStrategy");
  if (sharing.mps && mig == "mixed")
    diagnostics.error(
        {.file = "flags.migStrategy"}, "",
        "MPS with `migStrategy: mixed` is refused by theirs, too; with `none` it shares whole cards");
  if (!sharing.mps || mig != "single") return mig;
  draft.notes.push_back(
      doubt("It was `migStrategy: single`: MPS shares whole cards, and no parts of one, with theirs, too."));
  return "none";
}

YamlDraft imex_channels(PeerSettings& settings, ConfigDraft& draft, Reading& diagnostics) {
  YamlDraft channels(std::vector<std::string>{});
  for (const std::string& word : settings.texts("imex.channelIDs")) {
    if (const auto channel = number_in(word, kLastImexChannel))
      channels.add(*channel);
    else
      diagnostics.error(settings.mark("imex.channelIDs"), "imex.channelIDs",
                        quote(word) + " is no IMEX channel; they are numbers from 0 to " +
                            std::to_string(kLastImexChannel));
  }
  if (!channels.empty() && !settings.truth("imex.required"))
    draft.notes.push_back(
        doubt("`imex.required` is not true: theirs leaves a channel out that is not there, and here the "
              "container is refused then."));
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

void convert_nvidia(const Node& root, Arguments& arguments, ConfigDraft& draft, Reading& diagnostics) {
  PeerSettings settings(OtherPlugin::kNvidia, root, arguments, diagnostics);
  LenientFields& top = settings.map("");
  if (const auto socket = settings.text("kubelet-socket"))
    draft.top.add("kubelet", YamlDraft::map({{"directory", directory_of(*socket)}}));
  if (const auto version = top.text("version"); version && *version != "v1")
    draft.notes.push_back(doubt("Its version is " + quote(*version) + "; plughost knows v1."));

  const Sharing sharing = read_sharing(settings, draft, diagnostics);
  const std::string mig = mig_of(settings, sharing, draft, diagnostics);
  // The resource of a MIG device is, for example, nvidia.com/mig-1g.5gb.
  YamlDraft& entry = settings.write(draft);
  if (mig == "mixed") *entry.find("name") = "nvidia.com/{type}";
  YamlDraft& gpu = *entry.find("gpu");
  *gpu.find("mig") = mig;
  if (sharing.mps) {
    gpu.add("mps", true).notes = {
        "plughost does not run MPS's control daemon: until something else does, the cards are Unhealthy."};
    if (const auto mps_root = settings.text("flags.mpsRoot")) gpu.add("mpsRoot", *mps_root);
  }
  if (YamlDraft channels = imex_channels(settings, draft, diagnostics); !channels.empty())
    gpu.add("imexChannels", std::move(channels));
  const std::string policy = *settings.text("flags.plugin.sharedDevicesAllocationPolicy");
  add_sharing(sharing, mig, policy == "packed" ? policy : "distributed", entry, draft);

  if (top.node("resources"))
    draft.notes.push_back(doubt("`resources` is left out, as theirs ignores it: the names are NVIDIA's."));
  settings.finish(draft.notes);
  if (!arguments.complete())
    draft.notes.push_back(doubt(
        "Settings that are given by environment variables (MIG_STRATEGY and so on) are not seen here."));
}

}  // namespace plughost
