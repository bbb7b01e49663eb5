#include "kubelet/device_book.hpp"

#include <doctest/doctest.h>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

const std::string kBooked = "vendor.example/thing";

DeviceBook book_with(std::vector<ListedDevice> devices) {
  DeviceBook book;
  book.connect(kBooked, {});
  book.replace_list(kBooked, std::move(devices));
  return book;
}

}  // namespace

TEST_CASE("after the endpoint's disconnection its devices stay, and none is healthy") {
  DeviceBook book = book_with({{"a", true, {}}, {"b", false, {}}});
  CHECK(book.find(kBooked)->healthy() == 1);
  book.disconnect(kBooked, DeviceBook::Clock::now());
  CHECK(book.find(kBooked)->healthy() == 0);
  CHECK(book.find(kBooked)->devices->size() == 2);
}

TEST_CASE("a resource is forgotten if it stopped by the given time, and not if it stopped later") {
  DeviceBook book = book_with({{"a", true, {}}});
  const auto now = DeviceBook::Clock::now();
  book.disconnect(kBooked, now);
  CHECK(book.forget_stopped_before(now - 1s).empty());
  CHECK(book.forget_stopped_before(now) == std::vector<std::string>{kBooked});
  CHECK(book.find(kBooked) == nullptr);
}

TEST_CASE("a resource that connects again is not forgotten") {
  DeviceBook book = book_with({{"a", true, {}}});
  const auto now = DeviceBook::Clock::now();
  book.disconnect(kBooked, now);
  book.connect(kBooked, {});
  CHECK(book.forget_stopped_before(now + 1h).empty());
}

TEST_CASE("only healthy devices that no pod holds are available") {
  DeviceBook book = book_with({{"a", true, {}}, {"b", false, {}}, {"c", true, {}}});
  book.hold("pod", "main", kBooked, {"a"}, "");
  book.mark_allocated(kBooked, {"a"});
  CHECK(book.choose("other", "main", kBooked, 1).available == std::vector<std::string>{"c"});
  CHECK(book.choose("other", "main", kBooked, 2).error ==
        "requested number of devices unavailable for vendor.example/thing. Requested: 2, Available: 1");
}

TEST_CASE("a device of a pod that has ended is available once ended pods are forgotten") {
  DeviceBook book = book_with({{"a", true, {}}});
  book.mark_allocated(kBooked, {"a"});
  book.hold("pod", "main", kBooked, {"a"}, "");
  CHECK(book.end("pod"));
  CHECK_FALSE(book.end("pod"));
  CHECK(book.holdings().size() == 1);
  book.forget_ended();
  CHECK(book.holdings().empty());
  CHECK(book.choose("other", "main", kBooked, 1).error == "");
}

TEST_CASE("a device that is marked as allocated without a pod stays marked until ended pods are forgotten") {
  DeviceBook book = book_with({{"a", true, {}}, {"b", true, {}}});
  book.mark_allocated(kBooked, {"b"});
  book.hold("pod", "main", kBooked, {"b"}, "");
  book.mark_allocated(kBooked, {"a"});
  CHECK(book.choose("other", "main", kBooked, 1).available.empty());
  book.end("pod");
  book.forget_ended();
  CHECK(book.choose("other", "main", kBooked, 2).available == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a container that is admitted again gets what it holds, if that is healthy") {
  DeviceBook book = book_with({{"a", true, {}}, {"b", true, {}}});
  book.hold("pod", "main", kBooked, {"a"}, "answer");
  REQUIRE(book.choose("pod", "main", kBooked, 1).held != nullptr);
  CHECK(book.choose("pod", "main", kBooked, 1).held->answer == "answer");
  CHECK(book.choose("pod", "main", kBooked, 2).error.find("changed request") != std::string::npos);
  book.replace_list(kBooked, {{"a", false, {}}, {"b", true, {}}});
  CHECK(book.choose("pod", "main", kBooked, 1).error.find("no longer healthy") != std::string::npos);
}

TEST_CASE("ids are kept under each of their NUMA nodes, and under -1 without one") {
  DeviceBook book = book_with({{"a", true, {0, 1}}, {"b", true, {}}});
  const auto& holding = book.hold("pod", "main", kBooked, {"a", "b"}, "");
  CHECK(holding.ids == std::map<std::int64_t, std::vector<std::string>>{{-1, {"b"}}, {0, {"a"}}, {1, {"a"}}});
  CHECK(holding.unique_ids() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a resource from the checkpoint has no healthy devices until its plugin connects") {
  DeviceBook book({{"pod", "main", kBooked, {{-1, {"a"}}}, ""}}, {kBooked}, DeviceBook::Clock::now());
  CHECK(book.choose("other", "main", kBooked, 1).error.find("no healthy devices") != std::string::npos);
  book.connect(kBooked, {});
  book.replace_list(kBooked, {{"a", true, {}}, {"b", true, {}}});
  CHECK(book.choose("other", "main", kBooked, 1).available == std::vector<std::string>{"b"});
}
