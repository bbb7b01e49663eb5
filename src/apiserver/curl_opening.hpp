#pragma once
// libcurl, opened off the loop when something first needs it. Loop thread only.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/event_loop.hpp"
#include "base/workers.hpp"

namespace plughost {

struct CurlLibrary;

class CurlOpening {
 public:
  using Ready = std::function<void(const std::string& trouble)>;  // empty: library() is there

  // workers outlive it. After deadline whoever waits is told that it takes too long.
  CurlOpening(Workers& workers, std::string name, std::chrono::milliseconds deadline)
      : workers_(workers), name_(std::move(name)), deadline_(deadline) {}
  CurlOpening& operator=(CurlOpening&&) = delete;

  const std::shared_ptr<const CurlLibrary>& library() const { return library_; }
  // ready runs in the loop, maybe at once; never, if this is gone by then.
  void want(Ready ready);

 private:
  void open();
  void tell(const std::string& trouble);
  std::string slow_text() const;

  Workers& workers_;
  const std::string name_;
  const std::chrono::milliseconds deadline_;
  std::shared_ptr<const CurlLibrary> library_;
  bool opening_ = false;
  bool hangs_ = false;
  std::vector<Ready> waiting_;
  Lifetime lifetime_;
};

}  // namespace plughost
