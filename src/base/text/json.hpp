#pragma once
// A JSON value: made, written and read. A value; not thread-safe.

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace plughost {

// How a text is read that is not trusted.
struct JsonTerms {
  std::size_t most_values = std::numeric_limits<std::size_t>::max();
  std::string_view left_out;           // members of this name; empty: none
  bool other_numbers_as_text = false;  // those that are no integers of 64 bits; otherwise they are refused
  // The members to keep, with everything below them: "status.phase", "spec.containers.name", where the
  // elements of an array have the array's path. The others are left out. Empty: all members are kept.
  std::span<const std::string> kept;
  std::size_t most_kept = std::numeric_limits<std::size_t>::max();  // bytes of memory, see JsonPart::bytes
};

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;  // in the order of writing

  Json() = default;  // null
  Json(const char* text) : value_(std::string(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(std::string text) : value_(std::move(text)) {}
  Json(Array array) : value_(std::move(array)) {}
  Json(Object object) : value_(std::move(object)) {}
  // {{"id", 1}, {"health", "Healthy"}}
  Json(std::initializer_list<Member> members) : value_(Object(members)) {}
  Json(std::same_as<bool> auto truth) : value_(truth) {}
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) Json(Number number) : value_(static_cast<std::int64_t>(number)) {}
  template <typename Value>
  Json(const std::optional<Value>& value) : Json(value ? Json(*value) : Json()) {}
  template <typename Value>
  Json(const std::vector<Value>& values) : value_(Array(values.begin(), values.end())) {}
  template <typename Value>
  Json(const std::map<std::string, Value>& values) : value_(Object(values.begin(), values.end())) {}

  // What is nested deeper is refused.
  static constexpr std::size_t kDeepest = 64;
  // Throws std::runtime_error, in a sentence on one line: it is no JSON, or the terms refuse it. Nothing
  // deeper or larger is ever built.
  static Json parse(std::string_view text, const JsonTerms& terms = {});
  // On one line, or with each member on a line of its own. What is not UTF-8 is replaced by U+FFFD.
  std::string dump() const;
  std::string dump_indented() const;

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  // What is something else, or is not there, is read as null, and that as "", 0, false and the empty array.
  const std::string& text() const;
  std::int64_t number() const;
  bool truth() const;
  const Array& array() const;
  const Object& object() const;
  const Json& operator[](std::string_view name) const;

  // Null becomes an object, or an array; nothing else may be asked for either.
  Json& operator[](std::string_view name);
  Json& push_back(Json value);

  // visitor is called with the value as it is kept: std::nullptr_t, bool, std::int64_t, std::string, Array or
  // Object.
  template <typename Visitor>
  void visit(Visitor& visitor) const {
    std::visit(visitor, value_);
  }

  bool operator==(const Json&) const = default;

 private:
  std::variant<std::nullptr_t, bool, std::int64_t, std::string, Array, Object> value_;
};

// What could be read of a text: all of it, or the values before the place where reading ended.
struct JsonPart {
  Json value;
  std::size_t bytes = 0;  // of memory that the value takes, roughly
  std::string error;      // why reading ended early, as a sentence on one line; empty: all of it was read
};
// Reads as Json::parse() does, but reports an error as JsonPart::error.
JsonPart parse_json_part(std::string_view text, const JsonTerms& terms);

using WallTime = std::chrono::system_clock::time_point;
// "2026-11-21T18:00:00.000000Z"; null: never, or not known.
Json time_json(std::optional<WallTime> time);

// The text in quotes. What is not UTF-8 is replaced by U+FFFD.
std::string json_string(std::string_view text);

// Splits a stream into JSON texts while it comes, and stores no more than one of them. A value; not
// thread-safe.
class JsonSplitter {
 public:
  // The beginning of a text that is larger than the limit is kept up to here: the names are in it.
  static constexpr std::size_t kBeginning = std::size_t{64} << 10u;
  // A string of more bytes, as the stream has it, becomes the empty string: whoever writes 1 MiB into a pod's
  // arguments does not enlarge what is stored of the pod.
  static constexpr std::size_t kLongestString = 1024;

  enum class Form {
    kLines,  // each line is a text
    kItems,  // each element of the array `items` of the outermost object is a text
  };
  struct Piece {
    std::string text;
    bool whole = true;  // false: it has more bytes than the limit, and these are the first
  };
  using Take = std::function<void(Piece piece)>;

  // most: bytes of a text, without its long strings.
  JsonSplitter(Form form, std::size_t most) : form_(form), most_(most) {}

  // Calls take with each text that is complete now. Does not check the JSON: a reader of the text does.
  void feed(std::string_view bytes, const Take& take);
  // The bytes of the text that is not complete yet.
  std::size_t held() const { return piece_.text.size(); }
  // The outermost object without its items, of at most kBeginning bytes.
  const Piece& rest() const { return rest_; }

 private:
  Piece& current() { return form_ == Form::kLines || in_items_ ? piece_ : rest_; }
  void read_in_string(char mark);
  void read_mark(char mark, const Take& take);
  void append(std::string_view bytes);
  void end_piece(const Take& take);

  Form form_;
  std::size_t most_;
  Piece piece_;
  Piece rest_;
  std::size_t depth_ = 0;
  bool in_items_ = false;
  bool in_string_ = false;
  bool escaped_ = false;         // the string's next byte
  std::size_t string_from_ = 0;  // in the current text
  bool too_long_ = false;        // the string
};

}  // namespace plughost
