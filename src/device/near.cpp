#include "device/near.hpp"

#include <algorithm>
#include <utility>

namespace plughost {
namespace {

constexpr unsigned kMostOthers = 4096;

// How many components the paths begin with alike: each is a bridge that both are behind.
unsigned bridges_in_common(std::string_view one, std::string_view other) {
  unsigned common = 0;
  while (!one.empty() && !other.empty()) {
    const std::size_t end = std::min(one.find('/'), one.size());
    const std::size_t other_end = std::min(other.find('/'), other.size());
    if (one.substr(0, end) != other.substr(0, other_end)) break;
    ++common;
    one.remove_prefix(std::min(end + 1, one.size()));
    other.remove_prefix(std::min(other_end + 1, other.size()));
  }
  return common;
}

}  // namespace

void LastGiven::note(std::vector<std::string> paths, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  paths_ = std::move(paths);
  when_ = now;
}

std::vector<std::string> LastGiven::just_now(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  return paths_.empty() || when_ + kSameContainer < now ? std::vector<std::string>() : paths_;
}

std::vector<std::string> Neighbours::paths(LastGiven::Clock::time_point now) const {
  std::vector<std::string> near = given ? given->just_now(now) : std::vector<std::string>();
  return near.empty() ? healthy : near;
}

unsigned nearness(std::string_view path, std::span<const std::string> others) {
  unsigned nearest = 0;
  unsigned as_near = 0;
  for (const std::string& other : others) {
    const unsigned common = bridges_in_common(path, other);
    if (common > nearest) {
      nearest = common;
      as_near = 0;
    }
    if (common == nearest) ++as_near;
  }
  return nearest == 0 ? 0 : nearest * kMostOthers + std::min(as_near, kMostOthers - 1);
}

}  // namespace plughost
