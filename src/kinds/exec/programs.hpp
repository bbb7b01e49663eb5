#pragma once
// The programs of a user's own that list devices, and what they have said last. Internal to exec.

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "kinds/kind.hpp"
#include "programs/program.hpp"

namespace plughost {

// What a program has said last. Thread-safe: the loop writes it, and scans read it.
class Newest {
 public:
  struct Said {
    std::shared_ptr<const std::string> document;  // nullptr: there was none yet
    std::string errors;                           // ": " and the last line of its standard error then
    std::string trouble;                          // why the document may not be true any more; empty: it is
  };

  Said get() const {
    const std::lock_guard lock(mutex_);
    return said_;
  }
  void take_document(std::string document, std::string errors) {
    auto shared = std::make_shared<const std::string>(std::move(document));
    const std::lock_guard lock(mutex_);
    said_ = {.document = std::move(shared), .errors = std::move(errors)};
  }
  void take_trouble(std::string trouble) {
    const std::lock_guard lock(mutex_);
    said_.trouble = std::move(trouble);
  }

 private:
  mutable std::mutex mutex_;
  Said said_;
};

// `discover`: the program is run before each scan, and prints a document. programs outlives what is returned,
// as below.
std::unique_ptr<SourceWatch> run_before_scans(Programs& programs, Program program,
                                              std::shared_ptr<Newest> newest);

// `watch`: the program stays, prints a document in a line whenever something has changed, and is started
// again whenever it has ended. timeout: the longest silence of one that is well; nullopt: it may be silent
// for ever. hint is called when newest has something new.
std::unique_ptr<SourceWatch> keep_running(Programs& programs, Program program,
                                          std::optional<std::chrono::milliseconds> timeout,
                                          std::shared_ptr<Newest> newest, std::function<void()> hint);

}  // namespace plughost
