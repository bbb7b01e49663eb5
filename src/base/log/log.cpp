#include "base/log/log.hpp"

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/log/log_sink.hpp"
#include "base/system/rate.hpp"

namespace plughost {
namespace {

// Limits how often each text is written.
class Bursts {
 public:
  // Returns nullopt to suppress the line, and otherwise how many such lines were suppressed before it.
  std::optional<unsigned> admit(std::string_view words) {
    const std::lock_guard lock(mutex_);
    if (seen_.size() > kMostTexts) seen_.clear();
    return seen_.try_emplace(std::string(words), Log::kBurst, Log::kBurstTime)
        .first->second.admit(Rate::Clock::now());
  }

 private:
  static constexpr std::size_t kMostTexts = 1000;
  std::mutex mutex_;
  std::map<std::string, Rate> seen_;
};

bool has_colours() {
  const char* const terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) != "dumb" && ::isatty(STDERR_FILENO) == 1;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  return static_cast<spdlog::level::level_enum>(level);
}

}  // namespace

struct Log::Sinks {
  explicit Sinks(std::optional<Journal> journal)
      : under_journal(journal.has_value()), written(std::move(journal), formatter_of(LogForm::kText)) {}

  LogForm form_of(LogFormat format) const {
    if (format == LogFormat::kJson) return LogForm::kJson;
    if (under_journal) return LogForm::kJournal;
    return has_colours() ? LogForm::kColours : LogForm::kText;
  }

  const bool under_journal;
  LogSink written;
  Bursts bursts;
};

Log::Log(LogLevel level, LogFormat format, std::filesystem::path journal)
    : sinks_(std::make_unique<Sinks>(stderr_is_journal() ? std::optional<Journal>(std::move(journal))
                                                         : std::nullopt)) {
  configure(level, format);
}

Log::~Log() = default;

void Log::configure(LogLevel level, LogFormat format) {
  sinks_->written.set_level(spdlog_level(level));
  sinks_->written.set_formatter(formatter_of(sinks_->form_of(format)));
}

void Log::write(LogLevel level, std::string_view words, Fields fields) {
  if (level == LogLevel::kWarn) warnings_.add();
  if (level == LogLevel::kError) errors_.add();
  if (level == LogLevel::kDebug && !sinks_->written.should_log(spdlog::level::debug)) return;
  const std::optional<unsigned> left_out = sinks_->bursts.admit(words);
  if (!left_out) return;
  std::string line = packed(words, fields);
  if (*left_out > 0) line += packed("", {{"left_out", std::to_string(*left_out)}});
  const spdlog::details::log_msg message("plughost", spdlog_level(level), line);
  if (level != LogLevel::kDebug) history_.add(level, line, message.time);
  if (sinks_->written.should_log(message.level)) sinks_->written.log(message);
}

}  // namespace plughost
