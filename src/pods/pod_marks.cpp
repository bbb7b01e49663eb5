#include "pods/pod_marks.hpp"

#include <algorithm>
#include <utility>

#include "text/text.hpp"

namespace plughost {
PodMarks::PodMarks(EventLoop& loop, ApiServer& server, Log& log)
    : loop_(loop), server_(server), log_(log), user_(server.users(), [this] {
        for (Mark& mark : marks_) {
          mark.call.reset();
          mark.stale = false;
          mark.again->arm({});
        }
      }) {}

void PodMarks::add(const std::string& pod, const std::string& uid, const std::string& annotation,
                   const std::string& value, std::string patch) {
  const auto known = std::ranges::find_if(
      marks_, [&](const Mark& mark) { return mark.uid == uid && mark.annotation == annotation; });
  if (known != marks_.end()) {
    if (std::exchange(known->value, value) == value) return;
    known->patch = std::move(patch);
    known->stale = known->call != nullptr;
    return;
  }
  if (marks_.size() >= kMost) return;
  const auto mark = marks_.insert(
      marks_.end(),
      Mark{.pod = pod, .uid = uid, .annotation = annotation, .value = value, .patch = std::move(patch)});
  mark->again = std::make_unique<Timer>(loop_, [this, mark] { write(mark); });
  write(mark);
}

// As its status, which the kubelet's own identity may patch, and the pod it may not.
void PodMarks::write(Marks::iterator mark) {
  ApiClient* const client = server_.client();
  if (!client) return;  // until there is another
  const std::size_t slash = mark->pod.find('/');
  mark->call = client->send({.verb = ApiVerb::kPatch,
                             .path = "/api/v1/namespaces/" + url_encoded(mark->pod.substr(0, slash)) +
                                     "/pods/" + url_encoded(mark->pod.substr(slash + 1)) + "/status",
                             .content_type = ApiRequest::kMergePatch,
                             .body = mark->patch},
                            [this, mark](const ApiAnswer& answer) { on_answer(mark, answer); });
}

void PodMarks::on_answer(Marks::iterator mark, const ApiAnswer& answer) {
  const std::unique_ptr<ApiCall> call = std::move(mark->call);
  // The last is the word for another UID.
  const bool gone = answer.code == ApiAnswer::kNotFound || answer.code == ApiAnswer::kUnprocessable;
  if (answer.ok() && std::exchange(mark->stale, false)) return write(mark);
  if (answer.ok() || gone) {
    if (mark->told && !gone)
      log_.info("pod annotation written", {{"pod", printable(mark->pod)}, {"what", mark->annotation}});
    marks_.erase(mark);
    return;
  }
  mark->stale = false;
  mark->again->arm(std::max<EventLoop::Clock::duration>(
      mark->backoff.next(), answer.retry_after.value_or(std::chrono::seconds(0))));
  if (!std::exchange(mark->told, true))
    log_.warn("cannot write a pod annotation: retrying",
              {{"pod", printable(mark->pod)}, {"what", mark->annotation}, {"why", answer.trouble}});
}

}  // namespace plughost
