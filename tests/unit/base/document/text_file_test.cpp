#include "base/document/text_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using test::TempDir;

std::string error_of(const std::filesystem::path& path) {
  const auto read = read_text_file(path);
  const auto* error = std::get_if<FileError>(&read);
  return error ? error->what : "no trouble";
}

std::string error_with(std::string_view content) {
  const TempDir dir;
  dir.file("a.yaml", content);
  return error_of(dir.at("a.yaml"));
}

TEST_CASE("a text file is read unchanged") {
  const TempDir dir;
  const std::string content =
      "\xEF\xBB\xBF"
      "a: 1\r\n\tb: \xC3\xA4 \xF0\x9F\x90\xB9\n" +
      std::string(200'000, 'x');
  dir.file("a.yaml", content);
  const auto read = read_text_file(dir.at("a.yaml"));
  REQUIRE(std::holds_alternative<std::string>(read));
  CHECK(std::get<std::string>(read) == content);
  dir.file("empty.yaml");
  CHECK(std::get<std::string>(read_text_file(dir.at("empty.yaml"))).empty());
}

TEST_CASE("an open descriptor is read to its end, also if it is a pipe") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const std::string content = "a: 1\nb: 2\n";
  REQUIRE(::write(ends[1], content.data(), content.size()) == static_cast<ssize_t>(content.size()));
  ::close(ends[1]);
  const auto read = read_text(ends[0]);
  ::close(ends[0]);
  REQUIRE(std::holds_alternative<std::string>(read));
  CHECK(std::get<std::string>(read) == content);
  const auto closed = read_text(-1);
  REQUIRE(std::holds_alternative<FileError>(closed));
  CHECK(std::get<FileError>(closed).what.starts_with("cannot be read: "));
}

TEST_CASE("a file that cannot be opened is reported") {
  const TempDir dir;
  dir.file("file");
  dir.link("loop", "loop");
  CHECK(error_of(dir.at("missing")) == "cannot be opened: No such file or directory");
  CHECK(error_of(dir.at("file/below")) == "cannot be opened: Not a directory");
  CHECK(error_of(dir.at("loop")) == "cannot be opened: Too many levels of symbolic links");
}

TEST_CASE("a directory, a pipe and a device are refused without waiting") {
  const TempDir dir;
  REQUIRE(::mkfifo(dir.at("pipe").c_str(), 0600) == 0);
  CHECK(error_of(dir.path()) == "is a directory, not a file");
  CHECK(error_of(dir.at("pipe")) == "is not a regular file");
  CHECK(error_of("/dev/zero") == "is not a regular file");
}

TEST_CASE("the first byte that is not text is reported with its line and column") {
  CHECK(error_with(std::string_view("a: 1\nb:\0", 8)) == "is not a text file (byte 0x00 at 2:3)");
  CHECK(error_with("\x7f"
                   "ELF") == "is not a text file (byte 0x7F at 1:1)");
  CHECK(error_with("a: 1\n\nbc\xFF"
                   "d") == "is not a text file (byte 0xFF at 3:3)");
  CHECK(error_with(std::string_view("\xFF\xFE"
                                    "a\0",
                                    4)) == "is in UTF-16; save it as UTF-8");
  CHECK(error_with(std::string_view("\xFE\xFF\0a", 4)) == "is in UTF-16; save it as UTF-8");
  CHECK(error_with("\xC3\xA4\xC3") == "is not a text file (byte 0xC3 at 1:3)");
  CHECK(error_with("\xED\xA0\x80") == "is not a text file (byte 0xED at 1:1)");
}

TEST_CASE("a control character that ends input on terminals is refused") {
  CHECK(error_with("a: 1\n\x04\nb: 1\n") == "is not a text file (byte 0x04 at 2:1)");
}

TEST_CASE("a file larger than 1 MiB is refused") {
  const TempDir dir;
  dir.file("largest.yaml", std::string(1u << 20, '#'));
  CHECK(error_of(dir.at("largest.yaml")) == "no trouble");
  dir.file("a.yaml");
  std::filesystem::resize_file(dir.at("a.yaml"), (1u << 20) + 1);
  CHECK(error_of(dir.at("a.yaml")) == "is larger than 1 MiB, which no configuration is");
}

}  // namespace
}  // namespace plughost
