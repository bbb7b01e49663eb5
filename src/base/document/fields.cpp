#include "base/document/fields.hpp"

#include <utility>

#include "base/text/ascii.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

using std::chrono::milliseconds;
using Type = Shape::Type;

constexpr std::size_t kUsualQuestions = 32;
constexpr std::size_t kLongestKey = 100;  // bytes that are kept of an unknown key
constexpr milliseconds kLongestDuration = std::chrono::days(1000);
constexpr std::pair<std::string_view, milliseconds> kUnits[] = {
    {"d", std::chrono::days(1)},    {"h", std::chrono::hours(1)}, {"m", std::chrono::minutes(1)},
    {"s", std::chrono::seconds(1)}, {"ms", milliseconds(1)},
};

std::string shown(const Node& node) {
  return node.kind == Node::Kind::kScalar ? quote(node.scalar) : node.kind_name();
}

// Parses digits without a leading zero, because other parsers read 010 as eight.
std::optional<unsigned> decimal(std::string_view text) {
  if (text.starts_with('0') && text.size() > 1) return std::nullopt;
  return number_in<unsigned>(text);
}

// Writes the duration in the largest unit of which it is a multiple: "90s", "1d".
std::string written(milliseconds duration) {
  for (const auto& [word, unit] : kUnits) {
    if (duration % unit == milliseconds::zero() && duration >= unit)
      return std::to_string(duration / unit) + std::string(word);
  }
  return "0s";
}

std::string flag_hint(const Node& value) {
  static constexpr std::string_view kYes[] = {"yes", "Yes",  "YES",  "on", "On",
                                              "ON",  "True", "TRUE", "y",  "1"};
  static constexpr std::string_view kNo[] = {"no",  "No",    "NO",    "off", "Off",
                                             "OFF", "False", "FALSE", "n",   "0"};
  if (value.quoted) return "; leave out the quotes";
  if (std::ranges::find(kYes, value.scalar) != std::end(kYes)) return "; write true";
  if (std::ranges::find(kNo, value.scalar) != std::end(kNo)) return "; write false";
  return "";
}

constexpr std::size_t kIdDigits = 4;  // PCI and USB ids have 16 bits

std::string id_of(Fields& fields, std::string_view key, const std::string& text) {
  if (auto id = hex_digits(text, kIdDigits)) return *std::move(id);
  std::string what = " is not a hardware id, which has four hexadecimal digits, as in 15b3 or 0x15b3";
  if (text.size() == 2 * kIdDigits + 1 && text[kIdDigits] == ':')
    what = " is two ids: that of the vendor, " + text.substr(0, kIdDigits) + ", in `" +
           (key.ends_with('s') ? "vendors`, that of the device in `devices`"
                               : "vendor`, the other in `product`");
  fields.error(key, quote(text) + what);
  return {};
}

}  // namespace

std::optional<milliseconds> duration_of(std::string_view text) {
  milliseconds total{0};
  milliseconds last_unit = milliseconds::max();
  while (!text.empty()) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::string_view rest = text.substr(digits);
    const std::string_view word = rest.substr(0, rest.find_first_of("0123456789"));
    const auto* const unit =
        std::ranges::find(kUnits, word, &std::pair<std::string_view, milliseconds>::first);
    const auto count = decimal(text.substr(0, digits));
    if (!count || unit == std::end(kUnits) || unit->second >= last_unit) return std::nullopt;
    if (*count > kLongestDuration / unit->second) return std::nullopt;
    total += *count * unit->second;
    last_unit = unit->second;
    text = rest.substr(word.size());
  }
  if (last_unit == milliseconds::max() || total > kLongestDuration) return std::nullopt;
  return total;
}

Fields::Fields(const Node& node, std::string path, Diagnostics& diagnostics)
    : node_(node), path_(std::move(path)), diagnostics_(diagnostics) {
  asked_.reserve(kUsualQuestions);
  if (diagnostics_.shapes) diagnostics_.shapes->record(path_, Type::kMap);
  if (node.kind == Node::Kind::kScalar || node.kind == Node::Kind::kSequence)
    diagnostics_.error({.mark = node.mark,
                        .path = path_,
                        .what = "must be a map, not " + shown(node),
                        .mistake = Diagnostic::Mistake::kNoMap,
                        .key = node.scalar.substr(0, kLongestKey)});
}

