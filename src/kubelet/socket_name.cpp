#include "kubelet/socket_name.hpp"

#include <array>
#include <cstdio>

namespace plughost {

namespace {

constexpr std::size_t kReadable = 24;

std::uint32_t fnv1a_32(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

}  // namespace

std::string socket_name(std::string_view resource, std::uint32_t incarnation) {
  std::string readable;
  for (const char c : resource.substr(0, kReadable)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
    readable += plain ? c : '_';
  }
  std::array<char, 40> tail{};
  std::snprintf(tail.data(), tail.size(), "-%08x-%u.sock", fnv1a_32(resource), incarnation);
  return std::string(kSocketPrefix) + readable + tail.data();
}

}  // namespace plughost
