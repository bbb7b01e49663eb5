#include "base/log/log_history.hpp"

#include <algorithm>

#include "base/text/text.hpp"

namespace plughost {

Json LogHistory::Record::json() const {
  Json told{
      {"time", utc_text(time)}, {"level", level_name(level)}, {"message", words}, {"fields", Json::Object()}};
  for (const auto& [key, value] : fields) told["fields"][key] = value;
  return told;
}

void LogHistory::add(LogLevel level, std::string_view text, std::chrono::system_clock::time_point time) {
  text = text.substr(0, kLongest);
  {
    const std::lock_guard lock(mutex_);
    const std::size_t begin = make_room(text.size());
    std::ranges::copy(text, text_.get() + begin);
    ++newest_;
    if (newest_ - oldest_ == kMost) ++oldest_;
    kept_[newest_ % kMost] = {time, level, begin, begin + text.size()};
  }
  readers_.notify();
}

// Returns the position at which `size` bytes can be stored, and drops the records that were there.
std::size_t LogHistory::make_room(std::size_t size) {
  const auto drop_while = [&](auto in_the_way) {
    while (oldest_ <= newest_ && in_the_way(kept(oldest_))) ++oldest_;
  };
  std::size_t begin = oldest_ <= newest_ ? kept(newest_).end : 0;
  if (begin + size > kMostText) {
    drop_while([&](const Kept& each) { return each.begin >= begin; });
    begin = 0;
  }
  drop_while([&](const Kept& each) { return each.begin < begin + size && begin < each.end; });
  return begin;
}

std::optional<LogHistory::Record> LogHistory::after(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t wanted = std::max(number + 1, oldest_);
  if (wanted > newest_) return std::nullopt;
  const Kept& found = kept(wanted);
  Record record{.number = wanted, .time = found.time, .level = found.level};
  const auto parts = unpacked({text_.get() + found.begin, found.end - found.begin});
  record.words = parts[0];
  for (std::size_t i = 1; i + 1 < parts.size(); i += 2) record.fields.emplace_back(parts[i], parts[i + 1]);
  return record;
}

std::uint64_t LogHistory::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

}  // namespace plughost
