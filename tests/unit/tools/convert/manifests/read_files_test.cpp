#include "tools/convert/manifests/read_files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/system/unique_fd.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

// Makes the file the standard input while it lives.
class StandardInput {
 public:
  explicit StandardInput(const std::filesystem::path& file)
      : former_(check(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), "F_DUPFD_CLOEXEC")) {
    const UniqueFd opened(check(::open(file.c_str(), O_RDONLY | O_CLOEXEC), "open"));
    check(::dup2(opened.get(), STDIN_FILENO), "dup2");
  }
  ~StandardInput() { ::dup2(former_.get(), STDIN_FILENO); }
  StandardInput& operator=(StandardInput&&) = delete;

 private:
  UniqueFd former_;
};

std::string errors_of(const Diagnostics& diagnostics) {
  std::string lines;
  for (const Diagnostic& each : diagnostics.all()) lines += each.text() + '\n';
  return lines;
}

TEST_CASE("'-' is read from standard input, and its errors name standard input") {
  const test::TempDir directory;
  Diagnostics diagnostics;
  SUBCASE("with YAML as the input") {
    directory.file("input", "name: theirs\n");
    const StandardInput input(directory.at("input"));
    const ReadFiles read = read_files("-", diagnostics);
    CHECK(errors_of(diagnostics) == "");
    CHECK(read.files == std::vector<std::string>{"standard input"});
    REQUIRE(read.documents.size() == 1);
    CHECK(read.documents[0].find("name")->scalar == "theirs");
  }
  SUBCASE("with an empty input") {
    directory.file("input");
    const StandardInput input(directory.at("input"));
    CHECK(read_files("-", diagnostics).files.empty());
    CHECK(errors_of(diagnostics) == "standard input: the file is empty\n");
  }
}

TEST_CASE("a directory of 20,000 files is read, and a larger one is refused") {
  constexpr std::size_t kMost = 20'000;
  const test::TempDir directory;
  directory.file("0.yaml");
  const auto add = [&](std::size_t n) {
    std::filesystem::create_hard_link(directory.at("0.yaml"), directory.at(std::to_string(n) + ".yaml"));
  };
  for (std::size_t n = 1; n < kMost; ++n) add(n);
  const std::string path = directory.path();
  Diagnostics none;
  CHECK(read_files(path, none).files.size() == kMost);
  CHECK(errors_of(none) == "");
  add(kMost);
  Diagnostics errors;
  read_files(path, errors);
  CHECK(errors_of(errors) == path + ": more than 20000 files are in it; name the directory that is meant\n");
}

}  // namespace
}  // namespace plughost
