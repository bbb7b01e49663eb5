#include "kubernetes/pods/pod_search.hpp"

#include <algorithm>
#include <utility>

namespace plughost {

void PodBook::replace(const std::vector<Pod>& pods) {
  std::set<std::string> present;
  for (const Pod& pod : pods) present.insert(pod.uid);
  std::erase_if(pods_, [&](const auto& item) { return !present.contains(item.first); });
  std::erase_if(marked_, [&](const std::string& uid) { return !present.contains(uid); });
  for (const Pod& pod : pods) put(pod);
}

void PodBook::put(const Pod& from) {
  std::optional<AskingPod> pod = asking_pod(from, resource_, terms_);
  const auto former = pod ? pods_.find(pod->uid) : pods_.end();
  if (pod && pod->ended()) return remove(pod->uid);
  if (!pod || (pods_.size() >= kMostPods && former == pods_.end())) return;
  if (former != pods_.end() && former->second.card && !terms_.late()) pod->card = former->second.card;
  if (marked(*pod))
    marked_.erase(pod->uid);
  else if (marked_.contains(pod->uid))
    pod->assigned = "true";
  pods_.insert_or_assign(pod->uid, std::move(*pod));
}

void PodBook::remove(const std::string& uid) {
  pods_.erase(uid);
  marked_.erase(uid);
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

void PodBook::set_marked(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  found->second.assigned = "true";
  marked_.insert(uid);
}

using Clock = EventLoop::Clock;

PodSearch::PodSearch(EventLoop& loop, PodSource& source, std::string resource, AssumeTerms terms,
                     std::function<void(bool anew)> changed)
    : Follower(source),
      loop_(loop),
      source_(source),
      book_(std::move(resource), std::move(terms)),
      changed_(std::move(changed)) {}

void PodSearch::on_list(const std::vector<Pod>& pods) {
  book_.replace(pods);
  on_pods(true);
}

void PodSearch::on_change(const Pod& pod) {
  book_.put(pod);
  on_pods(false);
}

void PodSearch::on_gone(const std::string& uid) {
  book_.remove(uid);
  on_pods(false);
}

// Does not try the kubelet's last answer: a pod in it may have ended, and would be confused with the
// requesting pod.
void PodSearch::until(const std::string& uid, Attempt attempt, GiveUp give_up,
                      std::chrono::milliseconds patience) {
  const bool by_kubelet = source_.by_kubelet();
  if (!by_kubelet && attempt()) return;
  const auto now = Clock::now();
  const auto waiting = waiting_.insert(
      waiting_.end(),
      Waiting{
          .uid = uid, .attempt = std::move(attempt), .give_up = std::move(give_up), .until = now + patience});
  waiting->next = std::make_unique<Timer>(loop_, [this, waiting] { query(waiting); });
  waiting->next->arm_at(by_kubelet ? now : waiting->until);
}

void PodSearch::on_pods(bool anew) {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const auto waiting = next++;
    if (waiting->attempt()) waiting_.erase(waiting);
  }
  changed_(anew);
}

void PodSearch::query(Waitings::iterator waiting) {
  waiting->question =
      source_.query(waiting->uid, [this, waiting](const std::string& error) { on_told(waiting, error); });
}

// Runs only if no attempt has succeeded: a successful one drops the query, and with it this callback.
void PodSearch::on_told(Waitings::iterator waiting, const std::string& error) {
  const auto question = std::move(waiting->question);
  const auto now = Clock::now();
  if (now < waiting->until) return waiting->next->arm_at(std::min(now + kAgain, waiting->until));
  const GiveUp give_up = std::move(waiting->give_up);
  waiting_.erase(waiting);
  give_up(error);
}

}  // namespace plughost
