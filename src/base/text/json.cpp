#include "base/text/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/text/ascii.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Builds a value from the events of the parser. A handler stops the parser by returning false; `error_` then
// has the reason.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(const JsonTerms& terms) : terms_(terms) {}

  // Returns the value. Objects and arrays that are still open are closed.
  JsonPart take() {
    unwanted_ = 0;
    while (!open_.empty()) close();
    return {.value = std::move(root_), .bytes = bytes_, .error = std::move(error_)};
  }

  bool null() override { return add({}); }
  bool boolean(bool truth) override { return add(truth); }
  bool number_integer(number_integer_t number) override { return add(number); }
  bool number_unsigned(number_unsigned_t number) override {
    return std::in_range<std::int64_t>(number) ? add(number) : add_other_number(std::to_string(number));
  }
  bool number_float(number_float_t /*number*/, const string_t& text) override {
    return add_other_number(text);
  }
  bool string(string_t& text) override { return add(std::move(text)); }
  bool binary(binary_t& /*bytes*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(Json::Object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::Array()); }
  bool key(string_t& text) override {
    if (unwanted_ > 0) return true;
    Level& level = open_.back();
    skip_next_ = (!terms_.left_out.empty() && text == terms_.left_out) || !enter(level, text);
    if (!skip_next_) level.key = std::move(text);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  // The exception's text is not used: it contains the whole input, with its newlines.
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return fail("this is no JSON: byte " + std::to_string(position) + " does not fit");
  }

 private:
  // The path of a value, as in JsonTerms::kept.
  struct Place {
    std::string path;
    bool kept = false;  // the value and everything below it are kept
  };
  struct Level {
    std::variant<Json::Object, Json::Array> values;
    std::string key;  // the key of an object's next value
    Place place;
    Place next;  // the place of the next value
  };

  bool fail(std::string error) {
    error_ = std::move(error);
    return false;
  }

  // Returns false if the member is to be left out.
  bool enter(Level& level, const std::string& key) const {
    level.next = {.path = {}, .kept = level.place.kept};
    if (level.next.kept) return true;
    level.next.path = level.place.path.empty() ? key : level.place.path + '.' + key;
    const std::string& path = level.next.path;
    level.next.kept = std::ranges::find(terms_.kept, path) != terms_.kept.end();
    return level.next.kept || std::ranges::any_of(terms_.kept, [&](const std::string& each) {
             return each.size() > path.size() && each[path.size()] == '.' && each.starts_with(path);
           });
  }

  // Counts values that are left out as well, because parsing them takes time.
  bool count() {
    if (++values_ <= terms_.most_values) return true;
    return fail("this JSON has more than " + std::to_string(terms_.most_values) + " values");
  }

  bool add_other_number(const std::string& text) {
    if (!terms_.other_numbers_as_text) return fail(text + " is not a 64-bit integer");
    return add(text);
  }
  bool add(Json value) {
    if (!count()) return false;
    if (unwanted_ > 0 || std::exchange(skip_next_, false)) return true;
    if (!charge(value.text().size())) return false;
    put(std::move(value));
    return true;
  }
  // Adds the memory of the next value to bytes_. Fails above JsonTerms::most_kept.
  bool charge(std::size_t text) {
    bytes_ += sizeof(Json::Member) + text + (open_.empty() ? 0 : open_.back().key.size());
    if (bytes_ <= terms_.most_kept) return true;
    return fail("the parsed part of this JSON takes more than " + std::to_string(terms_.most_kept) +
                " bytes");
  }
  void put(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Level& level = open_.back();
    if (auto* const object = std::get_if<Json::Object>(&level.values))
      object->emplace_back(std::move(level.key), std::move(value));
    else
      std::get<Json::Array>(level.values).push_back(std::move(value));
  }

  // The limit of the depth protects functions that recurse over a value.
  template <typename Values>
  bool open(Values values) {
    if (!count()) return false;
    if (open_.size() + unwanted_ >= Json::kDeepest)
      return fail("this JSON is nested more than " + std::to_string(Json::kDeepest) + " deep");
    if (unwanted_ > 0 || std::exchange(skip_next_, false)) {
      ++unwanted_;
      return true;
    }
    if (!charge(0)) return false;
    const Place place = open_.empty() ? Place{.path = {}, .kept = terms_.kept.empty()} : open_.back().next;
    open_.push_back({.values = std::move(values), .key = {}, .place = place, .next = place});
    return true;
  }
  bool close() {
    if (unwanted_ > 0) {
      --unwanted_;
      return true;
    }
    Level level = std::move(open_.back());
    open_.pop_back();
    std::visit([this](auto& values) { put(std::move(values)); }, level.values);
    return true;
  }

  const JsonTerms& terms_;
  Json root_;
  std::vector<Level> open_;
  std::size_t unwanted_ = 0;  // number of open levels that are left out
  bool skip_next_ = false;    // the next value is left out
  std::size_t values_ = 0;
  std::size_t bytes_ = 0;
  std::string error_;
};

void append_character(std::string& text, char32_t code, std::string_view character) {
  static constexpr std::string_view kShort = "\b\t\n\f\r\"\\";
  static constexpr std::string_view kShortNames = "btnfr\"\\";
  const char c = character[0];
  if (const std::size_t at = kShort.find(c); at != std::string_view::npos) {
    text += '\\';
    text += kShortNames[at];
  } else if (is_unsafe(code)) {
    text += unicode_escape(code);
  } else {
    text += character;
  }
}

void append_string(std::string& text, std::string_view value) {
  text += '"';
  while (!value.empty()) {
    const auto [code, length] = first_character(value);
    if (length == 0)
      text += kReplacement;
    else
      append_character(text, code, value.substr(0, length));
    value.remove_prefix(std::max<std::size_t>(length, 1));
  }
  text += '"';
}

// Serializes values. If `depth` is set, each value has its own line, indented by the depth.
class Writer {
 public:
  explicit Writer(std::optional<std::size_t> depth) : depth_(depth) {}

  void write(const Json& value) { value.visit(*this); }
  std::string take() { return std::move(text_); }

  void operator()(std::nullptr_t) { text_ += "null"; }
  void operator()(bool truth) { text_ += truth ? "true" : "false"; }
  void operator()(std::int64_t number) { text_ += std::to_string(number); }
  void operator()(const std::string& text) { append_string(text_, text); }
  void operator()(const Json::Array& array) {
    all('[', array, ']', [this](const Json& value) { write(value); });
  }
  void operator()(const Json::Object& object) {
    all('{', object, '}', [this](const Json::Member& member) {
      append_string(text_, member.first);
      text_ += depth_ ? ": " : ":";
      write(member.second);
    });
  }

 private:
  template <typename Values, typename WriteOne>
  void all(char open, const Values& values, char close, WriteOne write_one) {
    text_ += open;
    if (depth_) ++*depth_;
    for (const auto& value : values) {
      if (&value != &values.front()) text_ += ',';
      new_line();
      write_one(value);
    }
    if (depth_) --*depth_;
    if (!values.empty()) new_line();
    text_ += close;
  }
  void new_line() {
    constexpr std::size_t kIndent = 2;
    if (depth_) text_ += '\n' + std::string(*depth_ * kIndent, ' ');
  }

  std::optional<std::size_t> depth_;
  std::string text_;
};

std::string written(const Json& value, std::optional<std::size_t> depth) {
  Writer writer(depth);
  writer.write(value);
  return writer.take();
}

// Returns the value if it has the type Value, and otherwise an empty Value.
template <typename Value, typename Variant>
const Value& value_or_none(const Variant& value) {
  static const Value kNone{};
  const Value* const found = std::get_if<Value>(&value);
  return found != nullptr ? *found : kNone;
}

// Returns the value, which must be null or of the type Value. Null becomes an empty Value first.
template <typename Value, typename Variant>
Value& made(Variant& value) {
  if (std::holds_alternative<std::nullptr_t>(value)) value = Value{};
  return std::get<Value>(value);
}

bool is_mark(char c) {
  return c == '"' || c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == '\n';
}

bool is_mark_in_string(char c) { return c == '"' || c == '\\' || c == '\n'; }

// Returns true if the text ends with the key of the items: `"items":` after '{' or ','.
bool ends_with_items_key(std::string_view text) {
  constexpr std::string_view kKey = "\"items\"";
  text = without_blanks(text);
  if (!text.ends_with(':')) return false;
  text = without_blanks(text.substr(0, text.size() - 1));
  if (!text.ends_with(kKey)) return false;
  text = without_blanks(text.substr(0, text.size() - kKey.size()));
  return text.ends_with('{') || text.ends_with(',');
}

}  // namespace

Json Json::parse(std::string_view text, const JsonTerms& terms) {
  JsonPart part = parse_json_part(text, terms);
  if (!part.error.empty()) throw std::runtime_error(part.error);
  return std::move(part.value);
}

JsonPart parse_json_part(std::string_view text, const JsonTerms& terms) {
  Builder builder(terms);
  nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

std::string Json::dump() const { return written(*this, std::nullopt); }

std::string Json::dump_indented() const { return written(*this, 0); }

const std::string& Json::text() const { return value_or_none<std::string>(value_); }

std::int64_t Json::number() const { return value_or_none<std::int64_t>(value_); }

bool Json::truth() const { return value_or_none<bool>(value_); }

const Json::Array& Json::array() const { return value_or_none<Array>(value_); }

const Json::Object& Json::object() const { return value_or_none<Object>(value_); }

const Json& Json::operator[](std::string_view name) const {
  static const Json kNull;
  const auto found = std::ranges::find(object(), name, &Member::first);
  return found == object().end() ? kNull : found->second;
}

Json& Json::operator[](std::string_view name) {
  Object& object = made<Object>(value_);
  const auto found = std::ranges::find(object, name, &Member::first);
  return found == object.end() ? object.emplace_back(name, Json()).second : found->second;
}

Json& Json::push_back(Json value) { return made<Array>(value_).emplace_back(std::move(value)); }

std::string json_string(std::string_view text) {
  std::string quoted;
  append_string(quoted, text);
  return quoted;
}

Json time_json(std::optional<WallTime> time) {
  if (!time || *time == WallTime()) return {};
  return utc_text(*time);
}

void JsonSplitter::feed(std::string_view bytes, const Take& take) {
  while (!bytes.empty()) {
    const bool is_plain = std::exchange(escaped_, false) && bytes.front() != '\n';
    const auto mark =
        is_plain ? bytes.begin() + 1 : std::ranges::find_if(bytes, in_string_ ? is_mark_in_string : is_mark);
    const auto length = static_cast<std::size_t>(mark - bytes.begin());
    append(bytes.substr(0, length));
    bytes.remove_prefix(length);
    if (is_plain || bytes.empty()) continue;
    if (bytes.front() == '\n' && form_ == Form::kLines)
      end_piece(take);
    else if (in_string_)
      read_in_string(bytes.front());
    else
      read_mark(bytes.front(), take);
    bytes.remove_prefix(1);
  }
}

void JsonSplitter::read_in_string(char mark) {
  if (mark == '"') in_string_ = false;
  append({&mark, 1});
  escaped_ = mark == '\\';
}

void JsonSplitter::read_mark(char mark, const Take& take) {
  const bool opens = mark == '{' || mark == '[';
  const bool closes = mark == '}' || mark == ']';
  if (in_items_ && depth_ == 0 && (closes || mark == ',')) {
    end_piece(take);
    if (mark == ',') return;
    in_items_ = false;
    depth_ = 2;
  }
  const bool begins_items =
      form_ == Form::kItems && !in_items_ && depth_ == 1 && mark == '[' && ends_with_items_key(rest_.text);
  if (opens) ++depth_;
  if (closes && depth_ > 0) --depth_;
  append({&mark, 1});
  if (mark == '"') {
    in_string_ = true;
    too_long_ = false;
    string_from_ = current().text.size();
  }
  if (begins_items) {
    in_items_ = true;
    depth_ = 0;
  }
}

void JsonSplitter::append(std::string_view bytes) {
  Piece& piece = current();
  if (!piece.whole) return;
  const bool is_rest = &piece == &rest_;
  if (in_string_ && !is_rest && piece.text.size() - string_from_ + bytes.size() > kLongestString) {
    too_long_ = true;
    piece.text.resize(string_from_);
  }
  if (in_string_ && too_long_) return;
  const std::size_t room = (is_rest ? kBeginning : most_) - piece.text.size();
  piece.whole = bytes.size() <= room;
  piece.text += bytes.substr(0, room);
  if (piece.whole) return;
  piece.text.resize(std::min(piece.text.size(), kBeginning));
  piece.text.shrink_to_fit();
}

void JsonSplitter::end_piece(const Take& take) {
  in_string_ = false;
  Piece piece = std::exchange(piece_, {});
  if (!without_blanks(piece.text).empty()) take(std::move(piece));
}

}  // namespace plughost
