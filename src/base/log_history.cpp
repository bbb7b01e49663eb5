#include "base/log_history.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace plughost {

namespace {

constexpr char kBetween = '\0';

// A null in a word would end it.
void append(std::string& text, std::string_view word) {
  const std::size_t start = text.size();
  text += word;
  std::replace(text.begin() + static_cast<std::ptrdiff_t>(start), text.end(), kBetween, ' ');
}

std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(kBetween), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

}  // namespace

Json LogHistory::Record::json() const {
  const auto since_1970 = std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch());
  Json told{{"time", utc_text(since_1970.count())},
            {"level", level_name(level)},
            {"message", words},
            {"fields", Json::Object()}};
  for (const auto& [key, value] : fields) told["fields"][key] = value;
  return told;
}

void LogHistory::add(LogLevel level, std::string_view words, LogFields fields) {
  std::string text;
  append(text, words);
  for (const LogField& field : fields) {
    text += kBetween;
    append(text, field.key);
    text += kBetween;
    append(text, field.value);
  }
  text.shrink_to_fit();
  {
    const std::lock_guard lock(mutex_);
    kept_.push_back({std::chrono::system_clock::now(), level, std::move(text)});
    ++newest_;
    if (kept_.size() > kMost) kept_.pop_front();
  }
  readers_.tell();
}

std::optional<LogHistory::Record> LogHistory::after(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  if (number >= newest_) return std::nullopt;
  const std::uint64_t oldest = newest_ - kept_.size() + 1;
  const std::uint64_t wanted = std::max(number + 1, oldest);
  const Kept& kept = kept_[wanted - oldest];
  Record record{.number = wanted, .time = kept.time, .level = kept.level};
  std::string_view rest = kept.text;
  record.words = take_word(rest);
  const auto pairs = static_cast<std::size_t>(std::ranges::count(kept.text, kBetween)) / 2;
  for (std::size_t i = 0; i < pairs; ++i) {
    std::string key(take_word(rest));
    record.fields.emplace_back(std::move(key), take_word(rest));
  }
  return record;
}

std::uint64_t LogHistory::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

}  // namespace plughost
