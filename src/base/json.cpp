#include "base/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/ascii.hpp"
#include "base/utf8.hpp"

namespace plughost {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

Json from_parsed(const nlohmann::ordered_json& parsed) {
  using Type = nlohmann::ordered_json::value_t;
  switch (parsed.type()) {
    case Type::boolean:
      return parsed.get<bool>();
    case Type::string:
      return parsed.get_ref<const std::string&>();
    case Type::array: {
      Json::Array array;
      for (const auto& each : parsed) array.push_back(from_parsed(each));
      return array;
    }
    case Type::object: {
      Json::Object object;
      for (const auto& [name, value] : parsed.items()) object.emplace_back(name, from_parsed(value));
      return object;
    }
    case Type::number_unsigned:
      if (!std::in_range<std::int64_t>(parsed.get<std::uint64_t>())) break;
      [[fallthrough]];
    case Type::number_integer:
      return parsed.get<std::int64_t>();
    case Type::null:
      return {};
    case Type::number_float:
    case Type::binary:
    case Type::discarded:
      break;
  }
  throw std::runtime_error(parsed.dump() + " is no integer of 64 bits");
}

void append_character(std::string& text, std::string_view character) {
  static constexpr std::string_view kShort = "\b\t\n\f\r\"\\";
  static constexpr std::string_view kShortNames = "btnfr\"\\";
  const char c = character[0];
  if (const std::size_t at = kShort.find(c); at != std::string_view::npos) {
    text += '\\';
    text += kShortNames[at];
  } else if (static_cast<unsigned char>(c) < 0x20) {
    text += "\\u00";
    text += lower_hex(static_cast<unsigned char>(c) >> 4u);
    text += lower_hex(static_cast<unsigned char>(c));
  } else {
    text += character;
  }
}

void append_string(std::string& text, std::string_view value) {
  text += '"';
  while (!value.empty()) {
    const std::size_t length = first_character(value).length;
    if (length == 0)
      text += kReplacement;
    else
      append_character(text, value.substr(0, length));
    value.remove_prefix(std::max<std::size_t>(length, 1));
  }
  text += '"';
}

// Values, each on a line of its own if there is a depth.
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

// The value if it is of that type, or what such a value is by default.
template <typename Value, typename Variant>
const Value& value_or_none(const Variant& value) {
  static const Value kNone{};
  const Value* const found = std::get_if<Value>(&value);
  return found != nullptr ? *found : kNone;
}

// Null becomes a value of that type.
template <typename Value, typename Variant>
Value& made(Variant& value) {
  if (std::holds_alternative<std::nullptr_t>(value)) value = Value{};
  return std::get<Value>(value);
}

}  // namespace

Json Json::parse(std::string_view text) {
  // Whoever goes through a value goes as deep as it is nested.
  using Event = nlohmann::ordered_json::parse_event_t;
  const auto look = [](int depth, Event event, const nlohmann::ordered_json&) {
    const bool begins = event == Event::array_start || event == Event::object_start;
    if (begins && depth >= kDeepest)
      throw std::runtime_error("this JSON is nested more than " + std::to_string(kDeepest) + " deep");
    return true;
  };
  try {
    return from_parsed(nlohmann::ordered_json::parse(text, look));
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(std::string("this is no JSON: ") + error.what());
  }
}

std::string Json::dump() const {
  return written(*this, std::nullopt);
}

std::string Json::dump_indented() const {
  return written(*this, 0);
}

const std::string& Json::text() const {
  return value_or_none<std::string>(value_);
}

std::int64_t Json::number() const {
  return value_or_none<std::int64_t>(value_);
}

bool Json::truth() const {
  return value_or_none<bool>(value_);
}

const Json::Array& Json::array() const {
  return value_or_none<Array>(value_);
}

const Json::Object& Json::object() const {
  return value_or_none<Object>(value_);
}

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

Json& Json::push_back(Json value) {
  return made<Array>(value_).emplace_back(std::move(value));
}

std::string json_string(std::string_view text) {
  std::string quoted;
  append_string(quoted, text);
  return quoted;
}

}  // namespace plughost
