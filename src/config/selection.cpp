#include "config/selection.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/system/unix_socket.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

// Files in /proc and /sys cause no events.
bool is_silent(const std::string& path) { return path.starts_with("/sys/") || path.starts_with("/proc/"); }

// Evaluates conditions, and examines each path and each fact only once.
class Evaluator {
 public:
  Evaluator(const Config& config, const HostRoot& host, Selection& selection,
            const std::optional<NodeLabels>& of_server)
      : host_(host), selection_(selection), labels_file_(config.node_labels) {
    if (!asks_for_node(config)) return;
    of_server_ =
        of_server ? *of_server : NodeLabels{.error = "only the daemon reads them from the API server"};
  }

  Verdict evaluate(const Condition& condition) {
    for (const std::string& pattern : condition.paths()) look_at(pattern);
    if (condition.names_labels() || condition.names_node()) follow_labels();
    return condition.evaluate(view());
  }
  // Returns true if unknown labels will become known.
  bool awaits_labels() const { return view_ && view_->labels.awaited; }

 private:
  const NodeView& view() {
    if (!view_) {
      view_ = NodeView{.machine = machine_facts(host_),
                       .exists = [this](const std::string& pattern) { return found_.at(pattern); }};
    }
    return *view_;
  }

  // All patterns are examined, regardless of the other terms, because all are watched.
  void look_at(const std::string& pattern) {
    if (found_.contains(pattern)) return;
    HostRoot::Match match = host_.glob(pattern);
    found_[pattern] = !match.paths.empty();
    std::ranges::move(match.watch, std::back_inserter(selection_.watch));
    selection_.recheck = selection_.recheck || is_silent(pattern);
  }

  void follow_labels() {
    if (std::exchange(labels_read_, true)) return;
    view();
    view_->labels = of_server_ ? *of_server_ : read_node_labels(host_, labels_file_);
    if (view_->labels.node.empty()) view_->labels.node = host_.node_name();
    // A Kubernetes volume is updated by a link next to the file.
    if (!labels_file_.empty())
      selection_.watch.push_back({labels_file_.parent_path(), "*", WatchFor::kContents});
  }

  const HostRoot& host_;
  Selection& selection_;
  std::filesystem::path labels_file_;
  std::optional<NodeLabels> of_server_;
  std::optional<NodeView> view_;
  std::map<std::string, bool> found_;
  bool labels_read_ = false;
};

Verdict evaluate_all(const ResourceConfig& entry, Evaluator& evaluator) {
  Verdict verdict;
  for (const auto& condition : entry.when) {
    Verdict its = evaluator.evaluate(*condition);
    if (its.kind == Verdict::Kind::kDoesNot) return its;
    if (its.kind == Verdict::Kind::kUnknown) verdict = std::move(its);
  }
  return verdict;
}

constexpr const char* kKubeletSocket = "kubelet.sock";

bool kubelet_listens(const HostRoot& host, const std::filesystem::path& directory) {
  try {
    return somebody_listens(host.at(directory / kKubeletSocket));
  } catch (const std::runtime_error&) {  // includes std::system_error: there is none
    return false;
  }
}

}  // namespace

std::filesystem::path kubelet_directory(const KubeletConfig& kubelet, const HostRoot& host,
                                        const std::filesystem::path& present) {
  if (kubelet.other_directory.empty()) return kubelet.directory;
  const bool is_other = present == kubelet.other_directory;
  const std::filesystem::path& here = is_other ? kubelet.other_directory : kubelet.directory;
  const std::filesystem::path& there = is_other ? kubelet.directory : kubelet.other_directory;
  return !kubelet_listens(host, here) && kubelet_listens(host, there) ? there : here;
}