Fields::~Fields() {
  std::string empty;  // the last key without a value
  for (const auto& [key, value] : node_.members) {
    if (std::ranges::find(asked_, key.scalar) != asked_.end()) {
      if (value.kind == Node::Kind::kNull) empty = key.scalar;
      continue;
    }
    const std::string word = key.scalar.substr(0, kLongestKey);  // a hostile file may repeat a long key
    Diagnostic error{.mark = key.mark,
                     .path = path_,
                     .what = "unknown key " + quote(key.scalar),
                     .mistake = Diagnostic::Mistake::kUnknownKey,
                     .key = word,
                     .empty = empty};
    std::vector<std::string_view> absent;  // the keys that may have been meant
    for (const std::string& each : asked_) {
      if (std::ranges::find(error.known, each) != error.known.end()) continue;
      error.known.push_back(each);
      if (!node_.find(each)) absent.push_back(each);
    }
    std::string hint = did_you_mean(key.scalar, absent);
    // YAML takes "path:/dev/kvm" for one word.
    const std::size_t colon = word.find(':');
    const std::string before = word.substr(0, colon);
    if (colon != std::string::npos && std::ranges::find(error.known, before) != error.known.end())
      hint = ": a blank is missing after the colon; write " + before + ": " + word.substr(colon + 1);
    if (!hint.empty()) error.known.clear();
    error.what += hint;
    diagnostics_.error(std::move(error));
  }
}

bool Fields::has(std::string_view key) {
  if (!diagnostics_.shapes) return node(key) != nullptr;
  asked_.emplace_back(key);
  return diagnostics_.shapes->has(path_of(key));
}

void Fields::record(std::string_view key, Type type, const std::function<Shape()>& shape) {
  if (diagnostics_.shapes) diagnostics_.shapes->record(path_of(key), type, shape ? shape() : Shape());
}

const Node* Fields::node(std::string_view key) {
  asked_.emplace_back(key);
  if (diagnostics_.shapes) return diagnostics_.shapes->node(path_of(key));
  return node_.find(key);
}

const Node* Fields::scalar(std::string_view key) {
  const Node* const value = node(key);
  if (!value || value->kind == Node::Kind::kScalar) return value;
  refuse(key, value->kind == Node::Kind::kNull ? "the key has no value" : not_a_scalar(*value));
  return nullptr;
}

std::string Fields::text(std::string_view key, std::string_view fallback) {
  record(key, Type::kText);
  const Node* const value = scalar(key);
  return value ? value->scalar : std::string(fallback);
}

std::string Fields::require_text(std::string_view key) {
  record(key, Type::kText);
  const bool is_asked = std::ranges::find(asked_, key) != asked_.end();  // if so, it is optional
  if (diagnostics_.shapes && !is_asked) diagnostics_.shapes->require(path_of(key));
  if (!has(key)) refuse(key, "the key '" + std::string(key) + "' is missing");
  const Node* const value = scalar(key);
  if (!value) return {};
  if (value->scalar.empty()) refuse(key, "the value is empty");
  return value->scalar;
}

bool Fields::flag(std::string_view key, bool fallback) {
  record(key, Type::kFlag);
  const Node* const value = node(key);
  if (!value) return fallback;
  if (value->kind == Node::Kind::kScalar && !value->quoted) {
    if (value->scalar == "true") return true;
    if (value->scalar == "false") return false;
  }
  refuse(key, "must be true or false, not " + shown(*value) + flag_hint(*value));
  return fallback;
}

unsigned Fields::number(std::string_view key, unsigned fallback, unsigned min, unsigned max) {
  record(key, Type::kNumber, [&] { return Shape{.min = min, .max = max}; });
  const Node* const value = scalar(key);
  if (!value) return fallback;
  const auto number = decimal(value->scalar);
  if (number && *number >= min && *number <= max) return *number;
  const std::string range = std::to_string(min) + " to " + std::to_string(max);
  const bool digits = is_digits(value->scalar) && !value->scalar.starts_with('0');
  if (number || digits) {
    refuse(key, quote(value->scalar) + " is out of range; it can be " + range);
  } else {
    refuse(key, "must be a whole number from " + range + ", in decimal digits without a leading 0, not " +
                    shown(*value));
  }
  return fallback;
}

