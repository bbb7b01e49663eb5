#pragma once

#include <string>

namespace plughost::test {

// A shell that does what `on_term` says when it gets SIGTERM and ends then; before that it does `first`, and
// waits. It starts nothing after it has set its trap: in the moment in which it starts a program dash loses a
// signal, because the child is the same memory until it runs.
inline std::string trapping(const std::string& on_term, const std::string& first = ":") {
  return "sleep 1000 & trap '" + on_term + "; exit' TERM; " + first + "; wait";
}

}  // namespace plughost::test
