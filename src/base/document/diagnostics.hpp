#pragma once
// Everything that is wrong with a configuration, found in one pass. Not thread-safe.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/node.hpp"

namespace plughost {

struct Diagnostic {
  enum class Severity { kError, kWarning };

  Severity severity = Severity::kError;
  Mark mark;
  std::string path;  // "resources[2].groups[0].paths[1].path"; empty: the file as a whole
  std::string what;  // what is wrong, and what would be right

  std::string text() const;  // "file:line:col: path: what", always one line
};

class Diagnostics {
 public:
  // Of each severity so many are kept: a hostile file must not fill the memory and the log.
  static constexpr std::size_t kMostKept = 1000;

  void error(const Mark& mark, std::string path, std::string what);
  void warning(const Mark& mark, std::string path, std::string what);

  std::span<const Diagnostic> all() const { return all_; }
  bool has_errors() const { return error_count_ > 0; }
  // All of them, those that were not kept included.
  std::size_t error_count() const { return error_count_; }

 private:
  std::vector<Diagnostic> all_;
  std::size_t error_count_ = 0;
  std::size_t warning_count_ = 0;
};

// The text in single quotes as a message can show it: control characters as \xNN, a long text cut.
std::string quote(std::string_view text);

// " (did you mean 'permissions'?)" when one of the known words is close enough to a typing error; else "".
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

}  // namespace plughost
