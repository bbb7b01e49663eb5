#pragma once
// What a killed process left of its unix socket is taken away, and nothing else ever is. Thread-safe.

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string_view>

namespace plughost {

// A socket on which nobody listens.
struct DeadSocket {
  dev_t device = 0;
  ino_t inode = 0;
};

// What is at path; nullopt: nothing. A symbolic link is not followed. Throws std::runtime_error, which says
// what is there and what to do, if it is anything else; std::system_error if that cannot be told.
std::optional<DeadSocket> dead_socket(const std::filesystem::path& path);

// Removes it, if it still is at path and nobody listens on it now. Throws as dead_socket does if something
// else came there meanwhile, and leaves that.
void remove_dead_socket(const std::filesystem::path& path, const DeadSocket& dead);

// Those of a directory whose names begin so. What cannot be removed, or is something else, harms nobody.
void remove_dead_sockets(const std::filesystem::path& directory, std::string_view beginning);

}  // namespace plughost
