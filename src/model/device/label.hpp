#pragma once
// Labels of the node: what Kubernetes and Node Feature Discovery take, what an entry's devices make of them,
// and the feature files from which Node Feature Discovery's worker makes them. Pure functions of values,
// thread-safe. Sources: k8s.io/apimachinery's IsQualifiedName and IsValidLabelValue; pkg/apis/nfd/validate
// and source/local of Node Feature Discovery: a line `key=value` each, `#` for a comment, `# +expiry-time=`
// for those that follow, 65,536 bytes at most; files with a leading '.' are not read.

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/template.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// As they are written.
struct LabelSpec {
  std::string key;
  Template value;  // {count} (of devices), {id}, and the kind's attributes
  bool operator==(const LabelSpec&) const = default;
};

// The key as the node has it: one without a prefix is in feature.node.kubernetes.io. Node Feature Discovery
// gave it that itself, and newer versions do not.
std::string label_name(std::string_view key);

// Why one of the two would refuse it, as a sentence; empty: they take it.
std::string label_key_error(std::string_view key);
std::string label_value_error(std::string_view value);

// What a text that a machine gave becomes in a label: '-' for spaces, nothing for other characters that a
// value cannot have, and a letter or a digit at both ends, as NVIDIA's gpu-feature-discovery makes them. It
// may be empty, or too long.
std::string label_value(std::string_view text);

struct Labels {
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  Pairs pairs;                       // in the order of the entry, with prefixes
  std::vector<std::string> remarks;  // which labels were left out, and why
};

// lists: of the entry's resources. Without a device that is there the node has none of the labels. A value is
// what all devices that are there make of it, sick ones included; where they differ, the label is left out.
Labels labels_of(std::span<const LabelSpec> specs, std::span<const Inventory> lists);

using FeatureTime = std::chrono::sys_time<std::chrono::microseconds>;

// What a plughost that is gone for good has written is forgotten by itself after this.
inline constexpr std::chrono::minutes kFeaturesLast{60};
// What lasts for less is written anew.
inline constexpr std::chrono::minutes kFeaturesRenewed{30};
// Of one entry: with the longest keys and values they stay below Node Feature Discovery's limit.
inline constexpr std::size_t kMostLabels = 100;

// The name of the file for an entry, which no other entry of that owner has, nor another owner's.
std::string feature_file_name(std::string_view owner, std::string_view entry);
// Do files of that name belong to the owner, unfinished ones included?
bool is_feature_file(std::string_view owner, std::string_view file);

std::string feature_file_text(const Labels::Pairs& labels, FeatureTime expiry);
// Does the text say the same, and for long enough from now on?
bool is_fresh(const std::string& text, const Labels::Pairs& labels, FeatureTime now);

}  // namespace plughost
