#pragma once
// Keeps the newest lines of the log in memory. Thread-safe.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log/log_line.hpp"
#include "base/system/readers.hpp"
#include "base/text/json.hpp"

namespace plughost {

class LogHistory {
 public:
  static constexpr std::size_t kMost = 500;
  static constexpr std::size_t kMostText = 64 * 1024;  // in bytes
  static constexpr std::size_t kLongest = 16 * 1024;   // in bytes; a longer record is cut off there

  struct Record {
    std::uint64_t number = 0;  // from 1, without gaps
    std::chrono::system_clock::time_point time;
    LogLevel level = LogLevel::kInfo;
    std::string words;
    std::vector<std::pair<std::string, std::string>> fields;

    Json json() const;
  };

  // text: the result of packed().
  void add(LogLevel level, std::string_view text, std::chrono::system_clock::time_point time);
  // Returns the oldest stored record with a number above `number`; nullopt if no such record exists yet.
  std::optional<Record> after(std::uint64_t number) const;
  // Returns the number of the newest record; 0 if there was no record.
  std::uint64_t newest() const;

  Readers& readers() { return readers_; }

 private:
  // A record without its text, which is at the offsets `begin` to `end` of text_.
  struct Kept {
    std::chrono::system_clock::time_point time;
    LogLevel level{};
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  const Kept& kept(std::uint64_t number) const { return kept_[number % kMost]; }
  std::size_t make_room(std::size_t size);

  mutable std::mutex mutex_;
  // kept_ and text_ are rings that are allocated once: a long-lived allocation in the middle of a burst would
  // keep glibc from returning the burst's memory.
  std::vector<Kept> kept_ = std::vector<Kept>(kMost);
  std::unique_ptr<char[]> text_ = std::make_unique_for_overwrite<char[]>(kMostText);
  std::uint64_t oldest_ = 1;
  std::uint64_t newest_ = 0;
  Readers readers_;
};

}  // namespace plughost
