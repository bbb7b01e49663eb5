#pragma once
// How much of one block of HTTP/2 headers a client sends: gRPC 1.51 keeps what it has of one that does not
// end, fifteen times over. Plain values.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plughost {

class HeaderLimit {
 public:
  // A call's headers are some hundred bytes.
  static constexpr std::size_t kMost = 64 << 10;

  // The connection's next bytes, from the client's first one on. False: a block has more than kMost.
  bool pass(std::string_view bytes) {
    while (!bytes.empty()) {
      if (skip_ > 0) {
        const std::size_t skipped = std::min(skip_, bytes.size());
        skip_ -= skipped;
        bytes.remove_prefix(skipped);
        continue;
      }
      frame_[known_++] = static_cast<std::uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      if (known_ < frame_.size()) continue;
      known_ = 0;
      if (!begin_frame()) return false;
    }
    return true;
  }

 private:
  // RFC 9113, 3.4, 4.1, 6.2 and 6.10.
  static constexpr std::size_t kPreface = 24;
  static constexpr std::size_t kFrameHeader = 9;  // 3 bytes of length, type, flags, 4 of the stream
  static constexpr std::uint8_t kHeaders = 1;
  static constexpr std::uint8_t kContinuation = 9;
  static constexpr std::uint8_t kEndHeaders = 4;

  bool begin_frame() {
    const std::size_t length = std::size_t{frame_[0]} << 16 | std::size_t{frame_[1]} << 8 | frame_[2];
    skip_ = length;
    if (frame_[3] != kHeaders && frame_[3] != kContinuation) return true;
    block_ += length;
    const bool fits = block_ <= kMost;
    if ((frame_[4] & kEndHeaders) != 0) block_ = 0;
    return fits;
  }

  std::size_t skip_ = kPreface;  // of the preface or of a frame, to come
  std::array<std::uint8_t, kFrameHeader> frame_{};
  std::size_t known_ = 0;  // of frame_
  std::size_t block_ = 0;  // so much of it has been announced
};

}  // namespace plughost
