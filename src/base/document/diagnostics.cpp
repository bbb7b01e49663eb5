#include "base/document/diagnostics.hpp"

#include <algorithm>
#include <utility>

#include "base/text/ascii.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

constexpr std::size_t kLongestQuote = 200;
constexpr std::size_t kLongestWord = 40;  // a longer word is not a typing error

}  // namespace

std::string Diagnostic::text() const {
  std::string text = mark.text() + ": ";
  if (!path.empty()) text += path + ": ";
  return printable(text + message());
}

std::string Diagnostic::message() const {
  return what + (known.empty() ? "" : "; valid: " + joined(known, ", "));
}

void Diagnostics::error(const Mark& mark, std::string path, std::string what) {
  error({.mark = mark, .path = std::move(path), .what = std::move(what)});
}

void Diagnostics::error(Diagnostic error) {
  if (++error_count_ <= kMostKept) all_.push_back(std::move(error));
}

void Diagnostics::warning(const Mark& mark, std::string path, std::string what) {
  if (++warning_count_ > kMostKept) return;
  all_.push_back({Diagnostic::Severity::kWarning, mark, std::move(path), std::move(what)});
}

std::string quote(std::string_view text) {
  std::string_view shown = text.substr(0, kLongestQuote);
  if (shown.size() < text.size()) {
    const auto continues = [&] { return (static_cast<unsigned char>(text[shown.size()]) & 0xC0u) == 0x80u; };
    while (!shown.empty() && continues()) shown.remove_suffix(1);
  }
  return '\'' + printable(shown) + (shown.size() < text.size() ? "...'" : "'");
}

std::size_t typing_errors(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::exchange(last, row);
  }
  return last[b.size()];
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > kLongestWord) return {};
  const std::string written = to_lower(word);
  std::size_t fewest = std::clamp<std::size_t>(word.size() / 3, 1, 3) + 1;
  std::string_view nearest;
  for (const std::string_view candidate : known) {
    const std::string other = to_lower(candidate);
    const bool shortened = std::min(written.size(), other.size()) >= 3 &&
                           (other.starts_with(written) || written.starts_with(other));
    const std::size_t errors = shortened && written != other ? 1 : typing_errors(written, other);
    // With as many errors as letters, the words have nothing in common.
    if (errors > 0 && errors >= std::min(word.size(), candidate.size())) continue;
    if (errors < fewest) {
      fewest = errors;
      nearest = candidate;
    }
  }
  return nearest.empty() ? "" : " (did you mean '" + std::string(nearest) + "'?)";
}

std::string no_such(const std::string& what, const std::string& name, std::span<const std::string> known) {
  constexpr std::size_t kMost = 16;
  const std::span<const std::string> shown = known.subspan(0, std::min(known.size(), kMost));
  std::string text = "there is no " + what + ' ' + name + "; ";
  if (shown.empty()) return text + "there is none at all";
  text += "there " + std::string(known.size() == 1 ? "is " : "are ") + joined(shown, ", ");
  if (known.size() > kMost) text += " and " + std::to_string(known.size() - kMost) + " more";
  return text;
}

}  // namespace plughost
