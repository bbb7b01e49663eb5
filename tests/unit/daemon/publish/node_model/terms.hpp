#pragma once
// Definitions shared by the model's files: its clock, and the time limits of the kubelet's contract.

#include "unit/daemon/publish/node_model.hpp"

namespace plughost::test {

using namespace attachment;
using namespace std::chrono_literals;
using Kind = Move::Kind;
using Milliseconds = std::chrono::milliseconds;
using Result = RegistrationClient::Result;

inline constexpr Time kNow{1000h};

// Limits that the kubelet's contract guarantees, in ms.
inline constexpr std::int32_t kDialing = 10'000;
inline constexpr std::int32_t kOpening = 500;     // until a stream opens, after the dial and the answer
inline constexpr std::int32_t kForgetting = 100;  // until the name's former owner is forgotten
inline constexpr std::int32_t kNoticing = 500;    // until the end of the daemon is noticed
inline constexpr auto kDeadline =
    static_cast<std::int32_t>(Milliseconds(RegistrationClient::kDeadline).count());
inline constexpr std::int32_t kWaking = 100;  // after a suspension, until due steps have happened
inline constexpr std::int32_t kLongAgo = 100'000;

inline FileIdentity identity(std::uint8_t number) {
  return {.device = 1, .inode = number, .changed_ns = number};
}

constexpr std::uint64_t bit(Kind kind) { return std::uint64_t{1} << static_cast<unsigned>(kind); }

inline std::int64_t ms(Time::duration duration) {
  return std::chrono::duration_cast<Milliseconds>(duration).count();
}

}  // namespace plughost::test
