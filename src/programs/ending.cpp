#include "programs/ending.hpp"

#include <system_error>

#include "device/output_line.hpp"

namespace plughost {
namespace {

std::string size_text(std::size_t bytes) {
  return bytes % (1u << 20) == 0 ? std::to_string(bytes >> 20) + " MiB" : std::to_string(bytes) + " bytes";
}

}  // namespace

std::string why_failed(const Spoken& spoken, const Ending& ending) {
  using enum Ending::How;
  const std::string what(spoken.what);
  if (ending.how == kNotStarted || ending.how == kNoMeans)
    return what + " cannot be started: " + std::generic_category().message(ending.number);
  if (ending.how == kHangs)
    return what + " was not started: it hangs, and those that were killed have not ended";
  const std::string words = last_words(ending.errors);
  if (ending.how == kOverdue)
    return what + " was killed" + std::string(spoken.late) + duration_text(ending.timeout) + words;
  const bool apart = spoken.words == Program::Errors::kApart;
  if (ending.excess && apart)
    return what + " was killed: it printed more than " + size_text(ending.output.size()) + words;
  if (ending.how == kExited && ending.number == 0) return {};
  if (std::string line = apart ? "" : first_line(ending.output); !line.empty()) return line;
  if (ending.how == kUntold) return what + " has ended, and nobody knows how" + words;
  return what + (ending.how == kExited ? " exited with " : " was ended by signal ") +
         std::to_string(ending.number) + words;
}

std::string last_words(std::string_view errors) {
  const std::string line = last_line(errors);
  return line.empty() ? "" : ": " + line;
}

std::string duration_text(std::chrono::milliseconds duration) {
  const auto count = duration.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + " s" : std::to_string(count) + " ms";
}

}  // namespace plughost