milliseconds Fields::duration(std::string_view key, milliseconds fallback, milliseconds min,
                              milliseconds max) {
  record(key, Type::kDuration, [&] { return Shape{.ranges = {written(min) + " to " + written(max)}}; });
  const Node* const value = scalar(key);
  if (!value) return fallback;
  if (const auto parsed = duration_of(value->scalar)) {
    if (*parsed >= min && *parsed <= max) return *parsed;
    refuse(key, "the range is from " + written(min) + " to " + written(max));
    return fallback;
  }
  std::string hint;
  if (decimal(value->scalar)) hint = "; add a unit: ms, s, m, h or d";
  refuse(key, "must be a duration such as 90s, 5m, 1h30m or 2d, not " + shown(*value) + hint);
  return fallback;
}

std::chrono::seconds Fields::seconds(std::string_view key, std::chrono::seconds fallback,
                                     std::chrono::seconds min, std::chrono::seconds max) {
  const milliseconds exact = duration(key, fallback, min, max);
  const auto whole = std::chrono::floor<std::chrono::seconds>(exact);
  if (whole == exact) return whole;
  refuse(key, "must be whole seconds, as in 90s");
  return fallback;
}

std::string_view Fields::chosen(std::string_view key, std::span<const std::string_view> words) {
  record(key, Type::kWord, [&] { return Shape{.words = {words.begin(), words.end()}}; });
  const Node* const value = scalar(key);
  if (!value) return {};
  const auto found = std::ranges::find(words, value->scalar);
  if (found != words.end()) return *found;
  refuse(key, shown(*value) + " is not one of " + joined(words, ", ") + did_you_mean(value->scalar, words));
  return {};
}

Template Fields::pattern(std::string_view key, std::string_view fallback,
                         std::span<const std::string_view> known) {
  record(key, Type::kText);
  const Node* const value = scalar(key);
  if (!value) return Template(fallback);
  const std::size_t errors = diagnostics_.error_count();
  Template pattern = read_template(value->scalar, known, value->mark, path_of(key), diagnostics_);
  if (diagnostics_.error_count() == errors) return pattern;
  refused_.emplace(key);
  return Template(fallback);
}

std::string Fields::absolute_path(std::string_view key, std::string_view fallback) {
  record(key, Type::kText);
  const Node* const value = scalar(key);
  if (!value) return std::string(fallback);
  if (std::string error = path_error(value->scalar); !error.empty()) {
    refuse(key, std::move(error));
    return std::string(fallback);
  }
  std::string path = value->scalar;
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

std::string Fields::permissions() {
  std::string permissions = text("permissions", "rw");
  if (permissions.empty() || permissions.find_first_not_of("rwm") != std::string::npos)
    refuse("permissions",
           "permissions are one or more of r (read), w (write) and m (make the node), as in rw");
  return permissions;
}

std::vector<std::string> Fields::texts(std::string_view key) {
  record(key, Type::kText);
  record(key, Type::kList);
  if (diagnostics_.shapes) record(std::string(key) + "[]", Type::kText);
  const Node* const value = node(key);
  if (!value || value->kind == Node::Kind::kNull) return {};
  if (value->kind == Node::Kind::kScalar) return {value->scalar};
  std::vector<std::string> texts;
  for (std::size_t i = 0; const Node& item : items(key)) {
    const std::string path = path_of(key) + '[' + std::to_string(i++) + ']';
    if (item.kind == Node::Kind::kScalar)
      texts.push_back(item.scalar);
    else
      diagnostics_.error(item.mark, path, not_a_scalar(item));
  }
  return texts;
}

const std::vector<Node>& Fields::items(std::string_view key) {
  record(key, Type::kList);
  const Node& value = or_nothing(node(key));
  if (value.kind != Node::Kind::kSequence && value.kind != Node::Kind::kNull)
    refuse(key, "must be a list, each item after '- ', not " + shown(value), Diagnostic::Mistake::kNoList);
  return value.items;
}

const std::vector<Node::Member>& Fields::members(std::string_view key, std::string_view values) {
  record(key, Type::kMap);
  if (diagnostics_.shapes) record(std::string(key) + ".*", Type::kText);
  const Node& value = or_nothing(node(key));
  if (value.kind != Node::Kind::kMap && value.kind != Node::Kind::kNull)
    report(key, "must be a map of names and " + std::string(values) + ", not " + value.kind_name(),
           Diagnostic::Mistake::kNoMap);
  return value.members;
}

Fields Fields::below(std::string_view key) { return {or_nothing(node(key)), path_of(key), diagnostics_}; }

void Fields::error(std::string_view key, std::string what) {
  report(key, std::move(what), Diagnostic::Mistake::kOther);
}

void Fields::report(std::string_view key, std::string what, Diagnostic::Mistake mistake) {
  const Node* const value = node(key);
  const bool is_map = node_.kind == Node::Kind::kMap || node_.kind == Node::Kind::kNull;
  if (!is_map || refused_.contains(key)) return;
  diagnostics_.error({.mark = value ? value->mark : node_.mark,
                      .path = path_of(key),
                      .what = std::move(what),
                      .mistake = mistake});
}

void Fields::warning(std::string_view key, std::string what) {
  const Node* const value = node(key);
  diagnostics_.warning(value ? value->mark : node_.mark, path_of(key), std::move(what));
}

void Fields::refuse(std::string_view key, std::string what, Diagnostic::Mistake mistake) {
  report(key, std::move(what), mistake);
  refused_.emplace(key);
}

std::string Fields::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + '.' + std::string(key);
}

