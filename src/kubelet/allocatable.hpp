#pragma once
// Which devices the kubelet would give: its own count, and not what it was sent. Loop thread only.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/event_loop.hpp"
#include "base/lifetime.hpp"

namespace plughost {

class Allocatable {
 public:
  static constexpr std::chrono::seconds kDeadline{2};

  // Ids of its Healthy devices by resource, sorted, each once.
  using Ids = std::map<std::string, std::vector<std::string>, std::less<>>;
  struct Count {
    std::shared_ptr<const Ids> ids;  // nullptr: not known
    std::string why;                 // if not known
  };

  // socket: of the pod resources.
  Allocatable(EventLoop& loop, std::filesystem::path socket);
  ~Allocatable();

  // done runs in the loop, maybe at once; never, if this is gone by then. One question at a time.
  void ask(std::function<void(const Count& count)> done);
  bool asking() const { return call_ != nullptr; }

 private:
  struct Call;

  EventLoop& loop_;
  std::filesystem::path socket_;
  std::unique_ptr<Call> call_;  // under way
  Lifetime lifetime_;
};

}  // namespace plughost
