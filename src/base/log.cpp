#include "base/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/ansicolor_sink.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/text.hpp"

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

std::string text_line(std::string_view words, Log::Fields fields, unsigned left_out) {
  std::string line(words);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    line += one_word(field.value);
  }
  if (left_out > 0) line += " left_out=" + std::to_string(left_out);
  return line;
}

std::string json_line(LogLevel level, std::string_view words, Log::Fields fields, unsigned left_out) {
  nlohmann::ordered_json line;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  line["time"] = utc_text(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  line["level"] = level_name(level);
  line["message"] = words;
  for (const LogField& field : fields) line[std::string(field.key)] = field.value;
  if (left_out > 0) line["left_out"] = left_out;
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// "after_ms" is PLUGHOST_AFTER_MS.
std::string journal_name(std::string_view key) {
  std::string name = "PLUGHOST_";
  for (const char c : key)
    name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c >= '0' && c <= '9' ? c : '_';
  return name;
}

bool send(const Journal& journal, LogLevel level, std::string_view words, Log::Fields fields,
          std::string_view line) {
  const std::string number = std::to_string(priority(level));
  std::vector<std::string> names;
  for (const LogField& field : fields) names.push_back(journal_name(field.key));
  std::vector<Journal::Field> all{
      {"MESSAGE", line}, {"PRIORITY", number}, {"SYSLOG_IDENTIFIER", "plughost"}, {"PLUGHOST_EVENT", words}};
  const std::string* name = names.data();
  for (const LogField& field : fields) all.emplace_back(*name++, field.value);
  return journal.send(all);
}

// How often each text was written lately.
class Bursts {
 public:
  // nullopt: not this one. Otherwise how many were left out before it.
  std::optional<unsigned> admit(std::string_view words) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (seen_.size() > kMostTexts) seen_.clear();
    Burst& burst = seen_[std::string(words)];
    if (now - burst.began >= Log::kBurstTime) {
      const unsigned left_out = burst.lines > Log::kBurst ? burst.lines - Log::kBurst : 0;
      burst = {now, 1};
      return left_out;
    }
    if (++burst.lines > Log::kBurst) return std::nullopt;
    return 0;
  }

 private:
  static constexpr std::size_t kMostTexts = 1000;
  struct Burst {
    std::chrono::steady_clock::time_point began{};
    unsigned lines = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Burst> seen_;
};

}  // namespace

std::string_view level_name(LogLevel level) {
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

struct Log::Sink {
  explicit Sink(std::filesystem::path socket) {
    if (stderr_is_journal()) journal.emplace(std::move(socket));
  }

  spdlog::logger logger{"plughost", std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>()};
  std::atomic<LogFormat> format;
  std::optional<Journal> journal;
  Bursts bursts;
};

Log::Log(LogLevel level, LogFormat format, std::filesystem::path journal)
    : sink_(std::make_unique<Sink>(std::move(journal))) {
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
  if (level == LogLevel::kWarn) warnings_.add();
  if (level == LogLevel::kError) errors_.add();
  const auto spd = spdlog_level(level);
  const bool told = sink_->logger.should_log(spd);
  if (!told && level == LogLevel::kDebug) return;
  const std::optional<unsigned> left_out = sink_->bursts.admit(words);
  if (!left_out) return;
  if (level != LogLevel::kDebug) history_.add(level, words, fields);
  if (!told) return;

  if (sink_->format == LogFormat::kJson)
    return sink_->logger.log(spd, json_line(level, words, fields, *left_out));
  const std::string line = text_line(words, fields, *left_out);
  if (!sink_->journal)
    sink_->logger.log(spd, line);
  else if (!send(*sink_->journal, level, words, fields, line))
    sink_->logger.log(spd, '<' + std::to_string(priority(level)) + '>' + line);  // sd-daemon(3)
}

}  // namespace plughost
