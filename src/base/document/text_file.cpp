#include "base/document/text_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/system/unique_fd.hpp"
#include "base/text/ascii.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

// Bounds the bytes that are read. The limits in yaml.hpp bound the values that these bytes expand to.
constexpr std::size_t kLargestFile = 1u << 20;

std::string reason(int error) { return std::generic_category().message(error); }

// Returns the offset of the first byte that a text cannot contain, or the text's size.
std::size_t first_bad_byte(std::string_view text) {
  const auto is_wrong = [](char c) { return is_control(c) && c != '\t' && c != '\n' && c != '\r'; };
  const auto control = static_cast<std::size_t>(std::ranges::find_if(text, is_wrong) - text.begin());
  return whole_characters(text, control).size();
}

std::string describe_byte(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return "byte 0x" + upper_hex(text[at]) + " at " + std::to_string(line) + ':' +
         std::to_string(at - line_start + 1);
}

}  // namespace

std::variant<std::string, FileError> read_text_file(const std::filesystem::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return FileError{"cannot be opened: " + reason(errno)};
  struct stat status {};
  if (::fstat(fd.get(), &status) < 0) return FileError{"cannot be read: " + reason(errno)};
  if (S_ISDIR(status.st_mode)) return FileError{"is a directory, not a file"};
  if (!S_ISREG(status.st_mode)) return FileError{"is not a regular file"};
  return read_text(fd.get());
}

std::variant<std::string, FileError> read_text(int fd) {
  std::string text;
  for (ssize_t got = 1; got != 0;) {
    constexpr std::size_t kChunk = 64u << 10;
    const std::size_t size = text.size();
    text.resize(size + kChunk);
    got = ::read(fd, text.data() + size, kChunk);
    if (got < 0 && errno == EINTR) {
      text.resize(size);
      continue;
    }
    if (got < 0) return FileError{"cannot be read: " + reason(errno)};
    text.resize(size + static_cast<std::size_t>(got));
    if (text.size() > kLargestFile) return FileError{"is larger than 1 MiB, which no configuration is"};
  }

  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return FileError{"is in UTF-16; save it as UTF-8"};
  if (const std::size_t at = first_bad_byte(text); at < text.size())
    return FileError{"is not a text file (" + describe_byte(text, at) + ")"};
  return text;
}

}  // namespace plughost
