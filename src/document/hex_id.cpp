#include "document/hex_id.hpp"

#include "base/ascii.hpp"

namespace plughost {
namespace {

constexpr std::size_t kDigits = 4;  // PCI and USB ids have 16 bits

std::string read_one(Fields& fields, std::string_view key, const std::string& text) {
  if (auto id = hex_digits(text, kDigits)) return *std::move(id);
  fields.error(key,
               quote(text) + " is no id of hardware; it has four hexadecimal digits, as in 15b3 or 0x15b3");
  return {};
}

}  // namespace

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
  if (!fields.has(key)) return {};
  const std::size_t errors = fields.diagnostics().error_count();
  const std::string text = fields.text(key, "");
  return fields.diagnostics().error_count() > errors ? "" : read_one(fields, key, text);
}

std::vector<std::string> read_hex_ids(Fields& fields, std::string_view key) {
  std::vector<std::string> ids;
  for (const std::string& text : fields.texts(key)) ids.push_back(read_one(fields, key, text));
  return ids;
}

}  // namespace plughost
