#include "daemon/report/node_capacity.hpp"

#include <algorithm>
#include <utility>

namespace plughost {

namespace {

std::string words_of_counts(const NodeResources& resources) {
  std::string words;
  for (const auto& [key, count] : resources)
    words += (words.empty() ? "" : ", ") + key + '=' + std::to_string(count);
  return words;
}

}  // namespace

NodeCapacity::NodeCapacity(EventLoop& loop, Log& log, ApiServer& server, NodeWatch& node, Backoff again)
    : log_(log),
      server_(server),
      node_(node),
      counts_(again),
      again_(loop, [this] { update(); }),
      limit_(loop,
             [this] {
               if (const auto done = std::exchange(done_, nullptr)) done();
             }),
      user_(server.users(), [this] { on_other_server(); }) {}

void NodeCapacity::follow(const std::vector<Subject>& subjects) {
  NodeResources counted;
  std::set<std::string> unknown;
  for (const Subject& subject : subjects) {
    if (subject.settled)
      counted.merge(node_resources_of(subject.counts, subject.lists));
    else
      for (const NodeResourceSpec& each : subject.counts) unknown.insert(each.key);
  }
  counts_.want(counted, unknown);
  update();
}

void NodeCapacity::settle(std::chrono::milliseconds limit, std::function<void()> done) {
  counts_.hurry();
  done_ = std::move(done);
  limit_.arm(limit);
  update();
}

void NodeCapacity::update() {
  if (counts_.empty()) {
    following_.reset();
    return end_settling();
  }
  if (!following_)
    following_ = node_.follow([this] {
      counts_.on_node();
      if (node_.error().empty()) counts_.on_server();
      update();
    });
  const NodeObject* const node = node_.node();
  if (!node) {
    const std::string error = node_.error();
    log_error(error);
    if (!error.empty() || !server_.client()) end_settling();
    return;
  }
  if (call_) return;
  NodeCounts::Patch patch = counts_.next(node->capacity);
  if (patch.resources.empty()) {
    log_error("");
    return counts_.empty() ? update() : end_settling();
  }
  if (patch.at > NodeCounts::Clock::now())
    again_.arm_at(patch.at);
  else
    write(*node, std::move(patch.resources));
}

void NodeCapacity::write(const NodeObject& node, NodeResources resources) {
  ApiClient* const client = server_.client();
  if (!client) return;
  ApiRequest request{.verb = ApiVerb::kPatch,
                     .path = "/api/v1/nodes/" + url_encoded(node.name) + "/status",
                     .content_type = ApiRequest::kMergePatch,
                     .body = capacity_patch(resources).dump()};
  call_ = client->send(std::move(request), [this, resources = std::move(resources)](const ApiAnswer& answer) {
    on_answer(resources, answer);
  });
}

void NodeCapacity::on_answer(const NodeResources& resources, const ApiAnswer& answer) {
  const std::unique_ptr<ApiCall> ended = std::move(call_);
  const auto now = NodeCounts::Clock::now();
  if (answer.ok()) {
    counts_.written(resources, now);
    if (done_) counts_.hurry();
    log_error("");
    log_written(resources);
  } else {
    counts_.failed(answer, now);
    log_error(answer.error);
  }
  update();
}

void NodeCapacity::on_other_server() {
  call_.reset();
  counts_.forget();
  update();
}

// Calls `done` from the loop, because `done` may destroy this object.
void NodeCapacity::end_settling() {
  if (done_ && !call_) limit_.arm(std::chrono::milliseconds(0));
}

void NodeCapacity::log_error(const std::string& error) {
  if (std::exchange(error_, error) == error || error.empty()) return;
  log_.warn("cannot write node counts: the old ones stay", {{"why", error}});
}

void NodeCapacity::log_written(const NodeResources& resources) {
  const auto now = NodeCounts::Clock::now();
  if (resources == told_ && now < told_at_ + kTellAgain) return;
  told_ = resources;
  told_at_ = now;
  log_.info("node counts written", {{"counts", words_of_counts(resources)}});
}

void NodeCounts::want(const NodeResources& counted, const std::set<std::string>& unknown) {
  leaving_.clear();
  for (const std::string& key : unknown_)
    if (!unknown.contains(key)) wanted_.try_emplace(key, 0);
  unknown_ = unknown;
  for (auto& [key, count] : wanted_) {
    if (counted.contains(key) || unknown.contains(key)) continue;
    count = 0;
    leaving_.insert(key);
  }
  for (const auto& [key, count] : counted) wanted_[key] = count;
}

NodeCounts::Patch NodeCounts::next(Capacity shown) {
  for (const auto& [key, count] : written_) shown[key] = std::to_string(count);
  NodeResources differing = not_shown(wanted_, shown);
  std::erase_if(wanted_, [&](const auto& item) {
    return leaving_.contains(item.first) && !differing.contains(item.first);
  });
  return {.resources = std::move(differing), .at = earliest_};
}

void NodeCounts::written(const NodeResources& resources, Clock::time_point now) {
  for (const auto& [key, count] : resources) written_[key] = count;
  again_.reset();
  unanswered_ = false;
  earliest_ = now + kPause;
}

void NodeCounts::on_server() {
  if (std::exchange(unanswered_, false)) hurry();
}

void NodeCounts::failed(const ApiAnswer& answer, Clock::time_point now) {
  unanswered_ = answer.code == 0;
  earliest_ =
      now + std::max<Clock::duration>(again_.next(), answer.retry_after.value_or(std::chrono::seconds(0)));
}

void NodeCounts::forget() {
  written_.clear();
  again_.reset();
  unanswered_ = false;
  earliest_ = {};
}

}  // namespace plughost
