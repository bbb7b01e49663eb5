#pragma once
// The newest changes of state, as they were logged. Thread-safe.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/log_line.hpp"
#include "base/readers.hpp"

namespace plughost {

class LogHistory {
 public:
  static constexpr std::size_t kMost = 1000;

  struct Record {
    std::uint64_t number = 0;  // from 1; none is left out
    std::chrono::system_clock::time_point time;
    LogLevel level = LogLevel::kInfo;
    std::string words;
    std::vector<std::pair<std::string, std::string>> fields;

    Json json() const;
  };

  void add(LogLevel level, std::string_view words, LogFields fields);
  // The oldest one that is kept and has a greater number; nullopt: there is none yet.
  std::optional<Record> after(std::uint64_t number) const;
  // The number of the newest; 0: there was none.
  std::uint64_t newest() const;

  Readers& readers() { return readers_; }

 private:
  // A thousand of them stay in memory for ever: one string each.
  struct Kept {
    std::chrono::system_clock::time_point time;
    LogLevel level;
    std::string text;  // the words, then each field's key and value, with a null between them
  };

  mutable std::mutex mutex_;
  std::deque<Kept> kept_;
  std::uint64_t newest_ = 0;
  Readers readers_;
};

}  // namespace plughost
