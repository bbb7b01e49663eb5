#include "driver/zero_counts.hpp"

#include <algorithm>
#include <utility>

#include "base/joined.hpp"

namespace plughost {
namespace {

const std::string* count_of(const std::map<std::string, std::string>& counts, const std::string& resource) {
  const auto found = counts.find(resource);
  return found == counts.end() ? nullptr : &found->second;
}

Json removal_patch(const std::set<std::string>& counts) {
  Json none = Json::Object();
  for (const std::string& resource : counts) none[resource] = Json();
  return {{"status", Json{{"capacity", none}, {"allocatable", none}}}};
}

}  // namespace

std::set<std::string> zero_counts(const NodeObject& node, const std::set<std::string>& resources) {
  std::set<std::string> zero;
  for (const std::string& resource : resources) {
    const std::string* const given = count_of(node.allocatable, resource);
    const std::string* const capacity = count_of(node.capacity, resource);
    if (given ? *given == "0" : capacity && *capacity == "0") zero.insert(resource);
  }
  return zero;
}

ZeroCounts::ZeroCounts(EventLoop& loop, Log& log, ApiServer& server, NodeWatch& node)
    : log_(log),
      server_(server),
      node_(node),
      again_(loop, [this] { look(); }),
      user_(server.users(), [this] {
        call_.reset();
        look();
      }) {}

void ZeroCounts::follow(std::set<std::string> resources) {
  if (resources == resources_) return;
  resources_ = std::move(resources);
  look();
}

void ZeroCounts::look() {
  if (resources_.empty()) {
    following_.reset();
    call_.reset();
    return again_.cancel();
  }
  if (!following_) following_ = node_.follow([this] { look(); });
  const NodeObject* const node = node_.node();
  if (!node || call_) return;
  const std::set<std::string> counts = zero_counts(*node, resources_);
  const Clock::time_point now = Clock::now();
  if (counts.empty()) {
    if (now >= earliest_ + kLongestPause) pause_.reset();
    return;
  }
  if (now < earliest_)
    again_.arm_at(earliest_);
  else
    remove(*node, counts);
}

void ZeroCounts::remove(const NodeObject& node, const std::set<std::string>& counts) {
  ApiClient* const client = server_.client();
  if (!client) return;
  ApiRequest request{.verb = ApiVerb::kPatch,
                     .path = "/api/v1/nodes/" + url_encoded(node.name) + "/status",
                     .content_type = ApiRequest::kMergePatch,
                     .body = removal_patch(counts).dump()};
  call_ = client->send(std::move(request),
                       [this, counts](const ApiAnswer& answer) { on_answer(counts, answer); });
}

void ZeroCounts::on_answer(const std::set<std::string>& counts, const ApiAnswer& answer) {
  const std::unique_ptr<ApiCall> ended = std::move(call_);
  earliest_ = Clock::now() + pause_.next();
  // What the watch shows by now may be older than the patch.
  again_.arm_at(earliest_);
  if (!answer.ok()) {
    if (std::exchange(trouble_, answer.trouble) != answer.trouble)
      log_.warn(
          "the node still shows counts of 0: until they are gone a scheduler up to Kubernetes 1.35 gives "
          "these resources to no pod that asks for them by limits",
          {{"resources", joined(counts, " ")}, {"why", answer.trouble}});
    return;
  }
  trouble_.clear();
  if (std::ranges::includes(told_, counts)) return;
  told_.insert(counts.begin(), counts.end());
  log_.info("counts of 0 are taken from the node: these resources are in pools",
            {{"resources", joined(counts, " ")}});
}

}  // namespace plughost
