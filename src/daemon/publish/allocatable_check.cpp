#include "daemon/publish/allocatable_check.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/text/text.hpp"

namespace plughost {

AllocatableCheck::AllocatableCheck(Platform& platform, Owner& owner)
    : platform_(platform), owner_(owner), timer_(platform.loop, [this] { check(*link_); }) {}

void AllocatableCheck::check(KubeletLink& link) {
  const auto attached = [](const Subject& subject) { return subject.attached_since.has_value(); };
  if (std::ranges::none_of(owner_.subjects(), attached)) return;
  link_ = &link;
  again_ = busy();
  if (again_) return;
  link.allocatable().query(question_.bound([this](const Allocatable::Count& count) { update(count); }));
}

void AllocatableCheck::forget() {
  question_.renew();
  timer_.cancel();
  link_ = nullptr;
  again_ = false;
  comparing_ = false;
  agreements_.clear();
  told_.clear();
  unknown_.clear();
}

std::string AllocatableCheck::disagreement(const std::string& resource) const {
  const auto found = told_.find(resource);
  return found == told_.end() ? "" : found->second;
}

void AllocatableCheck::update(const Allocatable::Count& count) {
  const bool was_unknown = !unknown_.empty();
  unknown_ = count.why;
  if (!count.ids) {
    if (was_unknown) return end();
    platform_.log.info("kubelet does not report its allocatable devices: counts are not verified",
                       {{"why", count.why}});
    owner_.on_disagreement();
    return end();
  }
  if (was_unknown) owner_.on_disagreement();
  comparing_ = true;
  const auto subjects = std::make_shared<const std::vector<Subject>>(owner_.subjects());
  const auto found = std::make_shared<std::vector<Disagreement>>();
  platform_.computations.run(
      [subjects, found, ids = count.ids] {
        const std::vector<std::string> none;
        for (const Subject& subject : *subjects) {
          const auto counted = ids->find(subject.resource);
          found->push_back(compare(subject.sent, counted == ids->end() ? none : counted->second));
        }
      },
      question_.bound([this, subjects, found] {
        judge_all(*subjects, *found);
        end();
      }),
      kCompareDeadline, question_.bound([this] { end(); }));
}

void AllocatableCheck::end() {
  comparing_ = false;
  if (again_) check(*link_);
}

void AllocatableCheck::judge_all(const std::vector<Subject>& subjects, std::vector<Disagreement>& found) {
  const auto before = told_;
  std::set<std::string_view> names;
  for (const Subject& subject : subjects) names.insert(subject.resource);
  const auto gone = [&](const auto& item) { return !names.contains(item.first); };
  std::erase_if(agreements_, gone);
  std::erase_if(told_, gone);
  for (std::size_t i = 0; i < subjects.size(); ++i) judge(subjects[i], std::move(found[i]));
  if (told_ != before) owner_.on_disagreement();
}

void AllocatableCheck::judge(const Subject& subject, Disagreement found) {
  if (!subject.attached_since) return;
  Agreement& agreement = agreements_[subject.resource];
  if (!found.none()) timer_.arm(kAgain);
  const bool anew =
      agreement.update(subject.sent, *subject.attached_since, std::move(found), EventLoop::Clock::now());
  if (!agreement.disagrees()) {
    if (told_.erase(subject.resource) > 0)
      platform_.log.info("kubelet counts the devices it was sent", {{"resource", subject.resource}});
    return;
  }
  const std::string& why = told_[subject.resource] = agreement.disagreement().text();
  if (!anew) return;
  owner_.register_again(subject.resource);
  platform_.log.error("kubelet counts other devices than it was sent: registering again",
                      {{"resource", subject.resource}, {"why", why}});
}

namespace {

constexpr std::size_t kMostNamed = 3;

std::string named(const std::vector<std::string>& ids) {
  const std::vector<std::string> first(
      ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(std::min(ids.size(), kMostNamed)));
  return std::to_string(ids.size()) + " (" + joined(first, ", ") + (ids.size() > kMostNamed ? ", …)" : ")");
}

}  // namespace

std::string Disagreement::text() const {
  std::string text;
  if (!missing.empty())
    text = "of " + std::to_string(healthy) + " Healthy devices it does not count " + named(missing);
  if (!extra.empty())
    text += (text.empty() ? "it counts " : ", and it counts ") + named(extra) +
            " that it was not sent as Healthy";
  return text;
}

Disagreement compare(const Inventory& sent, const std::vector<std::string>& counted) {
  std::vector<std::string> healthy;
  sent.for_each_share([&](std::string id, const Device& /*device*/, bool is_healthy) {
    if (is_healthy) healthy.push_back(std::move(id));
  });
  if (!std::ranges::is_sorted(healthy)) std::ranges::sort(healthy);  // replicas are not sorted
  Disagreement found{.missing = {}, .extra = {}, .healthy = healthy.size()};
  std::ranges::set_difference(healthy, counted, std::back_inserter(found.missing));
  std::ranges::set_difference(counted, healthy, std::back_inserter(found.extra));
  return found;
}

bool Agreement::update(const Inventory& sent, Time attached_since, Disagreement disagreement, Time now) {
  // A disagreement over a former list or stream does not count: a new kubelet may be receiving the list.
  if (!sent.lists_same_as(sent_) || since_ < attached_since) since_.reset();
  sent_ = sent;
  found_ = std::move(disagreement);
  if (found_.none()) {
    since_.reset();
    told_ = false;
    pause_.reset();
    not_before_ = {};
    return false;
  }
  if (!since_) since_ = now;
  if (now - *since_ < kLasts) return false;
  told_ = true;
  if (now < not_before_) return false;
  not_before_ = now + pause_.next();
  since_.reset();
  return true;
}

}  // namespace plughost
