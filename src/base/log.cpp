#include "base/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace plughost {

namespace {

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

// sd-daemon(3): the journal reads a line's priority from its first characters.
const char* journal_priority(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "<7>";
    case LogLevel::kInfo:
      return "<6>";
    case LogLevel::kWarn:
      return "<4>";
    case LogLevel::kError:
      return "<3>";
  }
  return "<3>";
}

const char* level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

// One line stays one line, and a space in a value does not end it.
std::string one_word(std::string_view value) {
  const bool plain = !value.empty() && std::none_of(value.begin(), value.end(), [](char c) {
    return c <= ' ' || c == '"' || c == '\\' || c == '=' || c == 0x7f;
  });
  if (plain) return std::string(value);
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string text_line(std::string_view words, Log::Fields fields) {
  std::string line(words);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    line += one_word(field.value);
  }
  return line;
}

std::string json_line(LogLevel level, std::string_view words, Log::Fields fields) {
  nlohmann::ordered_json line;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  char stamp[40];
  tm utc{};
  ::gmtime_r(&now.tv_sec, &utc);
  const std::size_t length = std::strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(stamp + length, sizeof stamp - length, ".%06ldZ", now.tv_nsec / 1000);
  line["time"] = stamp;
  line["level"] = level_name(level);
  line["message"] = words;
  for (const LogField& field : fields) line[std::string(field.key)] = field.value;
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool to_journal() {
  return std::getenv("JOURNAL_STREAM") != nullptr && ::isatty(STDERR_FILENO) == 0;
}

}  // namespace

struct Log::Sink {
  spdlog::logger logger{"plughost", std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>()};
  std::atomic<LogFormat> format;
  bool journal = to_journal();
};

Log::Log(LogLevel level, LogFormat format) : sink_(std::make_unique<Sink>()) {
  configure(level, format);
}

Log::~Log() = default;

void Log::configure(LogLevel level, LogFormat format) {
  sink_->format = format;
  sink_->logger.set_level(spdlog_level(level));
  const bool bare = format == LogFormat::kJson || sink_->journal;
  sink_->logger.set_pattern(bare ? "%v" : "%Y-%m-%d %H:%M:%S.%e %^%-5l%$ %v");
  sink_->logger.flush_on(spdlog::level::debug);
}

void Log::write(LogLevel level, std::string_view words, Fields fields) {
  const auto spd = spdlog_level(level);
  if (!sink_->logger.should_log(spd)) return;
  if (sink_->format == LogFormat::kJson)
    sink_->logger.log(spd, json_line(level, words, fields));
  else
    sink_->logger.log(spd, (sink_->journal ? journal_priority(level) : "") + text_line(words, fields));
}

}  // namespace plughost
