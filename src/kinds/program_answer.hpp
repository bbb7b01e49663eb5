#pragma once
// The end of a program that was to print something. Internal to kinds. Thread-safe.

#include <chrono>
#include <string>

#include "base/program_run.hpp"

namespace plughost {

// What a program may print, in bytes.
inline constexpr std::size_t kMostAnswer = 4u << 20;

// Why the program's end is no answer, with the last line of its standard error; empty: it is one.
std::string why_no_answer(const ProgramRun::Outcome& outcome, std::chrono::milliseconds timeout);

}  // namespace plughost
