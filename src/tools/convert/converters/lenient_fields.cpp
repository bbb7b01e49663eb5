#include "tools/convert/converters/lenient_fields.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text/ascii.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

bool same_word(std::string_view a, std::string_view b) { return to_lower(a) == to_lower(b); }

}  // namespace

LenientFields::LenientFields(const Node& node, std::string path, Diagnostics& diagnostics)
    : node_(node), path_(std::move(path)), diagnostics_(diagnostics) {
  if (node.kind == Node::Kind::kScalar || node.kind == Node::Kind::kSequence)
    diagnostics_.error(node.mark, path_, std::string("must be a map, not ") + node.kind_name());
}

const Node* LenientFields::node(std::string_view key) {
  asked_.emplace_back(key);
  const auto found = std::ranges::find_if(
      node_.members, [&](const Node::Member& member) { return same_word(member.first.scalar, key); });
  if (found == node_.members.end() || found->second.kind == Node::Kind::kNull) return nullptr;
  return &found->second;
}

const Node* LenientFields::scalar(std::string_view key) {
  const Node* const value = node(key);
  if (!value || value->kind == Node::Kind::kScalar) return value;
  refuse(*value, key, "a single value");
  return nullptr;
}

std::optional<std::string> LenientFields::text(std::string_view key) {
  const Node* const value = scalar(key);
  return value ? std::optional(value->scalar) : std::nullopt;
}

std::string LenientFields::require_text(std::string_view key) {
  const Node* const value = node(key);
  const bool is_map = node_.kind == Node::Kind::kMap || node_.kind == Node::Kind::kNull;
  const bool other = value && value->kind != Node::Kind::kScalar;
  const auto found = text(key);
  if (is_map && !other && found.value_or("").empty())
    diagnostics_.error(node_.mark, path_, "the key '" + std::string(key) + "' is missing or empty");
  return found.value_or("");
}

std::optional<bool> LenientFields::flag(std::string_view key) {
  const Node* const value = scalar(key);
  if (!value) return std::nullopt;
  if (same_word(value->scalar, "true")) return true;
  if (!same_word(value->scalar, "false"))
    error(*value, key, "must be true or false, not " + quote(value->scalar));
  return false;
}

std::optional<unsigned> LenientFields::number(std::string_view key) {
  const Node* const value = scalar(key);
  if (!value) return std::nullopt;
  if (!is_digits(value->scalar)) error(*value, key, "must be a whole number, not " + quote(value->scalar));
  return number_in<unsigned>(value->scalar).value_or(std::numeric_limits<unsigned>::max());
}

std::vector<std::string> LenientFields::texts(std::string_view key) {
  const Node* const value = node(key);
  if (value && value->kind == Node::Kind::kScalar) return {value->scalar};
  std::vector<std::string> texts;
  for (const Node& item : items(key)) {
    if (item.kind == Node::Kind::kScalar)
      texts.push_back(item.scalar);
    else
      refuse(item, key, "a list of texts");
  }
  return texts;
}

const std::vector<Node>& LenientFields::items(std::string_view key) {
  const Node& value = or_nothing(node(key));
  if (value.kind != Node::Kind::kSequence && value.kind != Node::Kind::kNull) refuse(value, key, "a list");
  return value.items;
}

void LenientFields::error(const Node& at, std::string_view key, std::string what) {
  diagnostics_.error(at.mark, path_of(key), std::move(what));
}

void LenientFields::refuse(const Node& at, std::string_view key, const char* wanted) {
  error(at, key, std::string("must be ") + wanted + ", not " + at.kind_name());
}

std::string LenientFields::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + '.' + std::string(key);
}

Notes LenientFields::notes() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : node_.members) {
    const bool known = std::ranges::any_of(
        asked_, [&, &name = key.scalar](const std::string& asked) { return same_word(asked, name); });
    if (!known) keys.push_back(quote(key.scalar));
  }
  if (keys.empty()) return {};
  return {loss(joined(keys, ", ") + ": plughost has nothing of that name; left out.")};
}

}  // namespace plughost
