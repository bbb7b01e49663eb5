#include "kinds/gpu/nvidia_health.hpp"

#include <algorithm>
#include <iterator>

#include "base/number.hpp"

namespace plughost {
namespace {

struct XidName {
  std::uint64_t xid;
  std::string_view words;
};

// From NVIDIA's table of XID errors, those that come from the card.
constexpr XidName kXids[] = {
    {48, "an uncorrectable (double-bit) memory error"},
    {61, "an internal micro-controller breakpoint"},
    {62, "an internal micro-controller halt"},
    {63, "a row of memory is retired or remapped"},
    {64, "a row of memory could not be retired or remapped"},
    {74, "an NVLink error"},
    {79, "the GPU has fallen off the bus"},
    {92, "a high rate of single-bit memory errors"},
    {94, "a contained memory error"},
    {95, "an uncontained memory error"},
    {119, "the GPU's system processor does not answer"},
    {120, "an error of the GPU's system processor"},
    {140, "an unrecovered memory error"},
};

// The numbers of a list that is joined by commas. all: one of the words was "all" or "xids".
std::set<std::uint64_t> numbers_in(std::string_view words, bool& all) {
  std::set<std::uint64_t> numbers;
  while (!words.empty()) {
    const std::size_t comma = std::min(words.find(','), words.size());
    std::string_view word = words.substr(0, comma);
    words.remove_prefix(std::min(comma + 1, words.size()));
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (word == "all" || word == "xids") all = true;
    if (const auto number = number_in<std::uint64_t>(word)) numbers.insert(*number);
  }
  return numbers;
}

}  // namespace

bool XidPolicy::ignores(std::uint64_t xid) const {
  if (count_all || counted.contains(xid)) return false;
  return ignore_all || ignored.contains(xid);
}

void XidPolicy::disable(std::string_view words) {
  ignored.merge(numbers_in(words, ignore_all));
}

void XidPolicy::enable(std::string_view words) {
  counted.merge(numbers_in(words, count_all));
}

std::string xid_words(std::uint64_t xid) {
  const auto* const known = std::ranges::find(kXids, xid, &XidName::xid);
  const std::string number = "XID " + std::to_string(xid);
  return known == std::end(kXids) ? number : number + ": " + std::string(known->words);
}

void NvidiaHealth::note(const std::string& id, const std::string& why, Clock::time_point now) {
  std::erase_if(ailments_, [now](const auto& item) { return item.second.last + kRecovery <= now; });
  ailments_[id] = {.why = why, .last = now};
}

std::string NvidiaHealth::trouble(const std::string& id, Clock::time_point now) const {
  const auto known = ailments_.find(id);
  return known != ailments_.end() && now < known->second.last + kRecovery ? known->second.why : "";
}

}  // namespace plughost
