// Runs the code examples of the ten mistakes in CONTRIBUTING.md, which the build extracts from that page.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/system/workers.hpp"
#include "base/text/text.hpp"
#include "unit/run_until.hpp"
// The examples need the headers above.
#include "mistakes.hpp"

namespace plughost {
namespace {

TEST_CASE("the better forms of mistakes 4, 5 and 6 in CONTRIBUTING.md give the correct results") {
  CHECK(example_4::right({"a", "b"}, {"b", "c"}) == example_4::wrong({"a", "b"}, {"b", "c"}));
  CHECK(example_5::wrong("/run/cdi-old"));
  CHECK_FALSE(example_5::right("/run/cdi-old"));
  CHECK(example_6::wrong("../../etc") == "/srv/dongles/../../etc");
  CHECK_FALSE(example_6::right("../../etc"));
  CHECK(example_6::right("A1") == "/srv/dongles/A1");
}

TEST_CASE("the better form of mistake 1, a blocking call, delivers its result later in the loop") {
  EventLoop loop;
  Workers workers(loop, 1);
  std::optional<bool> found;
  example_1::right(workers, "/dev/null", [&](bool exists) { found = exists; });
  CHECK_FALSE(found);
  CHECK(test::run_until(loop, [&] { return found.has_value(); }));
  CHECK(found == true);
}

}  // namespace
}  // namespace plughost
