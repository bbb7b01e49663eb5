#pragma once
// Writes drains down, off the loop; what cannot be written is tried again until it is. Loop thread only.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/backoff.hpp"
#include "base/lifetime.hpp"
#include "base/log.hpp"
#include "base/workers.hpp"

namespace plughost {

class DrainStore {
 public:
  // A file system that takes longer hangs: who waits is told, and the write is waited for.
  static constexpr std::chrono::seconds kDeadline{2};
  static constexpr std::chrono::milliseconds kFirstRetry{1000};
  static constexpr std::chrono::milliseconds kLongestRetry{60'000};

  // Empty: it is written; else why not yet.
  using Done = std::function<void(const std::string& trouble)>;

  // Writes the text, on a worker; says why it could not, or nothing.
  using Write = std::function<std::string(const std::string& text)>;

  // path: of what is written. workers and log outlive it.
  DrainStore(EventLoop& loop, Workers& workers, Log& log, std::string path, Write write,
             std::chrono::milliseconds deadline = kDeadline);
  DrainStore(const DrainStore&) = delete;
  DrainStore& operator=(const DrainStore&) = delete;

  // done runs in the loop, within some seconds, maybe at once.
  void save(std::string text, Done done);

 private:
  void start();
  void on_written(const std::string& trouble);
  void on_overdue();
  void answer(const std::string& trouble);
  void note(const std::string& trouble);

  Workers& workers_;
  Log& log_;
  const std::chrono::milliseconds deadline_;
  const std::string path_;
  const Write write_;
  std::string text_;           // the newest
  std::vector<Done> waiting_;  // for its being written
  std::vector<Done> told_;     // of what is being written
  bool busy_ = false;
  bool hung_ = false;   // for longer than the deadline
  bool newer_ = false;  // there is another text than the one that is being written
  std::string trouble_;
  Backoff pause_{kFirstRetry, kLongestRetry};
  Timer retry_;
  Lifetime lifetime_;
};

}  // namespace plughost
