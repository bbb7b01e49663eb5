#include "kinds/gpu/nvidia_health.hpp"

#include <algorithm>
#include <iterator>

#include "base/text/text.hpp"

namespace plughost {
namespace {

enum class Ends {
  kByItself,  // the card, or the program, can continue: RESTART_APP, IGNORE
  kByReset,   // of the card or the machine: RESET_GPU, RESTART_BM
};

struct Xid {
  std::uint64_t number;
  Ends ends;
  std::string_view words;
};

// According to the "Immediate Action" in NVIDIA's catalog (docs.nvidia.com/deploy/xid-errors). Exceptions: 74
// and 144 to 149 may be harmless, which the number alone does not show. After 94 the program must be
// restarted and the card reset at a convenient time; until then its memory has a hole, and NVIDIA's device
// plugin does not offer the card. 61 concerns cards before Ampere, which the catalog does not contain.
constexpr Xid kXids[] = {
    {13, Ends::kByItself, "an exception of the graphics engine"},
    {31, Ends::kByItself, "a page fault of a program"},
    {38, Ends::kByItself, "an error of the driver's firmware"},
    {43, Ends::kByItself, "a program's channel was reset"},
    {45, Ends::kByItself, "a program was removed after another error"},
    {46, Ends::kByReset, "the GPU has stopped processing"},
    {48, Ends::kByReset, "an uncorrectable (double-bit) memory error"},
    {61, Ends::kByReset, "an internal micro-controller breakpoint"},
    {62, Ends::kByReset, "an internal micro-controller halt"},
    {63, Ends::kByItself, "a row of memory is retired or remapped"},
    {64, Ends::kByReset, "a row of memory could not be retired or remapped"},
    {68, Ends::kByItself, "an exception of the video decoder"},
    {69, Ends::kByItself, "an error of a program's graphics commands"},
    {74, Ends::kByReset, "an NVLink error"},
    {79, Ends::kByReset, "the GPU has fallen off the bus"},
    {92, Ends::kByItself, "a high rate of single-bit memory errors"},
    {94, Ends::kByReset, "a contained memory error"},
    {95, Ends::kByReset, "an uncontained memory error"},
    {109, Ends::kByReset, "a context switch took too long"},
    {110, Ends::kByReset, "a security fault"},
    {119, Ends::kByReset, "the GPU's system processor does not answer"},
    {120, Ends::kByReset, "an error of the GPU's system processor"},
    {121, Ends::kByItself, "a corrected error of the link to the CPU"},
    {136, Ends::kByReset, "an NVLink could not be trained"},
    {137, Ends::kByItself, "a program's fault on an NVLink"},
    {140, Ends::kByReset, "an unrecovered memory error"},
    {143, Ends::kByReset, "the GPU could not be initialized"},
    {144, Ends::kByReset, "an NVLink error"},
    {145, Ends::kByReset, "an NVLink error"},
    {146, Ends::kByReset, "an NVLink error"},
    {147, Ends::kByItself, "an NVLink error"},
    {148, Ends::kByItself, "an NVLink error"},
    {149, Ends::kByReset, "an NVLink error"},
    {150, Ends::kByReset, "an NVLink error"},
    {152, Ends::kByItself, "an error of the memory management of an accelerator"},
    {154, Ends::kByItself,
     "a different recovery action is needed"},  // each scan queries the driver for the action
    {155, Ends::kByReset, "an NVLink was taken down"},
    {156, Ends::kByReset, "a part of the GPU was retired"},
    {157, Ends::kByItself, "a part of the GPU could not be retired"},
    {158, Ends::kByReset, "the GPU has timed out"},
    {160, Ends::kByItself, "a memory channel was retired"},
    {161, Ends::kByItself, "a memory channel could not be retired"},
    {163, Ends::kByItself, "power smoothing is off"},
    {164, Ends::kByItself, "power smoothing is nearly worn out"},
    {165, Ends::kByItself, "power smoothing is worn out"},
};

const Xid* known(std::uint64_t number) {
  const auto* const found = std::ranges::find(kXids, number, &Xid::number);
  return found == std::end(kXids) ? nullptr : found;
}

// Parses numbers joined by commas. all: set if a word is "all" or "xids".
std::set<std::uint64_t> numbers_in(std::string_view words, bool& all) {
  std::set<std::uint64_t> numbers;
  for (std::string_view word : split(words, ',')) {
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

void XidPolicy::disable(std::string_view words) { ignored.merge(numbers_in(words, ignore_all)); }

void XidPolicy::enable(std::string_view words) { counted.merge(numbers_in(words, count_all)); }

std::string xid_words(std::uint64_t xid) {
  const Xid* const found = known(xid);
  const std::string number = "XID " + std::to_string(xid);
  return found ? number + ": " + std::string(found->words) : number;
}

bool xid_lasts(std::uint64_t xid) {
  const Xid* const found = known(xid);
  return !found || found->ends == Ends::kByReset;
}

void NvidiaHealth::record(const std::string& id, const std::string& why, Clock::time_point now) {
  std::erase_if(ailments_, [now](const auto& item) { return item.second.until <= now; });
  Ailment& ailment = ailments_[id];
  if (ailment.until != kForEver) ailment = {.why = why, .until = now + kRecovery};
}

void NvidiaHealth::record_lasting(const std::string& id, const std::string& why) {
  ailments_[id] = {.why = why, .until = kForEver};
}

void NvidiaHealth::record_reset(const std::string& id, Clock::time_point now) {
  if (const auto found = ailments_.find(id); found != ailments_.end())
    found->second.until = std::min(found->second.until, now + kRecovery);
}

void NvidiaHealth::record_all_reset(Clock::time_point now) {
  for (auto& [id, ailment] : ailments_) ailment.until = std::min(ailment.until, now + kRecovery);
}

NvidiaHealth::Error NvidiaHealth::error(const std::string& id, Clock::time_point now) const {
  const auto found = ailments_.find(id);
  if (found == ailments_.end() || found->second.until <= now) return {};
  return {.why = found->second.why, .lasts = found->second.until == kForEver};
}

}  // namespace plughost
