#pragma once
// Lines of the log that wait to be written: so many, and no more. A value.

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

namespace plughost {

class LogQueue {
 public:
  // A restart of the kubelet is some hundred bytes for each resource.
  static constexpr std::size_t kMostBytes = 1 << 20;

  // Without room the line is left out, and so are those after it until half of the queue is free: they are
  // one gap, and are told as one.
  void push(std::string line) {
    full_ = full_ ? bytes_ > kMostBytes / 2 : bytes_ >= kMostBytes;
    if (full_) {
      ++left_out_;
      return;
    }
    bytes_ += line.size();
    lines_.push_back({std::move(line), std::exchange(left_out_, 0)});
  }

  struct Next {
    std::size_t left_out = 0;         // lines that are missing here
    std::optional<std::string> line;  // what comes after them; nullopt: nothing has come yet
  };
  // What is to be written next; nullopt: nothing.
  std::optional<Next> pop() {
    if (lines_.empty()) {
      if (left_out_ == 0) return std::nullopt;
      return Next{std::exchange(left_out_, 0), std::nullopt};
    }
    Waiting first = std::move(lines_.front());
    lines_.pop_front();
    bytes_ -= first.line.size();
    return Next{first.left_out, std::move(first.line)};
  }

  bool empty() const { return lines_.empty() && left_out_ == 0; }

 private:
  struct Waiting {
    std::string line;
    std::size_t left_out;  // before it
  };
  std::deque<Waiting> lines_;
  std::size_t bytes_ = 0;
  std::size_t left_out_ = 0;  // after all of them
  bool full_ = false;
};

}  // namespace plughost
