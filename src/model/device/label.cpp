#include "model/device/label.hpp"

#include <algorithm>
#include <optional>

#include "base/text/text.hpp"
#include "model/device/names.hpp"

namespace plughost {
namespace {

constexpr std::size_t kLongestPrefix = 253;
constexpr std::size_t kLongestName = 63;
constexpr std::size_t kLongestValue = 63;
constexpr std::string_view kUsualPrefix = "feature.node.kubernetes.io";
constexpr std::string_view kProfilePrefix = "profile.node.kubernetes.io";

// Returns true if `domain` is `above` or a subdomain of `above`.
bool is_in(std::string_view domain, std::string_view above) {
  if (!domain.ends_with(above)) return false;
  domain.remove_suffix(above.size());
  return domain.empty() || domain.ends_with('.');
}

std::string prefix_error(std::string_view prefix) {
  if (prefix.size() > kLongestPrefix)
    return "The prefix before '/' has " + std::to_string(prefix.size()) +
           " characters; at most 253 are allowed.";
  if (!is_domain(prefix))
    return "The prefix before '/' must consist of lower-case letters, digits, '-' and '.', and each of its "
           "labels must begin and end with a letter or a digit, as in vendor.example.";
  if (is_in(prefix, "kubernetes.io") && !is_in(prefix, kUsualPrefix) && !is_in(prefix, kProfilePrefix))
    return "Of the prefixes in kubernetes.io, Node Feature Discovery takes feature.node.kubernetes.io and "
           "profile.node.kubernetes.io, and those below them; use one of these, a domain of your own, or "
           "none.";
  return {};
}

using Present = std::vector<const Device*>;

struct Value {
  std::string text;
  std::string error;  // why there is no label; empty if there is one
};

Value value_for(const LabelSpec& spec, const Device& device, std::size_t count) {
  std::string missing;
  const auto text = spec.value.expand(
      [&](std::string_view placeholder) {
        return placeholder == "count" ? std::to_string(count) : device.value(placeholder);
      },
      &missing);
  if (!text) return {.error = '{' + missing + "} is not known of " + device.id};
  // A literal value was checked when the configuration was read.
  if (spec.value.literal()) return {.text = *text};
  Value value{.text = label_value(*text)};
  if (value.text.empty()) value.error = "nothing of \"" + *text + "\" may stand in a label's value";
  if (const std::string error = label_value_error(value.text); !error.empty())
    value.error = '"' + value.text + "\": " + error;
  return value;
}

Value value_of(const LabelSpec& spec, const Present& present) {
  Value value = value_for(spec, *present.front(), present.size());
  const std::vector<std::string_view> placeholders = spec.value.placeholders();
  if (std::ranges::all_of(placeholders, [](std::string_view name) { return name == "count"; })) return value;
  for (const Device* const device : present) {
    if (!value.error.empty()) break;
    const Value its = value_for(spec, *device, present.size());
    value.error = its.error;
    if (its.error.empty() && its.text != value.text)
      value.error = "the devices differ: \"" + value.text + "\" of " + present.front()->id + ", \"" +
                    its.text + "\" of " + device->id;
  }
  return value;
}

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

std::string label_name(std::string_view key) {
  if (key.find('/') != std::string_view::npos) return std::string(key);
  return std::string(kUsualPrefix) + '/' + std::string(key);
}

std::string label_key_error(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash != std::string_view::npos) {
    if (std::string error = prefix_error(key.substr(0, slash)); !error.empty()) return error;
    key.remove_prefix(slash + 1);
  }
  if (key.size() > kLongestName)
    return "A label's name has at most 63 characters after its prefix; this one has " +
           std::to_string(key.size()) + '.';
  if (!is_name_part(key))
    return "A label's name must consist of letters, digits, '-', '_' and '.', and must begin and end with a "
           "letter or a digit; before it there may be a prefix and one '/'.";
  return {};
}

std::string label_value_error(std::string_view value) {
  if (value.size() > kLongestValue)
    return "A label's value has at most 63 characters; this one has " + std::to_string(value.size()) + '.';
  if (!value.empty() && !is_name_part(value))
    return "A label's value must consist of letters, digits, '-', '_' and '.', and must begin and end with a "
           "letter or a digit.";
  return {};
}

std::string label_value(std::string_view text) {
  std::string value;
  for (const char c : text) {
    const char written = c == ' ' || c == '\t' ? '-' : c;
    if (!is_name_part(std::string{'x', written, 'x'})) continue;
    // Several spaces count as one space.
    const bool again = written != c && value.ends_with('-');
    if (!again) value += written;
  }
  const auto is_end = [](char c) { return !is_name_part({&c, 1}); };
  while (!value.empty() && is_end(value.back())) value.pop_back();
  value.erase(value.begin(), std::ranges::find_if_not(value, is_end));
  return value;
}

Labels labels_of(std::span<const LabelSpec> specs, std::span<const Inventory> lists) {
  Present present;
  for (const Inventory& list : lists) {
    for (const Device& device : list.devices()) {
      if (!device.gone) present.push_back(&device);
    }
  }
  Labels labels;
  if (present.empty()) return labels;
  for (const LabelSpec& spec : specs) {
    const Value value = value_of(spec, present);
    if (value.error.empty())
      labels.pairs.emplace_back(label_name(spec.key), value.text);
    else
      labels.remarks.push_back(label_name(spec.key) + ": " + value.error);
  }
  return labels;
}

std::string feature_file_name(std::string_view owner, std::string_view entry) {
  const std::string part = resource_name_part(entry.substr(entry.find('/') + 1));
  return std::string(owner) + '-' + part + '-' + hex_digits(fnv1a(entry));
}

bool is_feature_file(std::string_view owner, std::string_view file) {
  if (file.starts_with('.')) file.remove_prefix(1);
  return file.starts_with(std::string(owner) + '-');
}

std::string feature_file_text(const Labels::Pairs& labels, FeatureTime expiry) {
  std::string text(kHead);
  text.append(kExpiry).append(utc_text(expiry)).append("\n");
  for (const auto& [key, value] : labels) text.append(key).append("=").append(value).append("\n");
  return text;
}

bool is_fresh(const std::string& text, const Labels::Pairs& labels, FeatureTime now) {
  const auto expiry = expiry_of(text);
  // After the clock has been set back, the expiry would be too far in the future.
  return expiry && *expiry >= now + kFeaturesRenewed && *expiry <= now + kFeaturesLast &&
         text == feature_file_text(labels, *expiry);
}

}  // namespace plughost
