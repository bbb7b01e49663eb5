#pragma once
// FNV-1a, 64 bits: no secret, but the same on every machine and in every version.
// Source: G. Fowler, L. C. Noll, K.-P. Vo, the FNV non-cryptographic hash algorithm.

#include <cstdint>
#include <string_view>

namespace plughost {

inline constexpr std::uint64_t kFnvStart = 0xcbf29ce484222325u;

// Goes on from a former text's value.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t value = kFnvStart) {
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return value;
}

}  // namespace plughost
