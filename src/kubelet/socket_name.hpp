#pragma once
// Names of our sockets. Thread-safe.

#include <cstdint>
#include <string>
#include <string_view>

namespace plughost {

// All our sockets, and nothing of anybody else's, begin so.
inline constexpr std::string_view kSocketPrefix = "plughost-";

// "plughost-<readable part>-<hash>-<incarnation>.sock": at most 60 bytes, whatever the resource's name. The
// kubelet must never see one name twice: it keeps clients by it.
std::string socket_name(std::string_view resource, std::uint32_t incarnation);
// "plughost-<readable part>-<hash>-": what its names begin with, of every incarnation.
std::string socket_name_beginning(std::string_view resource);

}  // namespace plughost
