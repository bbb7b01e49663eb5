#include "host/file_text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "base/unique_fd.hpp"

namespace plughost {

std::optional<std::string> file_text(const std::filesystem::path& file, std::size_t most) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return std::nullopt;
  std::string text;
  std::array<char, 4096> buffer{};
  while (text.size() < most) {
    const ssize_t size = ::read(fd.get(), buffer.data(), buffer.size());
    if (size < 0) return std::nullopt;
    if (size == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace plughost
