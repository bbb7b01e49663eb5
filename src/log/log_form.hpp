#pragma once
// How a line of the log looks, by whom it is read.

#include <spdlog/formatter.h>

#include <memory>

#include "log/log_line.hpp"

namespace plughost {

enum class LogForm {
  kText,     // for people: a time of the machine's own, the level, the words and the fields
  kColours,  // the same on a terminal
  kJson,     // an object a line
  kJournal,  // sd-daemon(3)'s for standard error; and behind a null the journal's datagram, which is asked
             // first
};

// Formats what packed() made. For one thread at a time.
std::unique_ptr<spdlog::formatter> formatter_of(LogForm form);

}  // namespace plughost
