#include "base/log_form.hpp"

#include <spdlog/pattern_formatter.h>
#include <vector>

#include "base/ascii.hpp"
#include "base/journal.hpp"
#include "base/json.hpp"
#include "base/log_levels.hpp"
#include "base/text.hpp"

namespace plughost {

namespace {

constexpr std::string_view kPlain = "\033[m";

std::string_view colour(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "\033[36m";
    case LogLevel::kInfo:
      return "\033[32m";
    case LogLevel::kWarn:
      return "\033[33m\033[1m";
    case LogLevel::kError:
      return "\033[31m\033[1m";
  }
  return kPlain;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// syslog(3)'s numbers.
int priority(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return 7;
    case LogLevel::kInfo:
      return 6;
    case LogLevel::kWarn:
      return 4;
    case LogLevel::kError:
      return 3;
  }
  return 3;
}

std::int64_t microseconds(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

std::string sentence(const LogMessage& message) {
  std::string line(message.words);
  for (const LogField& field : message.fields) {
    line += ' ';
    line += field.key;
    line += '=';
    line += one_word(field.value);
  }
  if (message.left_out > 0) line += " left_out=" + std::to_string(message.left_out);
  return line;
}

// "2026-11-21 18:00:00.000 info  attached …", in the machine's own time.
std::string terminal_line(LogForm form, const LogMessage& message) {
  const std::string said = sentence(message);
  spdlog::details::log_msg part(message.time, {}, {}, spdlog_level(message.level), said);
  spdlog::memory_buf_t line;
  spdlog::pattern_formatter("%Y-%m-%d %H:%M:%S.%e %^%-5l%$ %v").format(part, line);
  std::string text(line.data(), line.size());
  if (form == LogForm::kText) return text;
  text.insert(part.color_range_end, kPlain);
  return text.insert(part.color_range_start, colour(message.level));
}

std::string json_line(const LogMessage& message) {
  Json line;
  line["time"] = utc_text(microseconds(message.time));
  line["level"] = level_name(message.level);
  line["message"] = message.words;
  for (const LogField& field : message.fields) line[field.key] = field.value;
  if (message.left_out > 0) line["left_out"] = message.left_out;
  return line.dump() + '\n';
}

// "after_ms" is PLUGHOST_AFTER_MS.
std::string journal_name(std::string_view key) {
  std::string name = "PLUGHOST_";
  for (const char c : key) name += is_lower(c) || is_digit(c) ? to_upper(c) : '_';
  return name;
}

LogLine journal_line(const LogMessage& message) {
  const std::string number = std::to_string(priority(message.level));
  const std::string line = sentence(message);
  std::vector<std::string> names;
  for (const LogField& field : message.fields) names.push_back(journal_name(field.key));
  std::vector<Journal::Field> all{{"MESSAGE", line},
                                  {"PRIORITY", number},
                                  {"SYSLOG_IDENTIFIER", "plughost"},
                                  {"PLUGHOST_EVENT", message.words}};
  const std::string* name = names.data();
  for (const LogField& field : message.fields) all.emplace_back(*name++, field.value);
  return {.text = '<' + number + '>' + line + '\n', .datagram = Journal::datagram(all)};  // sd-daemon(3)
}

}  // namespace

std::string_view level_name(LogLevel level) {
  return word_of(kLogLevels, level);
}

LogLine formed(LogForm form, const LogMessage& message) {
  switch (form) {
    case LogForm::kText:
    case LogForm::kColours:
      return {.text = terminal_line(form, message), .datagram = {}};
    case LogForm::kJson:
      return {.text = json_line(message), .datagram = {}};
    case LogForm::kJournal:
      return journal_line(message);
  }
  return {};
}

}  // namespace plughost
