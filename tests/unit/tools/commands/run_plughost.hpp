#pragma once
// Runs plughost's command line in the process of the test. Not thread-safe.

#include <iostream>
#include <streambuf>
#include <string>
#include <vector>

#include "tools/command_line/command_line.hpp"
#include "unit/texts.hpp"

namespace plughost::test {

struct CommandResult {
  int exit_code = -1;
  std::string output = {};   // both streams, as on a terminal
  std::string printed = {};  // standard output alone
  std::string errors = {};   // standard error alone
};
inline bool has(const CommandResult& result, std::string_view part) { return has(result.output, part); }

// Appends the stream's output to both texts instead of printing it, while it lives.
class CapturedStream final : public std::streambuf {
 public:
  CapturedStream(std::ostream& stream, std::string& own, std::string& both)
      : stream_(stream), former_(stream.rdbuf(this)), own_(own), both_(both) {}
  ~CapturedStream() override { stream_.rdbuf(former_); }
  CapturedStream(const CapturedStream&) = delete;
  CapturedStream& operator=(const CapturedStream&) = delete;

 protected:
  int_type overflow(int_type c) override {
    const char text = traits_type::to_char_type(c);
    xsputn(&text, 1);
    return c;
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    own_.append(text, static_cast<std::size_t>(size));
    both_.append(text, static_cast<std::size_t>(size));
    return size;
  }

 private:
  std::ostream& stream_;
  std::streambuf* former_;
  std::string& own_;
  std::string& both_;
};

// Runs `plughost ARGUMENTS` to its end.
inline CommandResult run_plughost(const std::vector<std::string>& arguments) {
  std::vector<const char*> words{"plughost"};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  CommandResult result;
  const CapturedStream output(std::cout, result.printed, result.output);
  const CapturedStream errors(std::cerr, result.errors, result.output);
  result.exit_code = run_command_line(static_cast<int>(words.size()), words.data());
  return result;
}

}  // namespace plughost::test
