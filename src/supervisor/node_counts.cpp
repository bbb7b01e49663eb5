#include "supervisor/node_counts.hpp"

#include <algorithm>
#include <utility>

namespace plughost {

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
