#include "supervisor/assumed_pods.hpp"

#include <algorithm>
#include <utility>

#include "apiserver/api_json.hpp"
#include "assume/mark.hpp"

namespace plughost {
namespace {

// Of those that wait on one node.
constexpr std::size_t kLongestList = std::size_t{16} << 20u;

}  // namespace

AssumedPods::AssumedPods(EventLoop& loop, ApiServer& server, PodWatch& watch, std::string resource,
                         AssumeTerms terms, std::function<void()> changed)
    : loop_(loop),
      server_(server),
      watch_(watch),
      resource_(std::move(resource)),
      terms_(std::move(terms)),
      changed_(std::move(changed)),
      user_(server.users(),
            [this] {
              for (Waiting& waiting : waiting_) {
                if (waiting.list) waiting.patience->arm({});
                waiting.list.reset();
              }
            }),
      follower_(watch.follow({.listed =
                                  [this](const std::vector<Json>& pods) {
                                    pods_.clear();
                                    for (const Json& pod : pods) put(pod);
                                    std::erase_if(ours_, [this](const auto& item) {
                                      return !pods_.contains(item.first);
                                    });
                                    on_change();
                                  },
                              .changed =
                                  [this](const Json& pod) {
                                    put(pod);
                                    on_change();
                                  },
                              .gone =
                                  [this](const Json& pod) {
                                    pods_.erase(pod["metadata"]["uid"].text());
                                    ours_.erase(pod["metadata"]["uid"].text());
                                    on_change();
                                  }})) {}

void AssumedPods::put(const Json& json) {
  std::optional<AskingPod> pod = asking_pod(json, resource_, terms_);
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

std::vector<const AskingPod*> AssumedPods::all() const {
  std::vector<const AskingPod*> pods;
  pods.reserve(pods_.size());
  for (const auto& [uid, pod] : pods_) pods.push_back(&pod);
  return pods;
}

const AskingPod* AssumedPods::find(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

void AssumedPods::set_card(const std::string& uid, const std::string& card) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  found->second.card = card;
  ours_[uid].card = card;
}

const AskingPod* AssumedPods::find(const Holder& holder) const {
  if (holder.pod_namespace.empty()) return find(holder.pod);
  const std::string name = holder.pod_namespace + '/' + holder.pod;
  const auto found = std::ranges::find_if(pods_, [&](const auto& item) { return item.second.name == name; });
  return found == pods_.end() ? nullptr : &found->second;
}

void AssumedPods::set_marked(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  found->second.assigned = "true";
  ours_[uid].marked = true;
}

void AssumedPods::until(Attempt attempt, GiveUp give_up, std::chrono::milliseconds patience) {
  if (attempt()) return;
  const auto waiting =
      waiting_.insert(waiting_.end(), Waiting{std::move(attempt), std::move(give_up), nullptr, nullptr});
  waiting->patience = std::make_unique<Timer>(loop_, [this, waiting] { list_anew(waiting); });
  waiting->patience->arm(patience);
}

void AssumedPods::on_change() {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const auto waiting = next++;
    if (waiting->attempt()) waiting_.erase(waiting);
  }
  changed_();
}

void AssumedPods::list_anew(Waitings::iterator waiting) {
  ApiClient* const client = server_.client();
  if (!client) return finish(waiting, "the configuration names no API server any more");
  waiting->list = client->send({.verb = ApiVerb::kList,
                                .path =
                                    [](const std::string& node) {
                                      return "/api/v1/pods?fieldSelector=" +
                                             url_encoded("spec.nodeName=" + node + ",status.phase=Pending");
                                    },
                                .deadline = kLastList,
                                .most_answer = kLongestList},
                               [this, waiting](const ApiAnswer& answer) { on_list(waiting, answer); });
}

void AssumedPods::on_list(Waitings::iterator waiting, const ApiAnswer& answer) {
  const std::unique_ptr<ApiCall> call = std::move(waiting->list);
  if (!answer.ok()) return finish(waiting, answer.trouble);
  const auto list = parse_api_json(answer.body);
  if (const auto* const trouble = std::get_if<std::string>(&list))
    return finish(waiting, "the API server's list of pods cannot be read: " + *trouble);
  for (const Json& pod : std::get<Json>(list)["items"].array()) put(pod);
  if (waiting->attempt()) {
    waiting_.erase(waiting);
    return;
  }
  finish(waiting, watch_.trouble());
}

void AssumedPods::finish(Waitings::iterator waiting, const std::string& trouble) {
  const GiveUp give_up = std::move(waiting->give_up);
  waiting_.erase(waiting);
  give_up(trouble);
}

}  // namespace plughost
