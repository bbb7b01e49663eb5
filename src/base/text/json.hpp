#pragma once
// JSON: a value that is built, serialized and parsed, and a splitter for streams of values. Values; not
// thread-safe.

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

// Limits for parsing untrusted text.
struct JsonTerms {
  std::size_t most_values = std::numeric_limits<std::size_t>::max();
  std::string_view left_out;           // name of the members to leave out at any depth; empty: none
  bool other_numbers_as_text = false;  // non-integers and integers beyond 64 bits become text, not errors
  // The members to keep, with everything below them: "status.phase", "spec.containers.name". The elements of
  // an array have the array's path. All other members are left out. Empty: all members are kept.
  std::span<const std::string> kept;
  std::size_t most_kept = std::numeric_limits<std::size_t>::max();  // in bytes of memory, see JsonPart::bytes
};

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;  // in insertion order

  Json() = default;  // null
  Json(const char* text) : value_(std::string(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(std::string text) : value_(std::move(text)) {}
  Json(Array array) : value_(std::move(array)) {}
  Json(Object object) : value_(std::move(object)) {}
  // An object: {{"id", 1}, {"health", "Healthy"}}
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

  // Deeper nesting is refused.
  static constexpr std::size_t kDeepest = 64;
  // Throws std::runtime_error, with a message of one line, if the text is not JSON or exceeds a limit of
  // `terms`. No memory is allocated for values beyond a limit.
  static Json parse(std::string_view text, const JsonTerms& terms = {});
  // Serializes the value on one line, or with one member per line. Invalid UTF-8 is replaced by U+FFFD.
  std::string dump() const;
  std::string dump_indented() const;

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  // A missing member, and a value of another type, read as null. Null reads as "", 0, false and the empty
  // array.
  const std::string& text() const;
  std::int64_t number() const;
  bool truth() const;
  const Array& array() const;
  const Object& object() const;
  const Json& operator[](std::string_view name) const;

  // Return the member, which is added as null if it is missing, or the appended value. Null becomes an object
  // or array first; any other type throws std::bad_variant_access.
  Json& operator[](std::string_view name);
  Json& push_back(Json value);

  // Calls visitor with the stored value: std::nullptr_t, bool, std::int64_t, std::string, Array or Object.
  template <typename Visitor>
  void visit(Visitor& visitor) const {
    std::visit(visitor, value_);
  }

  bool operator==(const Json&) const = default;

 private:
  std::variant<std::nullptr_t, bool, std::int64_t, std::string, Array, Object> value_;
};

// The part of a text that could be parsed: all of it, or the values before the error.
struct JsonPart {
  Json value;
  std::size_t bytes = 0;  // approximate memory of the value
  std::string error;      // why parsing stopped early, as one line; empty: the whole text was parsed
};
// Parses like Json::parse(), but returns an error in JsonPart::error.
JsonPart parse_json_part(std::string_view text, const JsonTerms& terms);

using WallTime = std::chrono::system_clock::time_point;
// Returns "2026-11-21T18:00:00.000000Z", or null for nullopt and for WallTime().
Json time_json(std::optional<WallTime> time);

// Returns the text as a quoted JSON string. Invalid UTF-8 is replaced by U+FFFD.
std::string json_string(std::string_view text);

// Splits a stream of bytes into JSON texts. Stores at most one incomplete text. A value; not thread-safe.
class JsonSplitter {
 public:
  // The number of bytes that are kept of a text above the limit: enough to contain the object's name.
  static constexpr std::size_t kBeginning = std::size_t{64} << 10u;
  // A string with more bytes (as serialized) becomes the empty string, so that a pod with 1 MiB of arguments
  // does not enlarge the stored pod.
  static constexpr std::size_t kLongestString = 1024;

  enum class Form {
    kLines,  // each line is a text
    kItems,  // each element of the array `items` of the outermost object is a text
  };
  struct Piece {
    std::string text;
    bool whole = true;  // false: the text exceeds the limit, and only its beginning is kept
  };
  using Take = std::function<void(Piece piece)>;

  // `most` is the limit for one text in bytes, without the text's long strings.
  JsonSplitter(Form form, std::size_t most) : form_(form), most_(most) {}

  // Calls `take` for each text that `bytes` completes. The JSON is not validated.
  void feed(std::string_view bytes, const Take& take);
  // Returns the number of bytes stored of the incomplete text.
  std::size_t held() const { return piece_.text.size(); }
  // Returns the outermost object without the elements of `items` (Form::kItems), at most kBeginning bytes.
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
  bool escaped_ = false;         // the next byte of the string is escaped
  std::size_t string_from_ = 0;  // where the current string begins in its text
  bool too_long_ = false;        // the current string is too long
};

}  // namespace plughost
