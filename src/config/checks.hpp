#pragma once
// What can be wrong with a configuration as a whole although each part of it is right. Thread-safe.

#include <span>
#include <string>
#include <string_view>

#include "base/document/diagnostics.hpp"
#include "config/config.hpp"
#include "config/read_entry.hpp"

namespace plughost {

// plughost's sockets are named plughost-<up to 24 readable characters>-<8 hex digits>-<up to 10 digits>.sock.
inline constexpr std::size_t kLongestSocketName = 60;

// A socket in the directory, with a name of so many bytes, has a path that fits into an address. mark, path:
// where the directory is set.
void check_socket_directory(const std::filesystem::path& directory, std::size_t longest_name,
                            const Mark& mark, const std::string& path, Diagnostics& diagnostics);

// The socket's path fits into an address.
void check_socket(const std::filesystem::path& socket, const Mark& mark, const std::string& path,
                  Diagnostics& diagnostics);

// Errors: a name twice; a label twice; `near` with a name that no entry has; `sameCard` of which the other
// entry does not know; two entries over the same cards whose kinds would give a variable different values; a
// list that does not fit into one message to the kubelet; an id that two resources have, as far as ids are
// known without looking at the machine. Warnings: two resources that could give an environment variable, an
// annotation or a path in the container different values.
void check_entries(std::span<const EntryDraft> entries, Diagnostics& diagnostics);

// Where a key of an entry stands; the entry itself if it has no such key.
const Mark& mark_of(const EntryDraft& entry, std::string_view key);

std::string named(const EntryDraft& entry);

// Returns true if both have a `when`: a node decides which of them apply, and refuses one if both do.
bool may_exclude_each_other(const EntryDraft& a, const EntryDraft& b);
// Returns true if both entries have one resource name.
bool is_same_resource(const EntryDraft& a, const EntryDraft& b);

// As far as it is known: patterns that differ may be for different devices.
bool take_the_same(const EntryDraft& one, const EntryDraft& other);

// Reports two resources that could set one variable, annotation or path differently: see check_entries().
void check_containers(std::span<const EntryDraft> entries, Diagnostics& diagnostics);

}  // namespace plughost
