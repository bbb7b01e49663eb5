#pragma once
// Escapes control characters in everything that is written to a stream. One thread.

#include <ostream>
#include <streambuf>
#include <string>

#include "base/text/text.hpp"

namespace plughost {

// While this object lives, it replaces the stream's buffer: the former buffer receives printable() text, in
// which newlines and tabs are kept, at each newline and flush. The stream must outlive this object.
class PrintableStream final : public std::streambuf {
 public:
  explicit PrintableStream(std::ostream& stream) : stream_(stream), former_(stream.rdbuf(this)) {}
  ~PrintableStream() override {
    pass_on();
    stream_.rdbuf(former_);
  }
  PrintableStream(const PrintableStream&) = delete;
  PrintableStream& operator=(const PrintableStream&) = delete;

 protected:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    written_ += traits_type::to_char_type(c);
    return c == '\n' && !pass_on() ? traits_type::eof() : c;
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    written_.append(text, static_cast<std::size_t>(size));
    return size == 0 || text[size - 1] != '\n' || pass_on() ? size : 0;
  }
  int sync() override { return pass_on() ? former_->pubsync() : -1; }

 private:
  bool pass_on() {
    const std::string text = printable(written_, "\n\t");
    written_.clear();
    const auto size = static_cast<std::streamsize>(text.size());
    return former_->sputn(text.data(), size) == size;
  }

  std::ostream& stream_;
  std::streambuf* former_;
  std::string written_;
};

}  // namespace plughost
