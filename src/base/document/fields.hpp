#pragma once
// Typed, strict reading of one map of a configuration. Every getter that finds something wrong reports it and
// returns its fallback, so that one pass finds all errors. Not thread-safe.

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "base/text/template.hpp"
#include "base/text/words.hpp"

namespace plughost {

class Fields {
 public:
  // Refers to node and diagnostics, which outlive it. Nothing (a key without a value) reads as an empty map;
  // what is no map is reported once, and nothing else is said of it.
  // path is the map's place in the document, for messages: "resources[2].directory".
  Fields(const Node& node, std::string path, Diagnostics& diagnostics);

  Fields& operator=(Fields&&) = delete;
  // Reports each key that no getter has asked for, with the word that was probably meant.
  ~Fields();

  bool has(std::string_view key);
  // The value as it stands, for what has no getter here; nullptr if absent.
  const Node* node(std::string_view key);

  // Absent: the fallback. require_text reports absence and emptiness.
  std::string text(std::string_view key, std::string_view fallback);
  std::string require_text(std::string_view key);
  bool flag(std::string_view key, bool fallback);
  // Decimal only; min <= n <= max, else it is reported with that range.
  unsigned number(std::string_view key, unsigned fallback, unsigned min, unsigned max);
  // "90s", "5m", "1h30m", "2d", "250ms"; a bare number is refused with a hint at the units. What is not from
  // min to max, or of more than 1000 days, is reported.
  std::chrono::milliseconds duration(std::string_view key, std::chrono::milliseconds fallback,
                                     std::chrono::milliseconds min, std::chrono::milliseconds max);
  // The same of whole seconds.
  std::chrono::seconds seconds(std::string_view key, std::chrono::seconds fallback, std::chrono::seconds min,
                               std::chrono::seconds max);
  // What one of the words stands for; another word is reported with the list of them.
  template <typename Value, std::size_t n>
  Value choice(std::string_view key, const Word<Value> (&words)[n], Value fallback) {
    std::string_view known[n];
    std::ranges::transform(words, known, &Word<Value>::word);
    return value_of(words, chosen(key, known)).value_or(fallback);
  }
  // A template whose placeholders are all among known; others are reported with the list of known ones.
  Template pattern(std::string_view key, std::string_view fallback, std::span<const std::string_view> known);
  // An absolute path that is normal in form; others are reported. Without the final '/' that it may have.
  std::string absolute_path(std::string_view key, std::string_view fallback);
  // `permissions` of device nodes, as a container runtime takes them: of r, w and m; absent: rw.
  std::string permissions();
  // A list of scalars; a single scalar is a list of one.
  std::vector<std::string> texts(std::string_view key);
  // The items of a list; absent or nothing: none. Anything but a list is reported.
  const std::vector<Node>& items(std::string_view key);
  // The members of a map of names and, say, "counts"; absent or nothing: none. Anything but a map is
  // reported.
  const std::vector<Node::Member>& members(std::string_view key, std::string_view values);
  // The map that stands there; absent: an empty one. It refers to what this one refers to.
  Fields below(std::string_view key);

  // At the key's value, or at the map if absent. Of a value that a getter has refused no more is said.
  void error(std::string_view key, std::string what);
  void warning(std::string_view key, std::string what);
  const Mark& mark() const { return node_.mark; }
  std::string path_of(std::string_view key) const;
  Diagnostics& diagnostics() { return diagnostics_; }

 private:
  // The value, if it is a scalar; anything else that is there is reported.
  const Node* scalar(std::string_view key);
  // Empty: the key is not there, or has none of the words.
  std::string_view chosen(std::string_view key, std::span<const std::string_view> words);
  void refuse(std::string_view key, std::string what);

  const Node& node_;
  std::string path_;
  Diagnostics& diagnostics_;
  std::vector<std::string> asked_;  // in the order of the questions, some of them several times
  std::set<std::string, std::less<>> refused_;
};

// Parses text as a template and reports what is wrong with it at mark: unknown placeholders with the known
// ones. Empty if something is.
Template read_template(std::string_view text, std::span<const std::string_view> known, const Mark& mark,
                       const std::string& path, Diagnostics& diagnostics);

// What `duration` reads: numbers with units, the units falling, at most 1000 days. nullopt: it is no such
// text.
std::optional<std::chrono::milliseconds> duration_of(std::string_view text);

// Ids of hardware, in hexadecimal as people write them: 15b3, 0x15B3, "0451". They are read from the text
// itself: YAML's numbers would make 0451 octal and 1209 decimal.
// The digits in lower case. nullopt unless the text has as many digits as that; after 0x leading zeros may be
// missing.
std::optional<std::string> hex_digits(std::string_view text, std::size_t digits);

// A vendor's or a product's id in sysfs's form, four digits in lower case. Absent: empty; what is none is
// reported.
std::string read_hex_id(Fields& fields, std::string_view key);
// A list of them, or one.
std::vector<std::string> read_hex_ids(Fields& fields, std::string_view key);

// What to say of a list, a map or nothing where a scalar should stand.
std::string not_a_scalar(const Node& node);

// Why the text is no absolute path in normal form, as a sentence; empty: it is one. A final '/' is allowed.
std::string path_error(std::string_view path);

}  // namespace plughost
