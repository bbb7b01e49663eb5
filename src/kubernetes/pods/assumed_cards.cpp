#include "kubernetes/pods/assumed_cards.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/text/text.hpp"

namespace plughost {
namespace {

// gpushare's: a node so labelled has a kernel that shall not keep containers of one card apart.
constexpr const char* kNoIsolation = "cgpu.disable.isolation";

std::int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Holder named(const AskingPod& pod, const std::string& container) {
  const std::size_t slash = pod.name.find('/');
  return {
      .pod_namespace = pod.name.substr(0, slash), .pod = pod.name.substr(slash + 1), .container = container};
}

}  // namespace

PodMarks::PodMarks(EventLoop& loop, ApiServer& server, Log& log)
    : server_(server), log_(log), again_(loop, [this] { write(); }), user_(server.users(), [this] {
        call_.reset();
        if (writing_) waiting_.push_front(std::move(*writing_));
        writing_.reset();
        backoff_.reset();
        again_.arm({});
      }) {}

void PodMarks::add(const AskingPod& pod, std::string patch) {
  const auto its = [&](const Mark& mark) { return mark.uid == pod.uid; };
  if ((writing_ && its(*writing_)) || std::ranges::any_of(waiting_, its)) return;
  waiting_.push_front(
      {.pod = pod.name, .uid = pod.uid, .annotation = pod.names.assigned, .patch = std::move(patch)});
  write();
}

void PodMarks::keep(const std::function<bool(const std::string& uid)>& wanted) {
  std::erase_if(waiting_, [&](const Mark& mark) { return !wanted(mark.uid); });
  if (!writing_ || wanted(writing_->uid)) return;
  call_.reset();
  writing_.reset();
  write();
}

// As the pod's status, which the kubelet's own identity may patch; the pod it may not.
void PodMarks::write() {
  ApiClient* const client = writing_ || waiting_.empty() ? nullptr : server_.client();
  if (!client) return;  // without a client: until there is another
  again_.cancel();
  writing_ = std::move(waiting_.front());
  waiting_.pop_front();
  const std::size_t slash = writing_->pod.find('/');
  call_ = client->send({.verb = ApiVerb::kPatch,
                        .path = "/api/v1/namespaces/" + url_encoded(writing_->pod.substr(0, slash)) +
                                "/pods/" + url_encoded(writing_->pod.substr(slash + 1)) + "/status",
                        .content_type = ApiRequest::kMergePatch,
                        .body = writing_->patch},
                       [this](const ApiAnswer& answer) { on_answer(answer); });
}

void PodMarks::on_answer(const ApiAnswer& answer) {
  const std::unique_ptr<ApiCall> call = std::move(call_);
  Mark mark = std::move(*writing_);
  writing_.reset();
  // The pod is gone; or another pod of its name has another UID.
  if (answer.code == ApiAnswer::kNotFound || answer.code == ApiAnswer::kUnprocessable) return write();
  if (answer.ok()) {
    backoff_.reset();
    if (std::exchange(failing_, false))
      log_.info("pod annotation written", {{"pod", printable(mark.pod)}, {"what", mark.annotation}});
    return write();
  }
  again_.arm(std::max<EventLoop::Clock::duration>(backoff_.next(),
                                                  answer.retry_after.value_or(std::chrono::seconds(0))));
  if (!std::exchange(failing_, true))
    log_.warn("cannot write a pod annotation: retrying",
              {{"pod", printable(mark.pod)}, {"what", mark.annotation}, {"why", answer.error}});
  waiting_.push_back(std::move(mark));
}

std::unique_ptr<AssumedCards> AssumedCards::of(Assuming& assuming, const ResourceSnapshot& snapshot) {
  return snapshot.spec->assume->late() ? late_cards(assuming, snapshot) : guessed_cards(assuming, snapshot);
}

AssumedCards::AssumedCards(Assuming& assuming, const ResourceSnapshot& snapshot)
    : assuming_(assuming),
      resource_(snapshot.resource),
      terms_(*snapshot.spec->assume),
      marks_(assuming.loop(), assuming.api_server(), assuming.log()),
      pods_(assuming.loop(), assuming.pods(), resource_, terms_, [this](bool anew) {
        marks_.keep([this](const std::string& uid) { return pods_.book().find(uid) != nullptr; });
        on_pods();
        if (anew) find_unmarked();
      }) {
  if (terms_.dialect == Dialect::kGpushare) node_ = assuming.node_watch().follow([] {});
}

bool AssumedCards::without_isolation() const {
  const NodeObject* const node = node_ ? assuming_.node_watch().node() : nullptr;
  if (!node) return false;
  const auto label = node->labels.find(kNoIsolation);
  return label != node->labels.end() && label->second == "true";
}

AssumedCards::HoldersByCard AssumedCards::by_annotation(const Inventory& inventory) const {
  return [book = pods_.book(), terms = terms_, inventory](const HoldersOfIds& holders) {
    std::map<std::string_view, const AskingPod*> names;
    for (const AskingPod* const pod : book.all()) names[pod->name] = pod;
    const auto pod_of = [&](const Holder& holder) {
      if (holder.pod_namespace.empty()) return book.find(holder.pod);
      const auto found = names.find(holder.pod_namespace + '/' + holder.pod);
      return found == names.end() ? nullptr : found->second;
    };
    const auto card = [&](const Holder& holder) -> const Device* {
      const AskingPod* const pod = pod_of(holder);
      return pod ? card_named(terms, *pod, inventory) : nullptr;
    };
    const auto known_as = [&](const Holder& holder) {
      const AskingPod* const pod = holder.pod_namespace.empty() ? pod_of(holder) : nullptr;
      return pod ? named(*pod, holder.container) : holder;
    };
    return by_name(by_card(holders, inventory, card), known_as);
  };
}

void AssumedCards::mark(const AskingPod& pod) {
  marks_.add(pod, mark_patch(terms_, pod, nanoseconds_now()));
  pods_.book().set_marked(pod.uid);
}

void AssumedCards::mark(const std::vector<HeldUnits>& held) {
  for (const AskingPod* const pod : to_be_marked(pods_.book().all(), containers_of(held))) mark(*pod);
}

void AssumedCards::find_unmarked() {
  bool unmarked = false;
  for (const AskingPod* const pod : pods_.book().all()) unmarked = unmarked || (pod->time && !marked(*pod));
  if (!unmarked) return;
  assuming_.read_checkpoint(lifetime_.bound([this](const std::shared_ptr<const Checkpoint>& checkpoint) {
    if (checkpoint) mark(held_units(*checkpoint, resource_));
  }));
}

}  // namespace plughost
