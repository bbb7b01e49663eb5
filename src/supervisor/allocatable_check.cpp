#include "supervisor/allocatable_check.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace plughost {

AllocatableCheck::AllocatableCheck(Platform& platform, Hooks hooks)
    : platform_(platform), hooks_(std::move(hooks)), timer_(platform.loop, [this] { look(*link_); }) {}

void AllocatableCheck::look(KubeletLink& link) {
  const auto attached = [](const Subject& subject) { return subject.attached_since.has_value(); };
  if (std::ranges::none_of(hooks_.subjects(), attached)) return;
  link_ = &link;
  again_ = link.allocatable().asking();
  if (again_) return;
  link.allocatable().ask(question_.bound([this](const Allocatable::Count& count) { take(count); }));
}

void AllocatableCheck::forget() {
  question_.renew();
  timer_.cancel();
  again_ = false;
  agreements_.clear();
  told_.clear();
  unknown_.clear();
}

std::string AllocatableCheck::disagreement(const std::string& resource) const {
  const auto found = told_.find(resource);
  return found == told_.end() ? "" : found->second;
}

void AllocatableCheck::take(const Allocatable::Count& count) {
  const bool told_unknown = !unknown_.empty();
  const auto before = told_;
  unknown_ = count.why;
  if (count.ids) {
    const std::vector<Subject> subjects = hooks_.subjects();
    std::set<std::string_view> names;
    for (const Subject& subject : subjects) names.insert(subject.resource);
    const auto gone = [&](const auto& item) { return !names.contains(item.first); };
    std::erase_if(agreements_, gone);
    std::erase_if(told_, gone);
    const std::vector<std::string> none;
    for (const Subject& subject : subjects) {
      const auto counted = count.ids->find(subject.resource);
      judge(subject, counted == count.ids->end() ? none : counted->second);
    }
  } else if (!told_unknown) {
    platform_.log.info("the kubelet does not say which devices it counts: not verified",
                       {{"why", count.why}});
  }
  if (told_ != before || told_unknown != !unknown_.empty()) hooks_.changed();
  if (again_) return look(*link_);
}

void AllocatableCheck::judge(const Subject& subject, const std::vector<std::string>& counted) {
  if (!subject.attached_since) return;
  Agreement& agreement = agreements_[subject.resource];
  Disagreement found = compare(subject.sent, counted);
  if (!found.none()) timer_.arm(kAgain);
  const bool anew =
      agreement.take(subject.sent, *subject.attached_since, std::move(found), EventLoop::Clock::now());
  if (!agreement.disagrees()) {
    if (told_.erase(subject.resource) > 0)
      platform_.log.info("the kubelet counts what it was sent", {{"resource", subject.resource}});
    return;
  }
  const std::string& why = told_[subject.resource] = agreement.disagreement().text();
  if (!anew) return;
  hooks_.register_anew(subject.resource);
  platform_.log.error("the kubelet does not count what it was sent: registering anew",
                      {{"resource", subject.resource}, {"why", why}});
}

}  // namespace plughost