Selection select(const Config& config, const HostRoot& host, const Selection& former,
                 const std::optional<NodeLabels>& of_server) {
  Selection selection{.kubelet = kubelet_directory(config.kubelet, host, former.kubelet)};
  if (!config.kubelet.other_directory.empty()) {
    for (const auto& directory : {config.kubelet.directory, config.kubelet.other_directory})
      selection.watch.push_back({directory, kKubeletSocket});
    // A socket is there a moment before the kubelet listens.
    selection.recheck = !kubelet_listens(host, selection.kubelet);
  }
  Evaluator evaluator(config, host, selection, of_server);
  std::map<std::string_view, const ResourceConfig*> firsts;
  std::set<std::string> errors;
  for (std::size_t i = 0; i < config.resources.size(); ++i) {
    const ResourceConfig& entry = config.resources[i];
    const std::string& name = entry.spec->name.text();
    Verdict verdict = evaluate_all(entry, evaluator);
    bool applies = verdict.kind == Verdict::Kind::kApplies;
    const bool unknown = verdict.kind == Verdict::Kind::kUnknown;
    if (unknown) {
      if (!evaluator.awaits_labels()) errors.insert(verdict.why);
      applies = i < former.applies.size() && former.applies[i];
    }
    if (applies) {
      const auto [first, is_new] = firsts.try_emplace(name, &entry);
      const std::string_view key = is_new ? "" : disagreement(*first->second->spec, *entry.spec);
      if (!key.empty()) {
        applies = false;
        verdict.why = first->second->where + " has the same name and applies, too, and differs in `" +
                      std::string(key) + "`, which is of the whole resource";
      }
    }
    selection.applies.push_back(applies);
    if (!applies)
      selection.others.push_back(
          {.name = name, .where = entry.where, .why = verdict.why, .unknown = unknown});
  }
  selection.errors.assign(errors.begin(), errors.end());
  sort_unique(selection.watch);
  return selection;
}

Selection not_asked_yet(const Config& config, const std::vector<ResourceConfig>& running) {
  // The number of entries, by name and content.
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> former;
  for (const ResourceConfig& entry : running) ++former[{entry.spec->name.text(), entry.content}];
  Selection selection{.kubelet = config.kubelet.directory};
  for (const ResourceConfig& entry : config.resources) {
    const std::string& name = entry.spec->name.text();
    const auto found = former.find({name, entry.content});
    const bool applied = found != former.end() && found->second > 0;
    if (applied) --found->second;
    selection.applies.push_back(entry.when.empty() || applied);
    if (!selection.applies.back())
      selection.others.push_back(
          {.name = name, .where = entry.where, .why = "not evaluated yet", .unknown = true});
  }
  return selection;
}

bool has_conditions(const Config& config) {
  return !config.kubelet.other_directory.empty() ||
         std::ranges::any_of(config.resources,
                             [](const ResourceConfig& entry) { return !entry.when.empty(); });
}

bool asks_for_node(const Config& config) {
  if (!config.api_server || !config.node_labels.empty()) return false;
  return std::ranges::any_of(config.resources, [](const ResourceConfig& entry) {
    return std::ranges::any_of(entry.when, [](const auto& condition) {
      return condition->names_labels() || condition->names_node();
    });
  });
}

Config applying(const Config& config, const Selection& selection) {
  Config part{config, {}};
  part.kubelet.directory = selection.kubelet;
  for (std::size_t i = 0; i < config.resources.size(); ++i) {
    if (selection.applies[i]) part.resources.push_back(config.resources[i]);
  }
  return part;
}

std::vector<EntriesOfName> by_name(const std::vector<ResourceConfig>& entries) {
  std::vector<EntriesOfName> all;
  std::unordered_map<std::string_view, std::size_t> places;
  for (const ResourceConfig& entry : entries) {
    const auto [place, is_new] = places.try_emplace(entry.spec->name.text(), all.size());
    if (is_new) all.emplace_back();
    all[place->second].push_back(&entry);
  }
  return all;
}

std::vector<ResourceConfig> copies_of(const EntriesOfName& entries) {
  std::vector<ResourceConfig> copies;
  for (const ResourceConfig* entry : entries) copies.push_back(*entry);
  return copies;
}

}  // namespace plughost
