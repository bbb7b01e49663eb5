#include "assume/mark.hpp"

#include <algorithm>
#include <iterator>

#include "base/json.hpp"

namespace plughost {
namespace {

std::string patch(const AskingPod& pod, Json::Object annotations) {
  return Json{{"metadata", Json{{"uid", pod.uid}, {"annotations", std::move(annotations)}}}}.dump();
}

}  // namespace

bool all_answered(const AskingPod& pod, const AnsweredContainers& answered) {
  return pod.next(answered) == nullptr;
}

bool marked(const AskingPod& pod) { return pod.assigned == "true"; }

std::string mark_patch(const AssumeTerms& terms, const AskingPod& pod, std::int64_t now) {
  Json::Object annotations{{pod.names.assigned, "true"}};
  if (terms.dialect == Dialect::kGpushare) annotations.emplace_back(pod.names.time, std::to_string(now));
  return patch(pod, std::move(annotations));
}

std::string card_patch(const AskingPod& pod, const std::string& card) {
  return patch(pod, {{pod.names.card, card}});
}

std::vector<const AskingPod*> to_be_marked(std::span<const AskingPod* const> pods,
                                           const AnsweredContainers& holding) {
  std::vector<const AskingPod*> found;
  std::ranges::copy_if(pods, std::back_inserter(found), [&](const AskingPod* pod) {
    return pod->time && !marked(*pod) && !pod->ended() && all_answered(*pod, holding);
  });
  return found;
}

}  // namespace plughost
