#pragma once
// The first of many names, in a text that is short however many there are and however long. A value; not
// thread-safe.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace plughost {

// As it is, or its first bytes and "...". Of UTF-8 no character is cut.
inline std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0u) == 0x80u) --most;
  return std::string(text.substr(0, most)) + "...";
}

class FirstNames {
 public:
  static constexpr std::size_t kMost = 5;
  static constexpr std::size_t kLongest = 80;  // bytes; an id of ours is shorter

  void add(std::string_view name) {
    if (count_++ >= kMost) return;
    if (!names_.empty()) names_ += ", ";
    names_ += shortened(name, kLongest);
  }
  std::size_t count() const { return count_; }
  // "a, b, c, d, e and 997 more"
  std::string text() const {
    return count_ > kMost ? names_ + " and " + std::to_string(count_ - kMost) + " more" : names_;
  }

 private:
  std::size_t count_ = 0;
  std::string names_;
};

}  // namespace plughost
