#pragma once
// The facts of a node, from which a plan can be made on another machine, and their form in JSON. Values; pure
// functions.

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "host/hardware/recorded_machine.hpp"

namespace plughost {

inline constexpr int kFactsVersion = 1;
// Files with more bytes are recorded without their content.
inline constexpr std::size_t kMostRecordedText = 4096;

struct Facts {
  std::string node;      // name in tables
  std::string recorded;  // time, "2026-01-31T12:00:00Z"
  std::shared_ptr<const RecordedMachine> machine;
};

// Thrown if the text has no facts, or facts of another version. what() is a sentence without the file's name;
// if the text is not JSON, it has the line and the column.
struct FactsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Facts read_facts(std::string_view text);

// Returns the text for read_facts(), on one line. Invalid UTF-8 in names is replaced.
std::string text_of(const Facts& facts);

}  // namespace plughost
