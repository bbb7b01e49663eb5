#pragma once
// What the files of the model share: its clock, and how long the kubelet's contract lets things take.

#include "unit/daemon/publish/node_model.hpp"

namespace plughost::test {

using namespace attachment;
using namespace std::chrono_literals;
using Kind = Move::Kind;
using Milliseconds = std::chrono::milliseconds;
using Result = RegistrationClient::Result;

inline constexpr Time kNow{1000h};

// What the kubelet's contract promises, in ms.
inline constexpr std::int32_t kDialing = 10'000;
inline constexpr std::int32_t kOpening = 500;     // the stream, once it has dialed and answered
inline constexpr std::int32_t kForgetting = 100;  // the name's last owner, after an end of the kubelet's own
inline constexpr std::int32_t kNoticing = 500;    // that we are gone
inline constexpr auto kDeadline =
    static_cast<std::int32_t>(Milliseconds(RegistrationClient::kDeadline).count());
inline constexpr std::int32_t kWaking = 100;  // what was due while the machine slept
inline constexpr std::int32_t kLongAgo = 100'000;

inline FileIdentity identity(std::uint8_t number) {
  return {.device = 1, .inode = number, .changed_ns = number};
}

constexpr std::uint64_t bit(Kind kind) { return std::uint64_t{1} << static_cast<unsigned>(kind); }

inline std::int64_t ms(Time::duration duration) {
  return std::chrono::duration_cast<Milliseconds>(duration).count();
}

}  // namespace plughost::test
