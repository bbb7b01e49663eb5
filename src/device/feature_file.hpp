#pragma once
// Feature files, from which Node Feature Discovery's worker makes labels. Pure functions of values,
// thread-safe. Source: source/local of Node Feature Discovery: a line `key=value` each, `#` for a comment,
// `# +expiry-time=` for those that follow, 65,536 bytes at most; files with a leading '.' are not read.

#include <chrono>
#include <string>
#include <string_view>

#include "device/label.hpp"

namespace plughost {

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
