#include "base/log.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/journal.hpp"
#include "base/log_writer.hpp"
#include "base/rate.hpp"

namespace plughost {

namespace {

constexpr std::string_view kLeftOut =
    "lines of the log are missing here: whoever takes them took none for too long";

// How often each text was written lately.
class Bursts {
 public:
  // nullopt: not this one. Otherwise how many were left out before it.
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

}  // namespace

struct Log::Sink {
  explicit Sink(std::optional<Journal> journal)
      : under_journal(journal.has_value()), writer(std::move(journal), [form = form](std::size_t lines) {
          return formed(*form, {.level = LogLevel::kWarn,
                                .words = kLeftOut,
                                .fields = {{"lines", std::to_string(lines)}},
                                .time = std::chrono::system_clock::now()});
        }) {}

  LogForm form_of(LogFormat format) const {
    if (format == LogFormat::kJson) return LogForm::kJson;
    if (under_journal) return LogForm::kJournal;
    return has_colours() ? LogForm::kColours : LogForm::kText;
  }

  bool under_journal;
  std::atomic<LogLevel> level;
  std::shared_ptr<std::atomic<LogForm>> form = std::make_shared<std::atomic<LogForm>>();
  Bursts bursts;
  LogWriter writer;
};

Log::Log(LogLevel level, LogFormat format, std::filesystem::path journal)
    : sink_(std::make_unique<Sink>(stderr_is_journal() ? std::optional<Journal>(std::move(journal))
                                                       : std::nullopt)) {
  configure(level, format);
}

Log::~Log() = default;

void Log::configure(LogLevel level, LogFormat format) {
  sink_->level = level;
  *sink_->form = sink_->form_of(format);
}

void Log::write(LogLevel level, std::string_view words, Fields fields) {
  if (level == LogLevel::kWarn) warnings_.add();
  if (level == LogLevel::kError) errors_.add();
  const bool told = level >= sink_->level;
  if (!told && level == LogLevel::kDebug) return;
  const std::optional<unsigned> left_out = sink_->bursts.admit(words);
  if (!left_out) return;
  if (level != LogLevel::kDebug) history_.add(level, words, fields);
  if (!told) return;
  sink_->writer.write(formed(*sink_->form, {.level = level,
                                            .words = words,
                                            .fields = fields,
                                            .left_out = *left_out,
                                            .time = std::chrono::system_clock::now()}));
}

}  // namespace plughost
