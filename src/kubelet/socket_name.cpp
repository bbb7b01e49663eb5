#include "kubelet/socket_name.hpp"

#include <array>
#include <cstdio>

#include "base/ascii.hpp"

namespace plughost {

namespace {

constexpr std::size_t kReadable = 24;

std::uint32_t fnv1a_32(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

}  // namespace

std::string socket_name_beginning(std::string_view resource) {
  std::string readable;
  for (const char c : resource.substr(0, kReadable)) {
    readable += is_letter_or_digit(c) || c == '.' ? c : '_';
  }
  std::array<char, 11> hash{};
  std::snprintf(hash.data(), hash.size(), "-%08x-", fnv1a_32(resource));
  return std::string(kSocketPrefix) + readable + hash.data();
}

std::string socket_name(std::string_view resource, std::uint32_t incarnation) {
  return socket_name_beginning(resource) + std::to_string(incarnation) + ".sock";
}

}  // namespace plughost
