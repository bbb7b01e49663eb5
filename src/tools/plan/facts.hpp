#pragma once
// The facts of a node: what it is, for a look at it elsewhere, and their form in JSON. Values; pure
// functions.

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "host/hardware/recorded_machine.hpp"

namespace plughost {

inline constexpr int kFactsVersion = 1;
// The content of a greater file is not recorded.
inline constexpr std::size_t kMostRecordedText = 4096;

struct Facts {
  std::string node;      // how it is called in tables
  std::string recorded;  // when: "2026-01-31T12:00:00Z"
  std::shared_ptr<const RecordedMachine> machine;
};

// The text is no facts, or those of another version. what() is a sentence without the file's name, with line
// and column where the text is no JSON.
struct FactsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Facts read_facts(std::string_view text);

// What read_facts reads, on one line. What is not UTF-8 in names is replaced.
std::string text_of(const Facts& facts);

}  // namespace plughost
