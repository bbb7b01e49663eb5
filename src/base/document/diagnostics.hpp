#pragma once
// All errors and warnings of a configuration, collected in one pass. Not thread-safe.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/node.hpp"

namespace plughost {

struct Diagnostic {
  enum class Severity { kError, kWarning };
  enum class Mistake { kOther, kUnknownKey, kNoMap, kNoList, kNoKind };

  Severity severity = Severity::kError;
  Mark mark;
  std::string path;  // "resources[2].groups[0].paths[1].path"; empty: the whole file
  std::string what;  // what is wrong, and what would be right
  Mistake mistake = Mistake::kOther;
  // For kUnknownKey: the beginning of the key, the last key before it that has no value, and the keys that
  // are valid there; none if `what` has a better hint. For kNoMap: the beginning of the text in its place.
  std::string key;
  std::string empty;
  std::vector<std::string> known;

  std::string message() const;  // `what`, and the known keys
  std::string text() const;     // "file:line:col: path: what", always one line
};

class Shapes;

class Diagnostics {
 public:
  // While set, Fields records its keys there, and finds every key: see Shapes. It must outlive this object.
  Shapes* shapes = nullptr;

  // The maximum number kept per severity: a hostile file must not fill the memory and the log.
  static constexpr std::size_t kMostKept = 1000;

  void error(const Mark& mark, std::string path, std::string what);
  void error(Diagnostic error);
  void warning(const Mark& mark, std::string path, std::string what);

  std::span<const Diagnostic> all() const { return all_; }
  bool has_errors() const { return error_count_ > 0; }
  // Includes errors that were not kept.
  std::size_t error_count() const { return error_count_; }

 private:
  std::vector<Diagnostic> all_;
  std::size_t error_count_ = 0;
  std::size_t warning_count_ = 0;
};

// Returns the text in single quotes for a message, with control characters as \xNN; a long text is cut.
std::string quote(std::string_view text);

// Returns the optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours.
std::size_t typing_errors(std::string_view a, std::string_view b);
// Returns " (did you mean 'permissions'?)" if a known word differs by a typing error, and "" otherwise.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);
// Returns "there is no resource x.com/c; there are x.com/a, x.com/b", with at most 16 names of `known`.
std::string no_such(const std::string& what, const std::string& name, std::span<const std::string> known);

}  // namespace plughost
