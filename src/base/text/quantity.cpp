#include "base/text/quantity.hpp"

#include <limits>

#include "base/text/ascii.hpp"
#include "base/text/text.hpp"
#include "base/text/words.hpp"

namespace plughost {
namespace {

constexpr Word<int> kDecimal[] = {{"", 0},  {"n", -9}, {"u", -6}, {"m", -3}, {"k", 3},
                                  {"M", 6}, {"G", 9},  {"T", 12}, {"P", 15}, {"E", 18}};
// Powers of 1024.
constexpr Word<int> kBinary[] = {{"Ki", 1}, {"Mi", 2}, {"Gi", 3}, {"Ti", 4}, {"Pi", 5}, {"Ei", 6}};
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
constexpr int kLargestExponent = 18;

std::string_view leading_digits(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  return text.substr(0, length);
}

std::optional<std::uint64_t> times(std::uint64_t number, std::uint64_t factor, int count) {
  for (; count > 0; --count) {
    if (number > kMost / factor) return std::nullopt;
    number *= factor;
  }
  return number;
}

// Returns the power of ten; nullopt if the suffix is not a power of ten.
std::optional<int> decimal_exponent(std::string_view suffix) {
  if (const auto exponent = value_of(kDecimal, suffix)) return exponent;
  if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return std::nullopt;
  suffix.remove_prefix(suffix[1] == '+' ? 2 : 1);
  const auto exponent = number_in<int>(suffix, kLargestExponent);
  return exponent && *exponent >= -kLargestExponent ? exponent : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> whole_quantity(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::string_view whole = leading_digits(text);
  text.remove_prefix(whole.size());
  const bool point = text.starts_with('.');
  if (point) text.remove_prefix(1);
  std::string_view fraction = point ? leading_digits(text) : std::string_view();
  text.remove_prefix(fraction.size());
  if (whole.empty() && fraction.empty()) return std::nullopt;
  while (fraction.ends_with('0')) fraction.remove_suffix(1);

  std::optional<std::uint64_t> number = whole.empty() ? 0 : number_in<std::uint64_t>(whole);
  for (const char digit : fraction) {
    if (number) number = times(*number, 10, 1);
    const auto ones = static_cast<std::uint64_t>(digit - '0');
    if (number) number = *number > kMost - ones ? std::nullopt : std::optional(*number + ones);
  }
  if (!number) return std::nullopt;
  int tens = -static_cast<int>(fraction.size());
  if (const auto exponent = decimal_exponent(text))
    tens += *exponent;
  else if (const auto power = value_of(kBinary, text))
    number = times(*number, 1024, *power);
  else
    return std::nullopt;
  if (tens > 0 && number) number = times(*number, 10, tens);
  for (; tens < 0 && number; ++tens) number = *number % 10 == 0 ? std::optional(*number / 10) : std::nullopt;
  return number;
}

}  // namespace plughost
