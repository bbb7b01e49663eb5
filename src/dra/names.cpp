#include "dra/names.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>

#include "base/ascii.hpp"
#include "device/hash.hpp"

namespace plughost {
namespace {

constexpr std::size_t kHashDigits = 16;
constexpr std::size_t kLongestClaimName = 253;
constexpr std::size_t kIndexDigits = 5;

std::string hash_text(std::uint64_t hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(kHashDigits, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, hash >>= 4u) *digit = kDigits[hash & 0xfu];
  return text;
}

bool is_lower_or_digit(char c) {
  return is_lower(c) || is_digit(c);
}

bool is_label_text(std::string_view text) {
  const auto within = [](char c) { return is_lower_or_digit(c) || c == '-'; };
  return !text.empty() && std::ranges::all_of(text, within) && text.front() != '-' && text.back() != '-';
}

// What a label can have of the text, and a hash of all of it.
std::string hashed(std::string_view text, std::size_t longest) {
  std::string label;
  for (const char c : text) {
    const char lower = to_lower(c);
    if (is_lower_or_digit(lower))
      label += lower;
    else if (!label.empty() && label.back() != '-')
      label += '-';
  }
  label = label.substr(0, longest - kHashDigits - 1);
  while (!label.empty() && label.back() == '-') label.pop_back();
  if (!label.empty()) label += '-';
  return label + hash_text(fnv1a(text));
}

}  // namespace

bool is_dns_label(std::string_view text) {
  return text.size() <= kLongestLabel && is_label_text(text);
}

bool is_dns_subdomain(std::string_view text) {
  for (std::size_t from = 0;;) {
    const std::size_t dot = text.find('.', from);
    if (!is_label_text(text.substr(from, dot - from))) return false;
    if (dot == std::string_view::npos) return true;
    from = dot + 1;
  }
}

std::string device_label(std::string_view id) {
  return is_dns_label(id) ? std::string(id) : hashed(id, kLongestLabel);
}

std::string pool_name(std::string_view node, std::string_view resource) {
  const std::size_t slash = resource.find('/');
  const std::string_view domain = resource.substr(0, slash);
  const std::string_view name = slash == std::string_view::npos ? domain : resource.substr(slash + 1);
  const bool fits = is_dns_subdomain(domain) && is_dns_subdomain(name) &&
                    node.size() + 1 + resource.size() <= kLongestPoolName;
  return std::string(node) + '/' + (fits ? std::string(resource) : hashed(resource, kLongestLabel));
}

std::string slice_name(std::size_t index, std::string_view driver, std::string_view node,
                       std::string_view pool) {
  // A name has no zero byte: none runs into the next.
  constexpr std::string_view kBetween("\0", 1);
  std::uint64_t hash = fnv1a(driver);
  for (const std::string_view part : {kBetween, node, kBetween, pool}) hash = fnv1a(part, hash);
  return hash_text(index).substr(kHashDigits - kIndexDigits) + '-' + hash_text(hash);
}

std::optional<std::size_t> slice_index(std::string_view name) {
  if (name.size() != kIndexDigits + 1 + kHashDigits || name[kIndexDigits] != '-') return std::nullopt;
  std::size_t index = 0;
  const char* const end = name.data() + kIndexDigits;
  const auto [rest, error] = std::from_chars(name.data(), end, index, 16);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return index;
}

std::string driver_name_trouble(std::string_view driver) {
  if (driver.size() <= kLongestLabel && is_dns_subdomain(driver)) return {};
  return "a driver's name is a DNS subdomain of 63 characters at most, as \"plughost.example.com\": small "
         "letters, digits, '-' and '.'";
}

std::string claim_name_trouble(const ClaimRef& claim) {
  const auto is_of_uid = [](char c) { return is_letter_or_digit(c) || c == '-'; };
  if (claim.uid.empty() || claim.uid.size() > kLongestLabel || claim.uid.front() == '-' ||
      !std::ranges::all_of(claim.uid, is_of_uid))
    return "its uid is none: letters, digits and '-', 63 at most";
  if (!is_dns_label(claim.name_space)) return "its namespace is none: a DNS label of 63 characters at most";
  if (claim.name.size() > kLongestClaimName || !is_dns_subdomain(claim.name))
    return "its name is none: a DNS subdomain of 253 characters at most";
  return {};
}

}  // namespace plughost
