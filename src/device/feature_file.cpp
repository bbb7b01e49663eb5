#include "device/feature_file.hpp"

#include <cinttypes>
#include <cstdio>
#include <optional>

#include "base/text.hpp"
#include "device/hash.hpp"
#include "device/names.hpp"

namespace plughost {
namespace {

constexpr std::string_view kHead = "# plughost writes this file. What others write into it is lost.\n";
constexpr std::string_view kExpiry = "# +expiry-time=";

std::optional<FeatureTime> expiry_of(const std::string& text) {
  const std::size_t at = text.find(kExpiry);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = at + kExpiry.size();
  const auto time = microseconds_of(text.substr(begin, text.find('\n', begin) - begin));
  if (!time) return std::nullopt;
  return FeatureTime(std::chrono::microseconds(*time));
}

}  // namespace

std::string feature_file_name(std::string_view owner, std::string_view entry) {
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016" PRIx64, fnv1a(entry));
  const std::string part = resource_name_part(entry.substr(entry.find('/') + 1));
  return std::string(owner) + '-' + part + '-' + hash;
}

bool is_feature_file(std::string_view owner, std::string_view file) {
  if (file.starts_with('.')) file.remove_prefix(1);
  return file.starts_with(std::string(owner) + '-');
}

std::string feature_file_text(const Labels::Pairs& labels, FeatureTime expiry) {
  std::string text(kHead);
  text.append(kExpiry).append(utc_text(expiry.time_since_epoch().count())).append("\n");
  for (const auto& [key, value] : labels) text.append(key).append("=").append(value).append("\n");
  return text;
}

bool is_fresh(const std::string& text, const Labels::Pairs& labels, FeatureTime now) {
  const auto expiry = expiry_of(text);
  // A clock that was set back makes it last for too long.
  return expiry && *expiry >= now + kFeaturesRenewed && *expiry <= now + kFeaturesLast &&
         text == feature_file_text(labels, *expiry);
}

}  // namespace plughost
