#include "base/log/log_sink.hpp"

#include <poll.h>
#include <spdlog/pattern_formatter.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/text/ascii.hpp"
#include "base/text/json.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

using spdlog::memory_buf_t;
using spdlog::details::log_msg;

// The colours of the levels, beginning with debug.
constexpr std::array kColours = {"\033[36m", "\033[32m", "\033[33m\033[1m", "\033[31m\033[1m"};
constexpr const char* kPlain = "\033[m";
constexpr std::array kPriorities = {"7", "6", "4", "3"};  // syslog(3)

std::size_t place_of(const log_msg& line) {
  return static_cast<std::size_t>(line.level) - static_cast<std::size_t>(LogLevel::kDebug);
}

std::vector<std::string_view> parts_of(const log_msg& line) {
  return unpacked({line.payload.data(), line.payload.size()});
}

std::string sentence(const std::vector<std::string_view>& parts) {
  std::string text(parts[0]);
  for (std::size_t i = 1; i + 1 < parts.size(); i += 2)
    text += ' ' + std::string(parts[i]) + '=' + one_word(parts[i + 1]);
  return text;
}

// Returns a line such as "2026-11-21T18:00:00.000Z info  attached …", with the clock of the events and of
// JSON.
template <bool coloured>
std::string text_line(const log_msg& line) {
  constexpr std::size_t kToMilliseconds = 23;
  std::string level(level_name(static_cast<LogLevel>(line.level)));
  level.resize(5, ' ');
  if (coloured) level = kColours[place_of(line)] + level + kPlain;
  return utc_text(line.time).substr(0, kToMilliseconds) + "Z " + level + ' ' + sentence(parts_of(line)) +
         '\n';
}

// Fields that are numbers. A name or an id is text, even if it has digits only.
constexpr std::string_view kNumbers[] = {"added",   "after_ms", "changed", "code",      "containers", "count",
                                         "entries", "errors",   "events",  "held_back", "left_out",   "lines",
                                         "port",    "removed",  "seconds", "unchanged", "wait_ms"};

Json json_value(std::string_view key, std::string_view text) {
  const bool numeric = std::ranges::find(kNumbers, key) != std::end(kNumbers);
  const auto number = numeric ? number_in<std::int64_t>(text) : std::nullopt;
  return number ? Json(*number) : Json(text);
}

std::string json_line(const log_msg& line) {
  const std::vector<std::string_view> parts = parts_of(line);
  Json json{{"time", utc_text(line.time)},
            {"level", level_name(static_cast<LogLevel>(line.level))},
            {"message", parts[0]}};
  for (std::size_t i = 1; i + 1 < parts.size(); i += 2) json[parts[i]] = json_value(parts[i], parts[i + 1]);
  return json.dump() + '\n';
}

// Returns a field's name in the journal: PLUGHOST_AFTER_MS for "after_ms".
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
  void format(const log_msg& line, memory_buf_t& out) override {
    const std::string text = line_of(line);
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<formatter> clone() const override { return std::make_unique<LineFormatter>(); }
};

// Writes to standard error, and waits while the reader has no room. Any other failure loses the text.
void write_out(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // another process has made the shared descriptor non-blocking
      pollfd room{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
      ::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

// The loop handles the signals, and SIGPIPE must not end the process when the reader disappears.
void block_all_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

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
  if (form == LogForm::kJson) return std::make_unique<LineFormatter<json_line>>();
  if (form == LogForm::kJournal) return std::make_unique<LineFormatter<journal_line>>();
  if (form == LogForm::kColours) return std::make_unique<LineFormatter<text_line<true>>>();
  return std::make_unique<LineFormatter<text_line<false>>>();
}

// Shared with the thread, which is detached and may outlive the sink.
struct LogSink::State {
  std::optional<Journal> journal;

  std::mutex mutex;
  std::condition_variable changed;
  std::unique_ptr<spdlog::formatter> formatter;
  LogQueue queue;
  bool has_thread = false;
  bool finishing = false;  // the thread ends when the queue has been written, or at once if `abandoned`
  bool abandoned = false;

  // The mutex must be held.
  std::string formatted(const spdlog::details::log_msg& line) const {
    spdlog::memory_buf_t text;
    formatter->format(line, text);
    return {text.data(), text.size()};
  }
  std::string missing(std::size_t lines) const {
    const std::string text =
        packed("log lines dropped: the reader is too slow", {{"lines", std::to_string(lines)}});
    return formatted({{}, spdlog::level::warn, text});
  }
  void put(std::string_view line) const {
    const std::size_t end = std::min(line.find('\0'), line.size());
    if (end == line.size() || !journal || !journal->send(line.substr(end + 1)))
      write_out(line.substr(0, end));
  }
};

LogSink::LogSink(std::optional<Journal> journal, std::unique_ptr<spdlog::formatter> formatter)
    : state_(std::make_shared<State>()) {
  state_->journal = std::move(journal);
  state_->formatter = std::move(formatter);
}

LogSink::~LogSink() {
  start_thread_if_needed();
  std::unique_lock lock(state_->mutex);
  state_->finishing = true;
  state_->changed.notify_all();
  if (!state_->changed.wait_for(lock, kLastDeadline, [this] { return !state_->has_thread; }))
    state_->abandoned = true;
}

void LogSink::log(const spdlog::details::log_msg& line) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->queue.push(state_->formatted(line));
    state_->changed.notify_all();
  }
  start_thread_if_needed();
}

void LogSink::set_pattern(const std::string& pattern) {
  set_formatter(std::make_unique<spdlog::pattern_formatter>(pattern));
}

void LogSink::set_formatter(std::unique_ptr<spdlog::formatter> formatter) {
  const std::lock_guard lock(state_->mutex);
  state_->formatter = std::move(formatter);
}

void LogSink::start_thread_if_needed() {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->has_thread || state_->queue.empty()) return;
    state_->has_thread = true;
  }
  try {
    std::thread([state = state_] { work(*state); }).detach();
  } catch (const std::system_error&) {
    // No thread could be started: log() retries with the next line.
    const std::lock_guard lock(state_->mutex);
    state_->has_thread = false;
  }
}

void LogSink::work(State& state) {
  block_all_signals();
  std::unique_lock lock(state.mutex);
  for (;;) {
    state.changed.wait(lock, [&] { return state.finishing || !state.queue.empty(); });
    const std::optional<LogQueue::Next> next = state.abandoned ? std::nullopt : state.queue.pop();
    if (!next) break;
    const std::string notice = next->left_out > 0 ? state.missing(next->left_out) : "";
    lock.unlock();
    if (!notice.empty()) state.put(notice);
    if (next->line) state.put(*next->line);
    lock.lock();
  }
  state.has_thread = false;
  state.changed.notify_all();
}

}  // namespace plughost
