// The programs of docs/exec.md do what the page says.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "unit/kinds/entry.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

// The first block of the page in that language.
std::string program_in(const std::string& language) {
  std::ifstream file(PLUGHOST_SOURCE_DIR "/docs/exec.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::string begin = "```" + language + '\n';
  const std::size_t from = page.find(begin);
  REQUIRE(from != std::string::npos);
  return page.substr(from + begin.size(), page.find("```", from + begin.size()) - from - begin.size());
}

void check_program(const TempDir& dir) {
  dir.file("disks/good", "/dev/null\n");
  dir.file("disks/gone", "/nonexistent/disk\n");
  const std::string program = dir.at("program").string();
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Entry entry = read_entry(
      "exec",
      map({{"discover", list({text(program), text(dir.at("disks").string())})}, {"timeout", text("1m")}}));
  auto devices = entry.source->scan(HostRoot()).devices;
  std::ranges::sort(devices, {}, &Device::id);
  REQUIRE(devices.size() == 2);
  CHECK(devices[0] == Device{.id = "gone",
                             .trouble = "/nonexistent/disk is not there",
                             .nodes = {{.host_path = "/nonexistent/disk",
                                        .container_path = "/nonexistent/disk",
                                        .permissions = "rw"}}});
  CHECK(devices[1].id == "good");
  CHECK(devices[1].healthy());
}

}  // namespace

TEST_CASE("the page's program in the shell lists devices") {
  const TempDir dir;
  dir.file("program", program_in("sh"));
  check_program(dir);
}

TEST_CASE("the page's program in Python lists devices") {
  const TempDir dir;
  dir.file("program", program_in("python"));
  check_program(dir);
}

TEST_CASE("the page's program in C++ lists devices") {
  const TempDir dir;
  dir.file("program.cpp", program_in("cpp"));
  const std::string command =
      "c++ -std=c++20 -o " + dir.at("program").string() + ' ' + dir.at("program.cpp").string();
  REQUIRE(std::system(command.c_str()) == 0);
  check_program(dir);
}
