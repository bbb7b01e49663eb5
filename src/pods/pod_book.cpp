#include "pods/pod_book.hpp"

#include <algorithm>
#include <utility>

#include "assume/mark.hpp"

namespace plughost {

void PodBook::replace(const std::vector<Pod>& pods) {
  pods_.clear();
  for (const Pod& pod : pods) put(pod);
  std::erase_if(ours_, [this](const auto& item) { return !pods_.contains(item.first); });
}

void PodBook::put(const Pod& from) {
  std::optional<AskingPod> pod = asking_pod(from, resource_, terms_);
  if (!pod || (pods_.size() >= kMostPods && !pods_.contains(pod->uid))) return;
  const std::string uid = pod->uid;
  if (const auto ours = ours_.find(uid); ours != ours_.end()) {
    Ours& it = ours->second;
    if (it.card == pod->card) it.card.reset();
    if (marked(*pod)) it.marked = false;
    if (it.card) pod->card = it.card;
    if (it.marked) pod->assigned = "true";
    if (!it.card && !it.marked) ours_.erase(ours);
  }
  pods_.insert_or_assign(uid, std::move(*pod));
}

void PodBook::remove(const std::string& uid) {
  pods_.erase(uid);
  ours_.erase(uid);
}

std::vector<const AskingPod*> PodBook::all() const {
  std::vector<const AskingPod*> pods;
  pods.reserve(pods_.size());
  for (const auto& [uid, pod] : pods_) pods.push_back(&pod);
  return pods;
}

const AskingPod* PodBook::find(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

const AskingPod* PodBook::find(const Holder& holder) const {
  if (holder.pod_namespace.empty()) return find(holder.pod);
  const std::string name = holder.pod_namespace + '/' + holder.pod;
  const auto found = std::ranges::find_if(pods_, [&](const auto& item) { return item.second.name == name; });
  return found == pods_.end() ? nullptr : &found->second;
}

void PodBook::set_marked(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  found->second.assigned = "true";
  ours_[uid].marked = true;
}

void PodBook::set_card(const std::string& uid, const std::string& card) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  found->second.card = card;
  ours_[uid].card = card;
}

}  // namespace plughost
