#pragma once
// Labels of the node: the rules of Kubernetes and Node Feature Discovery, the labels of an entry's devices,
// and the feature files from which Node Feature Discovery creates them. Pure functions of values,
// thread-safe.
//
// A feature file has lines `key=value` and comments `#`; `# +expiry-time=` applies to the lines below it. The
// file has at most 65,536 bytes, and is ignored if its name begins with '.'. Sources: IsQualifiedName and
// IsValidLabelValue of k8s.io/apimachinery; pkg/apis/nfd/validate and source/local of Node Feature Discovery.

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/template.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

struct LabelSpec {
  std::string key;
  Template value;  // {count} (of devices), {id} and the kind's attributes
  bool operator==(const LabelSpec&) const = default;
};

// Returns the key on the node: a key without a prefix gets feature.node.kubernetes.io, which newer versions
// of Node Feature Discovery no longer add.
std::string label_name(std::string_view key);

// Returns why Kubernetes or Node Feature Discovery would refuse the key, as a sentence; empty if both accept.
std::string label_key_error(std::string_view key);
std::string label_value_error(std::string_view value);

// Returns a text from the machine as a label value: '-' for spaces, without other invalid characters, and
// with a letter or a digit at both ends, like NVIDIA's gpu-feature-discovery. The result may be empty or too
// long.
std::string label_value(std::string_view text);

struct Labels {
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  Pairs pairs;                       // in the entry's order, with prefixes
  std::vector<std::string> remarks;  // labels that were left out, and why
};

// `lists` are those of the entry's resources. Without a present device, there are no labels. A value is
// expanded for all present devices, even Unhealthy devices; if the results differ, the label is left out.
Labels labels_of(std::span<const LabelSpec> specs, std::span<const Inventory> lists);

using FeatureTime = std::chrono::sys_time<std::chrono::microseconds>;

// Labels of a plughost that was removed expire after this time.
inline constexpr std::chrono::minutes kFeaturesLast{60};
// A file that expires in less than this time is rewritten.
inline constexpr std::chrono::minutes kFeaturesRenewed{30};
// The limit per entry: with the longest keys and values, the file fits into Node Feature Discovery's limit.
inline constexpr std::size_t kMostLabels = 100;

// Returns the file name for an entry: different for each entry, and for each owner (a plughost).
std::string feature_file_name(std::string_view owner, std::string_view entry);
// Returns true if the file belongs to the owner, even if the file is unfinished.
bool is_feature_file(std::string_view owner, std::string_view file);

std::string feature_file_text(const Labels::Pairs& labels, FeatureTime expiry);
// Returns true if the text has these labels and does not expire soon.
bool is_fresh(const std::string& text, const Labels::Pairs& labels, FeatureTime now);

}  // namespace plughost
