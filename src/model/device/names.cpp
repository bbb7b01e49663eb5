#include "model/device/names.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/text/ascii.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

// Returns true if the character (one UTF-8 sequence) can be in an id unescaped. C0, DEL, C1, the escape
// character and the list separator cannot.
bool stands_for_itself(std::string_view character) {
  if (character.size() == 1) {
    const char c = character[0];
    return c > ' ' && c != '\x7f' && c != '%' && c != ',';
  }
  return !(character[0] == '\xC2' && static_cast<unsigned char>(character[1]) < 0xA0);
}

// The kubelet validates the name with the prefix "requests.", as in a quota: 253 - 9.
constexpr std::size_t kLongestDomain = 244;
constexpr std::size_t kLongestPart = 63;

bool is_part_character(char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; }

}  // namespace

std::string hex_digits(std::uint64_t value) {
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += lower_hex(value >> shift);
  return digits;
}

std::string_view append_copy(std::string& texts, std::string_view text) {
  const std::size_t at = texts.size();
  texts += text;
  return std::string_view(texts).substr(at);
}

IdList::IdList(std::vector<std::string_view> ids) : ids_(std::move(ids)) {
  sort_unique(ids_);
  std::size_t bytes = 0;
  for (const std::string_view id : ids_) bytes += id.size();
  texts_.reserve(bytes);
  for (std::string_view& id : ids_) id = append_copy(texts_, id);
}

bool IdList::contains(std::string_view id) const { return std::ranges::binary_search(ids_, id); }

IdSet IdSet::of(std::string_view resource, std::span<const std::string> ids) {
  std::vector<std::string_view> sorted(ids.begin(), ids.end());
  sort_unique(sorted);
  std::uint64_t one = fnv1a(resource);
  std::uint64_t other = fnv1a(resource, kOtherFnvStart);
  for (const std::string_view id : sorted) {
    one = fnv1a(id, fnv1a("\n", one));
    other = fnv1a(id, fnv1a("\n", other));
  }
  return {.name = hex_digits(one) + hex_digits(other), .count = sorted.size()};
}

std::string in_quotes(std::string_view text) { return '"' + printable(text) + '"'; }

bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = first_character(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string stable_id(std::string_view name, std::size_t longest) {
  constexpr std::size_t kSuffix = 1 + 16;
  assert(!name.empty() && longest > kSuffix);
  const bool usual = name.size() <= longest && std::ranges::all_of(name, [](char c) {
                       return c > ' ' && c < '\x7f' && c != '%' && c != ',';
                     });
  if (usual) return std::string(name);
  std::string id;
  std::size_t characters = 0;
  std::size_t kept = 0;  // bytes that stay if the id is cut
  for (std::string_view rest = name; !rest.empty();) {
    const std::size_t length = first_character(rest).length;
    const std::string_view character = rest.substr(0, length == 0 ? 1 : length);
    rest.remove_prefix(character.size());
    if (length > 0 && stands_for_itself(character)) {
      id += character;
      ++characters;
    } else {
      for (const char c : character) {
        id += '%' + upper_hex(c);
        characters += 3;
      }
    }
    if (characters <= longest - kSuffix) kept = id.size();
  }
  if (characters <= longest) return id;
  id.resize(kept);
  return id + '-' + hex_digits(fnv1a(name));
}

bool is_domain(std::string_view text) {
  while (true) {
    const std::string_view label = text.substr(0, text.find('.'));
    if (label.empty() || label.front() == '-' || label.back() == '-') return false;
    if (!std::ranges::all_of(label, [](char c) { return is_lower(c) || is_digit(c) || c == '-'; }))
      return false;
    if (label.size() == text.size()) return true;
    text.remove_prefix(label.size() + 1);
  }
}

bool is_name_part(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_part_character) && is_letter_or_digit(text.front()) &&
         is_letter_or_digit(text.back());
}

std::string resource_name_error(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) {
    return "A resource's name has a domain and a '/', as in vendor.example/device.";
  }
  if (name.find('/', slash + 1) != std::string_view::npos) {
    return "A resource's name has exactly one '/', after its domain.";
  }
  if (name.find("kubernetes.io/") != std::string_view::npos) {
    return "Names in kubernetes.io belong to Kubernetes; use a domain of your own.";
  }
  if (name.starts_with("requests.")) {
    return "A resource's name must not begin with 'requests.', which is the quotas' prefix; use a different "
           "domain.";
  }
  const std::string_view domain = name.substr(0, slash);
  const std::string_view part = name.substr(slash + 1);
  if (domain.size() > kLongestDomain) {
    return "The domain before '/' has " + std::to_string(domain.size()) +
           " characters; at most 244 are allowed.";
  }
  if (!is_domain(domain)) {
    return "The domain before '/' must consist of lower-case letters, digits, '-' and '.', and each of its "
           "labels must begin and end with a letter or a digit, as in vendor.example.";
  }
  if (part.size() > kLongestPart) {
    return "The part after '/' has " + std::to_string(part.size()) + " characters; at most 63 are allowed.";
  }
  if (!is_name_part(part)) {
    return "The part after '/' must consist of letters, digits, '-', '_' and '.', and must begin and end "
           "with a "
           "letter or a digit.";
  }
  return {};
}

std::string resource_name_part(std::string_view value) {
  const auto trim_end = [](std::string& text) {
    while (!text.empty() && !is_letter_or_digit(text.back())) text.pop_back();
  };
  std::string part(std::ranges::find_if(value, is_letter_or_digit), value.end());
  trim_end(part);
  std::ranges::replace_if(
      part, [](char c) { return !is_part_character(c); }, '_');
  if (part.size() > kLongestPart) part.resize(kLongestPart);
  trim_end(part);
  return part;
}

std::string resource_variable(std::string_view name) {
  std::string variable(name);
  std::ranges::transform(variable, variable.begin(),
                         [](char c) { return is_letter_or_digit(c) ? to_upper(c) : '_'; });
  return variable;
}

}  // namespace plughost
