#include "pods/pod_marks.hpp"

#include <algorithm>
#include <utility>

#include "text/text.hpp"

namespace plughost {

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
              {{"pod", printable(mark.pod)}, {"what", mark.annotation}, {"why", answer.trouble}});
  waiting_.push_back(std::move(mark));
}

}  // namespace plughost
