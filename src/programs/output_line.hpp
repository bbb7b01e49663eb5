#pragma once
// One line of what a program printed, fit for a log and for a pod's events. Thread-safe.

#include <string>
#include <string_view>

namespace plughost {

// The first, or the last, line with something on it; empty if there is none. Control characters become
// spaces, and what is not UTF-8 '?'. At most 200 bytes.
std::string first_line(std::string_view output);
std::string last_line(std::string_view output);

}  // namespace plughost
