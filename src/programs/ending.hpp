#pragma once
// The one maker of sentences of how a program ended. Pure functions, thread-safe.

#include <chrono>
#include <string>
#include <string_view>

#include "programs/program.hpp"

namespace plughost {

// How a program is spoken of.
struct Spoken {
  std::string_view what = "the program";  // "the health check"
  // Where it says what is wrong. With its output: the first line is all that is told. Apart: the last line of
  // its standard error comes after the sentence.
  Program::Errors words = Program::Errors::kApart;
  std::string_view late = " after ";  // "the program was killed", this, "5 s"
};

// Why the program did not do what it was to do; empty: it ended by itself with 0. Valid UTF-8 on one line,
// with at most 200 bytes of its own words.
std::string why_failed(const Spoken& spoken, const Ending& ending);

// ": " and the last line of what it wrote to standard error; empty if there is none.
std::string last_words(std::string_view errors);

// "20 s", "250 ms".
std::string duration_text(std::chrono::milliseconds duration);

}  // namespace plughost
