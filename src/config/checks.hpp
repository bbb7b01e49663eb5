#pragma once
// Checks of a configuration as a whole, after each entry has been read. Thread-safe.

#include <span>
#include <string>
#include <string_view>

#include "base/document/diagnostics.hpp"
#include "config/read_entry.hpp"

namespace plughost {

// The form of socket names: plughost-<up to 24 readable characters>-<8 hex digits>-<up to 10 digits>.sock.
inline constexpr std::size_t kLongestSocketName = 60;

// Reports an error if a socket in the directory, with a name of `longest_name` bytes, has a path that exceeds
// a socket address. `mark` and `path` are the place where the directory is set.
void check_socket_directory(const std::filesystem::path& directory, std::size_t longest_name,
                            const Mark& mark, const std::string& path, Diagnostics& diagnostics);

// Reports an error if the socket's path exceeds a socket address.
void check_socket(const std::filesystem::path& socket, const Mark& mark, const std::string& path,
                  Diagnostics& diagnostics);

// Reports errors: a repeated name; a repeated label; `near` with an unknown name; `sameCard` in only one of
// two entries; two entries for the same cards whose kinds would give a variable different values; a list that
// exceeds one message to the kubelet; one id in two resources, as far as ids are known without a scan.
// Reports warnings: two resources that could give an environment variable, an annotation or a path in the
// container different values.
void check_entries(std::span<const EntryDraft> entries, Diagnostics& diagnostics);

// Returns the place of the entry's key, or of the entry if the key is absent.
const Mark& mark_of(const EntryDraft& entry, std::string_view key);

std::string named(const EntryDraft& entry);

// Returns true if both entries have a `when`. If both apply on a node, select() compares the entries.
bool may_exclude_each_other(const EntryDraft& a, const EntryDraft& b);
// Returns true if both entries have the same resource name.
bool is_same_resource(const EntryDraft& a, const EntryDraft& b);

// Returns true if both choices certainly have devices in common; different patterns may match none in common.
bool take_the_same(const EntryDraft& one, const EntryDraft& other);

// Reports two resources that could set a variable, annotation or path differently: see check_entries().
void check_containers(std::span<const EntryDraft> entries, Diagnostics& diagnostics);

}  // namespace plughost