Template read_template(std::string_view text, std::span<const std::string_view> known, const Mark& mark,
                       const std::string& path, Diagnostics& diagnostics) try {
  Template pattern(text);
  std::set<std::string_view> unknown;
  for (const std::string_view name : pattern.placeholders()) {
    if (std::ranges::find(known, name) == known.end()) unknown.insert(name);
  }
  if (unknown.empty()) return pattern;
  std::string list;
  for (const std::string_view name : known) list += (list.empty() ? "{" : ", {") + std::string(name) + '}';
  for (const std::string_view name : unknown) {
    diagnostics.error(mark, path,
                      "unknown placeholder " + quote('{' + std::string(name) + '}') +
                          did_you_mean(name, known) +
                          (known.empty() ? "; there is none" : "; valid: " + list) + "; '{{' is a brace");
  }
  return {};
} catch (const TemplateError& wrong) {
  diagnostics.error(mark, path, wrong.what());
  return {};
}

std::string not_a_scalar(const Node& node) {
  std::string what = "must be a single value, not " + node.kind_name();
  if (node.in_braces) what += "; a text that begins with '{' needs quotes";
  return what;
}

std::optional<std::string> hex_digits(std::string_view text, std::size_t digits) {
  const bool prefixed = text.starts_with("0x") || text.starts_with("0X");
  if (prefixed) text.remove_prefix(2);
  if (text.empty() || text.size() > digits || (!prefixed && text.size() < digits)) return std::nullopt;
  std::string normal(digits - text.size(), '0');
  for (const char c : text) {
    if (!is_hex_digit(c)) return std::nullopt;
    normal += to_lower(c);
  }
  return normal;
}

std::string read_hex_id(Fields& fields, std::string_view key) {
  const std::size_t errors = fields.diagnostics().error_count();
  const std::string text = fields.text(key, "");
  return fields.has(key) && fields.diagnostics().error_count() == errors ? id_of(fields, key, text) : "";
}

std::vector<std::string> read_hex_ids(Fields& fields, std::string_view key) {
  std::vector<std::string> ids;
  for (const std::string& text : fields.texts(key)) ids.push_back(id_of(fields, key, text));
  return ids;
}

std::string path_error(std::string_view path) {
  if (!path.starts_with('/')) return "must be an absolute path, not " + quote(path);
  if (path.find(":/") != std::string_view::npos || path.ends_with(":ro") || path.ends_with(":rw"))
    return "is one path, not " + quote(path) +
           "; the path in the container, and permissions, have keys of their own";
  for (const std::string_view part : split(path.substr(1), '/')) {
    if (part.empty() || part == "." || part == "..")
      return "the path is not in its plain form; write it without '//', '.' and '..'";
  }
  return {};
}

}  // namespace plughost
