#include "log/log_form.hpp"

#include <spdlog/pattern_formatter.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/systemd.hpp"
#include "log/log_line.hpp"
#include "text/ascii.hpp"
#include "text/json.hpp"
#include "text/text.hpp"

namespace plughost {
namespace {

using spdlog::memory_buf_t;
using spdlog::details::log_msg;

// What each level has, from debug on.
constexpr std::array kColours = {"\033[36m", "\033[32m", "\033[33m\033[1m", "\033[31m\033[1m"};
constexpr const char* kPlain = "\033[m";
constexpr std::array kPriorities = {"7", "6", "4", "3"};  // syslog(3)'s

std::size_t place_of(const log_msg& line) {
  return static_cast<std::size_t>(line.level) - static_cast<std::size_t>(LogLevel::kDebug);
}

std::vector<std::string_view> parts_of(const log_msg& line) {
  return unpacked({line.payload.data(), line.payload.size()});
}

void append(memory_buf_t& out, std::string_view text) { out.append(text.data(), text.data() + text.size()); }

std::string sentence(const std::vector<std::string_view>& parts) {
  std::string text(parts[0]);
  for (std::size_t i = 1; i + 1 < parts.size(); i += 2)
    text += ' ' + std::string(parts[i]) + '=' + one_word(parts[i + 1]);
  return text;
}

class Sentence final : public spdlog::custom_flag_formatter {
 public:
  void format(const log_msg& line, const std::tm&, memory_buf_t& out) override {
    append(out, sentence(parts_of(line)));
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<Sentence>(); }
};

class Level final : public spdlog::custom_flag_formatter {
 public:
  explicit Level(bool colours) : colours_(colours) {}
  void format(const log_msg& line, const std::tm&, memory_buf_t& out) override {
    if (colours_) append(out, kColours[place_of(line)]);
    std::string name(level_name(static_cast<LogLevel>(line.level)));
    name.resize(5, ' ');
    append(out, name);
    if (colours_) append(out, kPlain);
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<Level>(colours_); }

 private:
  bool colours_;
};

// "2026-11-21 18:00:00.000 info  attached …".
std::unique_ptr<spdlog::formatter> text_formatter(bool colours) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<Sentence>('v').add_flag<Level>('l', colours).set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v");
  return formatter;
}

std::string json_line(const log_msg& line) {
  const std::vector<std::string_view> parts = parts_of(line);
  const auto time = std::chrono::duration_cast<std::chrono::microseconds>(line.time.time_since_epoch());
  Json json{{"time", utc_text(time.count())},
            {"level", level_name(static_cast<LogLevel>(line.level))},
            {"message", parts[0]}};
  for (std::size_t i = 1; i + 1 < parts.size(); i += 2) json[parts[i]] = parts[i + 1];
  return json.dump() + '\n';
}

// "after_ms" is PLUGHOST_AFTER_MS.
std::string journal_name(std::string_view key) {
  std::string name = "PLUGHOST_";
  for (const char c : key) name += is_lower(c) || is_digit(c) ? to_upper(c) : '_';
  return name;
}

std::string journal_line(const log_msg& line) {
  const std::vector<std::string_view> parts = parts_of(line);
  const char* const priority = kPriorities[place_of(line)];
  const std::string text = sentence(parts);
  std::string datagram = Journal::field("MESSAGE", text) + Journal::field("PRIORITY", priority) +
                         Journal::field("SYSLOG_IDENTIFIER", "plughost") +
                         Journal::field("PLUGHOST_EVENT", parts[0]);
  for (std::size_t i = 1; i + 1 < parts.size(); i += 2)
    datagram += Journal::field(journal_name(parts[i]), parts[i + 1]);
  return '<' + std::string(priority) + '>' + text + '\n' + '\0' + datagram;
}

template <auto line_of>
class LineFormatter final : public spdlog::formatter {
 public:
  void format(const log_msg& line, memory_buf_t& out) override { append(out, line_of(line)); }
  std::unique_ptr<formatter> clone() const override { return std::make_unique<LineFormatter>(); }
};

}  // namespace

std::string packed(std::string_view words, LogFields fields) {
  std::string text;
  const auto add = [&](std::string_view word) {
    for (const char c : word) text += c == '\0' ? ' ' : c;
  };
  add(words);
  for (const LogField& field : fields) {
    for (const std::string_view part : {field.key, std::string_view(field.value)}) {
      text += '\0';
      add(part);
    }
  }
  return text;
}

std::vector<std::string_view> unpacked(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find('\0');
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view level_name(LogLevel level) { return word_of(kLogLevels, level); }

std::unique_ptr<spdlog::formatter> formatter_of(LogForm form) {
  switch (form) {
    case LogForm::kText:
      return text_formatter(false);
    case LogForm::kColours:
      return text_formatter(true);
    case LogForm::kJson:
      return std::make_unique<LineFormatter<json_line>>();
    case LogForm::kJournal:
      return std::make_unique<LineFormatter<journal_line>>();
  }
  return text_formatter(false);
}

}  // namespace plughost
