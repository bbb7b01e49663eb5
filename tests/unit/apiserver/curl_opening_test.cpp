#include "apiserver/curl_opening.hpp"

#include <doctest/doctest.h>

#include "unit/leased_program.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace std::chrono_literals;

TEST_CASE(
    "while opening libcurl stalls, a later request is refused at once, and afterwards libcurl is opened") {
  const test::TempDir directory;
  EventLoop loop;
  Workers workers(loop, 2);
  test::LeasedProgram stalled(directory.at("libcurl.so.4"));
  CurlOpening opening(workers, stalled.path(), 50ms);
  std::vector<std::string> troubles;
  const auto want = [&] { opening.want([&](const std::string& trouble) { troubles.push_back(trouble); }); };
  const std::string slow =
      "opening libcurl takes longer than 50 ms: the file system that it lies on does not answer";
  want();
  REQUIRE(test::run_until(loop, [&] { return troubles.size() == 1; }));
  CHECK(troubles[0] == slow);
  want();
  REQUIRE(troubles.size() == 2);
  CHECK(troubles[1] == slow);
  stalled.give_back();
  REQUIRE(test::run_until(loop, [&] {
    want();
    return troubles.back() != slow;
  }));
  // The file is a shell script, which the loader refuses.
  CHECK(troubles.back().find("cannot be opened: " + stalled.path()) != std::string::npos);
}
