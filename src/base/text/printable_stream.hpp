#pragma once
// Escapes control characters in everything that is written to a stream, and has colours for terminals. One
// thread.

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

#include "base/text/text.hpp"

namespace plughost {

// While this object lives, it replaces the stream's buffer: the former buffer receives printable() text, in
// which newlines and tabs are kept, at each newline and flush. The stream must outlive this object.
class PrintableStream final : public std::streambuf {
 public:
  // With `coloured`, the former buffer receives the escape sequences of Coloured as well.
  explicit PrintableStream(std::ostream& stream, bool coloured = false)
      : stream_(stream), former_(stream.rdbuf(this)), coloured_(coloured) {}
  ~PrintableStream() override {
    pass_on();
    stream_.rdbuf(former_);
  }
  PrintableStream(const PrintableStream&) = delete;
  PrintableStream& operator=(const PrintableStream&) = delete;

  // Sets the colour of what is written next.
  void set(Colour colour) {
    if (!coloured_) return;
    constexpr std::string_view kSequences[] = {"\x1b[0m", "\x1b[31m", "\x1b[33m", "\x1b[32m"};
    pass_on();
    const std::string_view sequence = kSequences[static_cast<std::size_t>(colour)];
    former_->sputn(sequence.data(), static_cast<std::streamsize>(sequence.size()));
  }

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
  const bool coloured_;
  std::string written_;
};

// A text in a colour, if the stream has a PrintableStream with colours; the text alone otherwise.
struct Coloured {
  Colour colour;
  std::string_view text;
};
inline std::ostream& operator<<(std::ostream& out, const Coloured& text) {
  auto* const stream = text.colour == Colour::kNone ? nullptr : dynamic_cast<PrintableStream*>(out.rdbuf());
  if (stream) stream->set(text.colour);
  out << text.text;
  if (stream) stream->set(Colour::kNone);
  return out;
}

}  // namespace plughost
