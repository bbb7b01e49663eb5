#include "daemon/report/node_capacity.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

using namespace std::chrono_literals;

const std::string kCards = "a.example/cards";
const std::string kCores = "a.example/cores";
const NodeCounts::Clock::time_point kStart{1h};

NodeCounts counting(const NodeResources& counted) {
  NodeCounts counts;
  counts.want(counted, {});
  return counts;
}

TEST_CASE("only counts that the Node does not show are written, at once") {
  NodeCounts counts = counting({{kCards, 2}, {kCores, 200}});
  const NodeCounts::Patch patch = counts.next({{kCards, "2"}, {"cpu", "8"}});
  CHECK(patch.resources == NodeResources{{kCores, 200}});
  CHECK(patch.at <= kStart);
  CHECK(counts.next({{kCards, "2"}, {kCores, "200"}}).resources.empty());
}

TEST_CASE("before an entry's cards are known its counts stay unchanged") {
  NodeCounts counts;
  counts.want({}, {kCards});
  CHECK_FALSE(counts.empty());
  CHECK(counts.next({{kCards, "7"}}).resources.empty());
  counts.want({{kCards, 2}}, {});
  counts.want({}, {kCards});
  CHECK(counts.next({{kCards, "2"}}).resources.empty());
  CHECK(counts.next({{kCards, "0"}}).resources == NodeResources{{kCards, 2}});
}

TEST_CASE(
    "an entry that is removed before its cards are known leaves 0 if a former process wrote its count") {
  NodeCounts counts;
  counts.want({{kCores, 100}}, {kCards});
  counts.want({{kCores, 100}}, {});
  CHECK(counts.next({{kCards, "7"}, {kCores, "100"}}).resources == NodeResources{{kCards, 0}});
  CHECK(counts.next({{kCards, "0"}, {kCores, "100"}}).resources.empty());
  CHECK(counts.next({{kCards, "7"}, {kCores, "100"}}).resources.empty());
  counts.want({{kCores, 100}}, {kCards});
  counts.want({{kCards, 2}, {kCores, 100}}, {});
  CHECK(counts.next({{kCores, "100"}}).resources == NodeResources{{kCards, 2}});
}

TEST_CASE("a written count is not written again before the Node has shown its capacity") {
  NodeCounts counts = counting({{kCards, 2}});
  counts.written({{kCards, 2}}, kStart);
  CHECK(counts.next({{kCards, "1"}}).resources.empty());
  counts.on_node();
  CHECK(counts.next({{kCards, "1"}}).resources == NodeResources{{kCards, 2}});
}

TEST_CASE("a new number of healthy cards is written even if the former number was just written") {
  NodeCounts counts = counting({{kCards, 2}});
  counts.written({{kCards, 2}}, kStart);
  counts.want({{kCards, 1}}, {});
  CHECK(counts.next({}).resources == NodeResources{{kCards, 1}});
}

TEST_CASE("another program's value is overwritten at most once a second") {
  NodeCounts counts = counting({{kCards, 2}});
  counts.written({{kCards, 2}}, kStart);
  counts.on_node();
  CHECK(counts.next({{kCards, "9"}}).at == kStart + 1s);
}

TEST_CASE("a failing patch is retried after 1 s, 2 s ... 60 s") {
  NodeCounts counts = counting({{kCards, 2}});
  for (const auto pause : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    counts.failed({.code = 503}, kStart);
    CHECK(counts.next({}).at == kStart + pause);
  }
  CHECK(counts.next({}).resources == NodeResources{{kCards, 2}});
  counts.written({{kCards, 2}}, kStart);
  counts.failed({.code = 503}, kStart);
  CHECK(counts.next({}).at == kStart + 1s);
}

TEST_CASE("a server's Retry-After is obeyed if it is longer than the back-off") {
  NodeCounts counts = counting({{kCards, 2}});
  counts.failed({.code = 429, .retry_after = 30s}, kStart);
  CHECK(counts.next({}).at == kStart + 30s);
  counts.failed({.code = 429, .retry_after = 0s}, kStart);
  CHECK(counts.next({}).at == kStart + 2s);
}

TEST_CASE(
    "a request without a response is due as soon as the server responds, and a refused request is not") {
  NodeCounts counts = counting({{kCards, 2}});
  counts.failed({.code = 0}, kStart);
  CHECK(counts.next({}).at == kStart + 1s);
  counts.on_server();
  CHECK(counts.next({}).at <= kStart);
  counts.failed({.code = 0}, kStart);
  counts.failed({.code = 429, .retry_after = 30s}, kStart);
  counts.on_server();
  CHECK(counts.next({}).at == kStart + 30s);
  counts.failed({.code = 0}, kStart);
  counts.written({{kCards, 2}}, kStart);
  counts.on_server();
  CHECK(counts.next({}).at == kStart + 1s);
}

TEST_CASE("a removed entry's count becomes 0, and is forgotten when the Node shows 0") {
  NodeCounts counts = counting({{kCards, 2}, {kCores, 200}});
  counts.want({{kCards, 2}}, {});
  const Capacity shown{{kCards, "2"}, {kCores, "200"}};
  CHECK(counts.next(shown).resources == NodeResources{{kCores, 0}});
  CHECK(counts.next({{kCards, "2"}, {kCores, "0"}}).resources.empty());
  // A later count that another program writes under that name is left alone.
  CHECK(counts.next(shown).resources.empty());
  CHECK_FALSE(counts.empty());
}

TEST_CASE("an entry that returns before its 0 is written continues to count") {
  NodeCounts counts = counting({{kCards, 2}});
  counts.want({}, {});
  counts.want({{kCards, 3}}, {});
  CHECK(counts.next({{kCards, "2"}}).resources == NodeResources{{kCards, 3}});
  CHECK(counts.next({{kCards, "3"}}).resources.empty());
  CHECK_FALSE(counts.empty());
}

TEST_CASE("at the end all counts become 0, at once after hurry(), and then nothing remains to be written") {
  NodeCounts counts = counting({{kCards, 2}, {kCores, 200}});
  counts.written({{kCards, 2}}, kStart);
  counts.want({}, {});
  CHECK(counts.next({{kCards, "2"}, {kCores, "200"}}).at == kStart + 1s);
  counts.hurry();
  CHECK(counts.next({{kCards, "2"}, {kCores, "200"}}).at <= kStart);
  CHECK(counts.next({{kCards, "2"}, {kCores, "200"}}).resources == NodeResources{{kCards, 0}, {kCores, 0}});
  CHECK_FALSE(counts.empty());
  counts.written({{kCards, 0}, {kCores, 0}}, kStart);
  CHECK(counts.next({{kCards, "2"}, {kCores, "200"}}).resources.empty());
  CHECK(counts.empty());
}

TEST_CASE("for a new API server the counts are unknown, and are written without a pause") {
  NodeCounts counts = counting({{kCards, 2}});
  counts.written({{kCards, 2}}, kStart);
  counts.failed({.code = 429, .retry_after = 60s}, kStart);
  counts.forget();
  CHECK(counts.next({}).resources == NodeResources{{kCards, 2}});
  CHECK(counts.next({}).at <= kStart);
}

}  // namespace
}  // namespace plughost
