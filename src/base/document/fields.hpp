#pragma once
// Strict, typed access to one map of a configuration. A getter that finds an error reports it and returns its
// fallback, so that one pass finds all errors. Not thread-safe.

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "base/document/shapes.hpp"
#include "base/text/template.hpp"
#include "base/text/words.hpp"

namespace plughost {

class Fields {
 public:
  // `node` and `diagnostics` must outlive this object. A node without a value reads as an empty map; any
  // other node that is not a map is reported once. `path` is the map's place in the document for messages,
  // such as "resources[2].directory".
  Fields(const Node& node, std::string path, Diagnostics& diagnostics);

  Fields& operator=(Fields&&) = delete;
  // Reports each key that no getter has requested, with the word that was probably meant.
  ~Fields();

  bool has(std::string_view key);
  // Returns the value without checking it; nullptr if the key is absent.
  const Node* node(std::string_view key);

  // text() returns the fallback if the key is absent. require_text() reports absence and emptiness.
  std::string text(std::string_view key, std::string_view fallback);
  std::string require_text(std::string_view key);
  bool flag(std::string_view key, bool fallback);
  // Returns a decimal number from min to max. Anything else is reported with that range.
  unsigned number(std::string_view key, unsigned fallback, unsigned min, unsigned max);
  // Parses "90s", "5m", "1h30m", "2d", "250ms". A bare number is refused with a hint at the units. A value
  // outside min to max, or above 1000 days, is reported.
  std::chrono::milliseconds duration(std::string_view key, std::chrono::milliseconds fallback,
                                     std::chrono::milliseconds min, std::chrono::milliseconds max);
  // Reads a duration like duration(), and refuses fractions of a second.
  std::chrono::seconds seconds(std::string_view key, std::chrono::seconds fallback, std::chrono::seconds min,
                               std::chrono::seconds max);
  // Returns the enumeration's value for the key's word. An unknown word is reported with the list of words.
  template <typename Value, std::size_t n>
  Value choice(std::string_view key, const Word<Value> (&words)[n], Value fallback) {
    std::string_view known[n];
    std::ranges::transform(words, known, &Word<Value>::word);
    return value_of(words, chosen(key, known)).value_or(fallback);
  }
  // Returns a template. A placeholder that is not among `known` is reported, with the list of `known`.
  Template pattern(std::string_view key, std::string_view fallback, std::span<const std::string_view> known);
  // Returns an absolute path in normal form, without a trailing '/'. Anything else is reported.
  std::string absolute_path(std::string_view key, std::string_view fallback);
  // Parses `permissions` of device nodes in the form of container runtimes: letters of "rwm"; absent: "rw".
  std::string permissions();
  // Returns a list of scalars; a single scalar counts as a list of one.
  std::vector<std::string> texts(std::string_view key);
  // Returns the items of a list; none if the key is absent or has no value. Anything but a list is reported.
  const std::vector<Node>& items(std::string_view key);
  // Returns the members of a map from names to `values` (such as "counts"); none if the key is absent or has
  // no value. Anything but a map is reported.
  const std::vector<Node::Member>& members(std::string_view key, std::string_view values);
  // Returns the map at the key, or an empty map if the key is absent. Both maps report to `diagnostics()`.
  Fields below(std::string_view key);

  // Reports an error at the key's value, or at the map if the key is absent. Nothing is reported for a value
  // that a getter has already refused.
  void error(std::string_view key, std::string what);
  void warning(std::string_view key, std::string what);
  const Mark& mark() const { return node_.mark; }
  std::string path_of(std::string_view key) const;
  Diagnostics& diagnostics() { return diagnostics_; }

 private:
  // Records the key's type if the diagnostics record shapes; `shape` returns its words or range.
  void record(std::string_view key, Shape::Type type, const std::function<Shape()>& shape = nullptr);
  // Returns the value if it is a scalar. Any other value is reported.
  const Node* scalar(std::string_view key);
  // Returns "" if the key is absent, or if its value is not among the words.
  std::string_view chosen(std::string_view key, std::span<const std::string_view> words);
  void report(std::string_view key, std::string what, Diagnostic::Mistake mistake);
  // Reports an error after which no other is reported for the key.
  void refuse(std::string_view key, std::string what,
              Diagnostic::Mistake mistake = Diagnostic::Mistake::kOther);

  const Node& node_;
  std::string path_;
  Diagnostics& diagnostics_;
  std::vector<std::string> asked_;  // requested keys in the order of the calls, with repetitions
  std::set<std::string, std::less<>> refused_;
};

// Parses a template and reports errors at `mark`; the error for an unknown placeholder has the list of
// `known`. Returns an empty template on an error.
Template read_template(std::string_view text, std::span<const std::string_view> known, const Mark& mark,
                       const std::string& path, Diagnostics& diagnostics);

// Parses a duration: numbers with units in descending order, at most 1000 days. Returns nullopt if the text
// is malformed.
std::optional<std::chrono::milliseconds> duration_of(std::string_view text);

// Hexadecimal hardware ids as people write them: 15b3, 0x15B3, "0451". They are parsed from the text, because
// YAML's numbers would make 0451 octal and 1209 decimal.
//
// Returns the digits in lower case, or nullopt if the text has more or fewer than `digits` digits. After 0x,
// leading zeros may be missing.
std::optional<std::string> hex_digits(std::string_view text, std::size_t digits);

// Returns a vendor or product id in sysfs's form, four digits in lower case; "" if the key is absent, or if
// its id is malformed, which is reported.
std::string read_hex_id(Fields& fields, std::string_view key);
// Returns the ids of a list, or a single id, like read_hex_id().
std::vector<std::string> read_hex_ids(Fields& fields, std::string_view key);

// Returns the message for a list, a map or nothing in the place of a scalar.
std::string not_a_scalar(const Node& node);

// Returns why `path` is not an absolute path in normal form, as a sentence; "" if `path` is such a path. A
// trailing '/' is allowed.
std::string path_error(std::string_view path);

}  // namespace plughost
