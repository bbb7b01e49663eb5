#pragma once
// What two resources would put into one container under the same key. Thread-safe.

#include <span>
#include <string>
#include <string_view>

#include "config/read_entry.hpp"
#include "document/diagnostics.hpp"

namespace plughost {

// Where a key of an entry stands; the entry itself if it has no such key.
const Mark& mark_of(const EntryDraft& entry, std::string_view key);

std::string named(const EntryDraft& entry);

// Which of them apply is known on a node, and there one is refused if both do.
bool may_exclude_each_other(const EntryDraft& a, const EntryDraft& b);
// Are they entries of one name?
bool is_same_resource(const EntryDraft& a, const EntryDraft& b);

// As far as it is known: patterns that differ may be for different devices.
bool take_the_same(const EntryDraft& one, const EntryDraft& other);

// Reports two resources that could set one variable, annotation or path differently: see check_entries().
void check_containers(std::span<const EntryDraft> entries, Diagnostics& diagnostics);

}  // namespace plughost
