// Checks that the example programs of docs/exec.md do what the page says.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "host/programs/programs.hpp"
#include "host/programs/subprocess.hpp"
#include "kinds/exec/document.hpp"
#include "places.hpp"
#include "unit/kinds/entry.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

// The example programs, in the page's order.
enum class What { kList, kWatch, kAllocate, kUnhealthy };

// Returns the example program in `language` as the page shows it.
std::string block(const std::string& language, What what) {
  std::ifstream file(in_source("/docs/exec.md"));
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::string begin = "```" + language + '\n';
  std::size_t from = page.find(begin);
  for (int i = 0; i < static_cast<int>(what) && from != std::string::npos; ++i)
    from = page.find(begin, from + 1);
  REQUIRE(from != std::string::npos);
  from += begin.size();
  return page.substr(from, page.find("```", from) - from);
}

// Writes the example program to an executable file.
std::string program(const TempDir& dir, const std::string& language, What what) {
  const std::string path = dir.at("program").string();
  if (language == "cpp") {
    dir.file("program.cpp", block(language, what));
    REQUIRE(std::system(("c++ -std=c++20 -o " + path + ' ' + dir.at("program.cpp").string()).c_str()) == 0);
  } else {
    dir.file("program", block(language, what));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  return path;
}

void check_list(const std::string& language) {
  const TempDir dir;
  dir.file("disks/good", "/dev/null\n");
  dir.file("disks/gone", "/nonexistent/disk\n");
  const Entry entry = read_entry(
      "exec",
      map({{"discover", list({text(program(dir, language, What::kList)), text(dir.at("disks").string())})},
           {"timeout", text("1m")}}));
  auto devices = entry.source->scan(HostRoot()).devices;
  std::ranges::sort(devices, {}, &Device::id);
  REQUIRE(devices.size() == 2);
  CHECK(devices[0] == Device{.id = "gone",
                             .error = "/nonexistent/disk is not there",
                             .nodes = {{.host_path = "/nonexistent/disk",
                                        .container_path = "/nonexistent/disk",
                                        .permissions = "rw"}}});
  CHECK(devices[1].id == "good");
  CHECK(devices[1].healthy());
}

void check_watch(const std::string& language) {
  const TempDir dir;
  dir.file("disks/sda", "/dev/null\n");
  const Entry entry = read_entry(
      "exec",
      map({{"watch", list({text(program(dir, language, What::kWatch)), text(dir.at("disks").string())})}}));
  EventLoop loop;
  Programs programs(loop);
  const auto watch = entry.source->watch(programs, [] {});
  const auto lists = [&](const std::vector<std::string>& wanted) {
    return run_until(
        loop,
        [&] {
          const Scan scan = entry.source->scan(HostRoot());
          auto ids = ids_of(scan);
          std::ranges::sort(ids);
          return !scan.undecided && ids == wanted && scan.remarks.empty();
        },
        std::chrono::seconds(30));
  };
  CHECK(lists({"sda"}));
  dir.file("disks/sdb", "/dev/zero\n");
  CHECK(lists({"sda", "sdb"}));
}

Allocation answer(const std::string& language) {
  const TempDir dir;
  const ResourceSnapshot snapshot{.resource = "example.com/superdisk",
                                  .inventory = Inventory({{.id = "sda"}, {.id = "sdb"}})};
  const std::vector<std::string> ids{"sdb", "sda"};
  const Ending ending = run_program({.command = {program(dir, language, What::kAllocate)},
                                     .input = allocation_request(snapshot, ids),
                                     .timeout = std::chrono::minutes(1)});
  CHECK(ending.how == Ending::How::kExited);
  CHECK(ending.number == 0);
  return read_allocation_document(ending.output);
}

const Allocation kDirectories{
    .env = {{"SUPERDISKS", "sdb,sda"}},
    .mounts = {{"/srv/superdisks/sdb", "/disks/sdb", false}, {"/srv/superdisks/sda", "/disks/sda", false}}};

}  // namespace

TEST_CASE("the page's shell program lists devices") { check_list("sh"); }
TEST_CASE("the page's Python program lists devices") { check_list("python"); }
TEST_CASE("the page's C++ program lists devices") { check_list("cpp"); }

TEST_CASE("the page's shell program keeps running, and prints a line for each change") { check_watch("sh"); }
TEST_CASE("the page's Python program keeps running, and prints a line for each change") {
  check_watch("python");
}
TEST_CASE("the page's C++ program keeps running, and prints a line for each change") { check_watch("cpp"); }

TEST_CASE("the page's shell program gives each container its own token") {
  const std::string token = answer("sh").env.at("SUPERDISK_TOKEN");
  CHECK(token.size() == 32);
  CHECK(answer("sh").env.at("SUPERDISK_TOKEN") != token);
}
TEST_CASE("the page's Python program answers an Allocate") { CHECK(answer("python") == kDirectories); }
TEST_CASE("the page's C++ program answers an Allocate") { CHECK(answer("cpp") == kDirectories); }

TEST_CASE("the page's program deletes the pods that hold an Unhealthy device, and no other pod") {
  const TempDir dir;
  program(dir, "python", What::kUnhealthy);
  dir.file("kubectl", "#!/bin/sh\necho \"$@\" >>\"$(dirname \"$0\")/asked\"\n");
  std::filesystem::permissions(dir.at("kubectl"), std::filesystem::perms::owner_all);
  dir.file("device",
           R"({"resource": "x", "device": "sda", "reason": "gone", "since": null, "holdersUnknown": "",
    "holders": [{"id": "sda", "namespace": "default", "pod": "backup-0", "container": "main"},
                {"id": "sda", "namespace": "", "pod": "6c1f", "container": "main"}]})");
  const std::string in = dir.path().string();
  CHECK(std::system(("PATH=" + in + ":$PATH " + in + "/program <" + in + "/device").c_str()) == 0);
  std::ifstream asked(dir.at("asked"));
  CHECK(std::string(std::istreambuf_iterator<char>(asked), {}) ==
        "--kubeconfig /etc/superdisk/kubeconfig delete pod --wait=false --namespace default backup-0\n");
}
