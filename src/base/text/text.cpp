#include "base/text/text.hpp"

#include <cstdio>
#include <ctime>
#include <ostream>

#include "base/text/ascii.hpp"
#include "base/text/json.hpp"
#include "base/text/printable_stream.hpp"

namespace plughost {

std::string one_word(std::string_view text) {
  const bool plain = !text.empty() && std::ranges::none_of(text, [](char c) {
    return c <= ' ' || c == '"' || c == '\\' || c == '=' || c == 0x7f;
  });
  if (plain) return std::string(text);
  return json_string(text);
}

bool is_unsafe(char32_t code) {
  const auto within = [code](char32_t first, char32_t last) { return code >= first && code <= last; };
  return code < ' ' || within(0x7f, 0x9f) || code == 0x61c || within(0x200e, 0x200f) ||
         within(0x2028, 0x202e) || within(0x2066, 0x2069);
}

std::string printable(std::string_view text, std::string_view kept) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto [code, length] = first_character(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(length, 1));
    const bool safe = length > 0 && (!is_unsafe(code) || kept.find(bytes) != std::string_view::npos);
    if (safe) shown += bytes;
    for (const char c : safe ? std::string_view() : bytes) shown += "\\x" + upper_hex(c);
    text.remove_prefix(bytes.size());
  }
  return shown;
}

std::string unicode_escape(char32_t code) {
  std::string escape = "\\u";
  for (const unsigned shift : {12u, 8u, 4u, 0u}) escape += lower_hex(code >> shift);
  return escape;
}

std::string utc_text(std::int64_t microseconds) {
  const std::time_t seconds = microseconds / 1'000'000;
  tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[48];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + length, sizeof text - length, ".%06dZ", static_cast<int>(microseconds % 1'000'000));
  return text;
}

std::optional<std::int64_t> microseconds_of(const std::string& utc_text) {
  tm utc{};
  const char* const rest = ::strptime(utc_text.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
  const std::string_view fraction = rest == nullptr ? "" : rest;  // ".000001Z"
  if (fraction.size() != 8 || !fraction.starts_with('.') || !fraction.ends_with('Z')) return std::nullopt;
  const auto micros = number_in<unsigned>(fraction.substr(1, 6));  // without sign and blanks
  if (!micros) return std::nullopt;
  return std::int64_t{::timegm(&utc)} * 1'000'000 + *micros;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    parts.push_back(text.substr(0, text.find(separator)));
    text.remove_prefix(std::min(parts.back().size() + 1, text.size()));
  }
  return parts;
}

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const auto bits = [&](std::size_t i) { return byte(i) & 0x3Fu; };
  const unsigned first = byte(0);
  const unsigned second = byte(1);
  if (text.empty()) return {};
  if (first < 0x80) return {first, 1};
  if (first < 0xC2) return {};
  if (first < 0xE0) return continues(1) ? Character{(first & 0x1Fu) << 6 | bits(1), 2} : Character{};
  if (first < 0xF0) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second > 0x9F;
    if (!continues(1) || !continues(2) || overlong || surrogate) return {};
    return {(first & 0x0Fu) << 12 | bits(1) << 6 | bits(2), 3};
  }
  const bool overlong = first == 0xF0 && second < 0x90;
  const bool too_high = first > 0xF4 || (first == 0xF4 && second > 0x8F);
  if (!continues(1) || !continues(2) || !continues(3) || overlong || too_high) return {};
  return {(first & 0x07u) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3), 4};
}

std::string_view whole_characters(std::string_view text, std::size_t most) {
  std::size_t length = 0;
  while (length < text.size()) {
    const std::size_t next = first_character(text.substr(length)).length;
    if (next == 0 || length + next > most) break;
    length += next;
  }
  return text.substr(0, length);
}

namespace {

// Returns the width in characters, not bytes: continuation bytes of UTF-8 have no width.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string without_wildcards(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

std::string id_text(const std::string& id, unsigned replicas) {
  return replicas > 1 ? id + " (x" + std::to_string(replicas) + ")" : id;
}

std::string health_text(const std::string& error) {
  return error.empty() ? "Healthy" : "Unhealthy: " + error;
}

void print_table(std::ostream& out, const TableRow& head, const std::vector<TableRow>& rows,
                 Colour (*colour_of)(std::string_view cell)) {
  std::vector<TableRow> all{head};
  for (const TableRow& row : rows) {
    TableRow& shown = all.emplace_back();
    for (const std::string& cell : row) shown.push_back(cell.empty() ? "-" : printable(cell));
  }
  std::vector<std::size_t> widths(head.size(), 0);
  for (const TableRow& row : all) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  for (const TableRow& row : all) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out << Coloured{colour_of ? colour_of(row[i]) : Colour::kNone, row[i]};
      if (i + 1 < row.size()) out << std::string(widths[i] - width(row[i]) + 2, ' ');
    }
    out << '\n';
  }
}

}  // namespace plughost
