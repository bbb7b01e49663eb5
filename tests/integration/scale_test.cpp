// Checks large numbers: cases 45 and 46 of the conformance list. Instrumented builds are ten to a hundred
// times slower and use smaller numbers. Under ThreadSanitizer these tests would take minutes, and run no
// threads that other tests do not run.

#include <doctest/doctest.h>
#include <fcntl.h>

#include "integration/node.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

TEST_CASE("a hundred thousand files in one directory do not delay another resource") {
  Node node;
  node.files().file("small/one");
  node.files().directory("big");
  const UniqueFd big(::open(node.path("big").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto create = [&](int n) {
    const UniqueFd file(::openat(big.get(), std::to_string(n).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    REQUIRE(file);
  };
  constexpr int kFiles = kSanitized ? 10'000 : 100'000;
  for (int n = 0; n < kFiles; ++n) create(n);
  node.configure(listed("example.com/big", node.path("big")) +
                 listed("example.com/small", node.path("small")));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({"example.com/small"}));
  REQUIRE(node.count("example.com/big", kFiles, 3 * kLong));

  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    create(kFiles + round);  // starts a scan of all files
    node.files().file("small/round-" + std::to_string(round));
    CHECK(node.healthy("example.com/small", "round-" + std::to_string(round), limit(1s)));
    const auto start = std::chrono::steady_clock::now();
    CHECK(node.kubelet().allocate_ids("example.com/small", {"one"}).code == 0);
    CHECK(std::chrono::steady_clock::now() - start <= limit(1s));
  }
  CHECK(node.count("example.com/big", kFiles + 3, 3 * kLong));
  CHECK(node.of("example.com/big").streams_ever == 1);
}

TEST_CASE("7.45 the largest list that fits into a message is listed, and can change") {
  constexpr int kMost = kSanitized ? 5'000 : 50'000;
  Node node;
  node.configure(counted("example.com/many", kMost, "id: \"{n}-" + std::string(57, 'x') + "\""));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.count("example.com/many", kMost));
  node.configure(counted("example.com/many", kMost - 1, "id: \"{n}-" + std::string(57, 'x') + "\""));
  REQUIRE(node.reload());
  CHECK(node.count("example.com/many", kMost - 1));
  CHECK(node.of("example.com/many").streams_ever == 1);
}

TEST_CASE("7.46 a thousand kubelet restarts do not increase descriptors or memory") {
  constexpr int kRestarts = kSanitized ? 50 : 1000;
  Node node;
  const Node::Names names{"example.com/a", "example.com/b", "example.com/gopher"};
  node.files().file("gophers/one");
  node.configure(counted(names[0], 2) + counted(names[1], 3) + listed(names[2], node.path("gophers")));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached(names));
  const auto restart = [&](int times) {
    for (int i = 0; i < times; ++i) {
      node.kubelet().restart();
      REQUIRE(node.attached(names));
    }
  };
  restart(kRestarts / 10);
  const std::size_t descriptors = node.daemon().open_descriptors();
  const std::size_t kilobytes = node.daemon().resident_kilobytes();
  restart(kRestarts - kRestarts / 10);
  // The last kubelet's connections may still be closing.
  CHECK(eventually([&] { return node.daemon().open_descriptors() <= descriptors + 1; }));
  if (!kSanitized) CHECK(node.daemon().resident_kilobytes() <= kilobytes + 2048);
  CAPTURE(kilobytes);
  CAPTURE(node.daemon().resident_kilobytes());
  CHECK(node.kubelet().allocate("pod", "c", "example.com/b", 3).admitted());
}
