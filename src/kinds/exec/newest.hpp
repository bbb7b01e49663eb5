#pragma once
// What a program has said last. Thread-safe: the loop writes it, and scans read it. Internal to exec.

#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace plughost {

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
    said_ = {.document = std::move(shared), .errors = std::move(errors), .trouble = {}};
  }
  void take_trouble(std::string trouble) {
    const std::lock_guard lock(mutex_);
    said_.trouble = std::move(trouble);
  }

 private:
  mutable std::mutex mutex_;
  Said said_;
};

}  // namespace plughost
