#include "base/system/coalescing_writer.hpp"

#include <doctest/doctest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "unit/run_until.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

// A simulated disk whose writes can be made to hang or fail. Thread-safe.
struct Disk {
  std::mutex mutex;
  std::condition_variable answers;
  bool hangs = false;
  std::string error;
  std::vector<std::string> tried;  // every text that was to be written

  std::string write(const std::string& text) {
    std::unique_lock lock(mutex);
    tried.push_back(text);
    answers.wait(lock, [this] { return !hangs; });
    return error;
  }
  void set(bool hang, std::string with = {}) {
    const std::lock_guard lock(mutex);
    hangs = hang;
    error = std::move(with);
    answers.notify_all();
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex);
    return tried;
  }
};

struct Rig {
  std::shared_ptr<Disk> disk = std::make_shared<Disk>();
  EventLoop loop;
  Workers workers{loop, 2};
  std::vector<std::string> told;
  std::vector<std::string> answers;
  unsigned finished = 0;
  std::unique_ptr<CoalescingWriter> latest = std::make_unique<CoalescingWriter>(
      loop, workers, [this](const std::string& error) { told.push_back(error); }, "/x hangs", 300ms);

  ~Rig() { disk->set(false); }
  void write(const std::string& text) {
    latest->write([disk = disk, text] { return disk->write(text); });
  }
  // Writes the text, and records the result in `answers`.
  void ask(const std::string& text) {
    latest->write([disk = disk, text] { return disk->write(text); },
                  [this](const std::string& error) { answers.push_back(error); });
  }
  bool answered(std::size_t count) {
    return run_until(loop, [&] { return answers.size() == count; });
  }
  void finish() {
    latest->finish([this] { ++finished; });
  }
  bool tried(const std::vector<std::string>& texts) {
    return run_until(loop, [&] { return disk->all() == texts; });
  }
};

// Checks that nothing more is written. One hour passes in the loop, and a worker's task that is added last
// has ended.
void test_that_nothing_follows(Rig& rig) {
  const std::size_t before = rig.disk->all().size();
  pass(rig.loop, 1h);
  bool ran = false;
  rig.workers.run([] {}, [&] { ran = true; }, 1h, [] {});
  REQUIRE(run_until(rig.loop, [&] { return ran; }));
  CHECK(rig.disk->all().size() == before);
}

}  // namespace

TEST_CASE("of the requests that arrive during a write only the newest is written afterwards") {
  Rig rig;
  rig.disk->set(true);
  rig.write("1");
  REQUIRE(rig.tried({"1"}));
  rig.write("2");
  rig.write("3");
  rig.disk->set(false);
  REQUIRE(rig.tried({"1", "3"}));
  CHECK(rig.told.empty());
}

TEST_CASE("a write that fails is reported once, and retried until it succeeds") {
  Rig rig;
  rig.disk->set(false, "full");
  rig.write("1");
  REQUIRE(rig.tried({"1", "1"}));
  CHECK(rig.told == std::vector<std::string>{"full"});
  rig.disk->set(false);
  REQUIRE(run_until(rig.loop, [&] { return rig.told.size() == 2; }));
  CHECK(rig.told.back().empty());
  CHECK(rig.disk->all() == std::vector<std::string>{"1", "1", "1"});
}

TEST_CASE("a newer request does not wait for the retry of a failure") {
  Rig rig;
  rig.disk->set(false, "full");
  rig.write("1");
  REQUIRE(run_until(rig.loop, [&] { return rig.told.size() == 1; }));
  rig.disk->set(false);
  rig.write("2");
  REQUIRE(run_until(rig.loop, [&] { return rig.told.size() == 2; }));
  CHECK(rig.disk->all() == std::vector<std::string>{"1", "2"});
}

TEST_CASE(
    "a write that hangs is reported, and the newest request is written only after the hanging write has "
    "ended") {
  Rig rig;
  rig.disk->set(true);
  rig.write("1");
  REQUIRE(run_until(rig.loop, [&] { return !rig.told.empty(); }));
  CHECK(rig.told == std::vector<std::string>{"/x hangs"});
  rig.write("2");
  run_once(rig.loop);
  CHECK(rig.disk->all() == std::vector<std::string>{"1"});
  rig.disk->set(false);
  REQUIRE(rig.tried({"1", "2"}));
  CHECK(rig.told == std::vector<std::string>{"/x hangs", ""});
}

TEST_CASE("finish() calls back after the last request has been written") {
  Rig rig;
  rig.disk->set(true);
  rig.write("1");
  REQUIRE(rig.tried({"1"}));
  rig.write("2");
  rig.finish();
  run_once(rig.loop);
  CHECK(rig.finished == 0);
  rig.disk->set(false);
  REQUIRE(run_until(rig.loop, [&] { return rig.finished == 1; }));
  CHECK(rig.disk->all() == std::vector<std::string>{"1", "2"});
}

TEST_CASE(
    "finish() calls back at once without a write, and otherwise after a failed write or the deadline of a "
    "hanging one") {
  Rig idle;
  idle.finish();
  CHECK(idle.finished == 1);

  Rig failing;
  failing.disk->set(false, "full");
  failing.write("1");
  failing.finish();
  REQUIRE(run_until(failing.loop, [&] { return failing.finished == 1; }));

  test_that_nothing_follows(failing);

  Rig ending;  // finish() is called during a write that then fails
  ending.disk->set(true);
  ending.write("1");
  REQUIRE(ending.tried({"1"}));
  ending.finish();
  ending.disk->set(false, "full");
  REQUIRE(run_until(ending.loop, [&] { return ending.finished == 1; }));
  test_that_nothing_follows(ending);

  Rig hanging;
  hanging.disk->set(true);
  hanging.write("1");
  hanging.finish();
  REQUIRE(run_until(hanging.loop, [&] { return hanging.finished == 1; }));
  CHECK(hanging.told.size() == 1);

  Rig hung;
  hung.disk->set(true);
  hung.write("1");
  REQUIRE(run_until(hung.loop, [&] { return !hung.told.empty(); }));
  hung.finish();
  CHECK(hung.finished == 1);
}

TEST_CASE("callers whose requests are merged are notified after the newest request has been written") {
  Rig rig;
  rig.disk->set(true);
  for (const char* text : {"1", "2", "3"}) rig.ask(text);
  run_once(rig.loop);
  CHECK(rig.answers.empty());
  rig.disk->set(false);
  REQUIRE(rig.answered(3));
  CHECK(rig.answers == std::vector<std::string>(3));
  CHECK(rig.disk->all() == std::vector<std::string>{"1", "3"});
}

TEST_CASE("each caller receives the failure of its write") {
  Rig rig;
  rig.disk->set(false, "no room");
  rig.ask("1");
  REQUIRE(rig.answered(1));
  rig.ask("2");
  REQUIRE(rig.answered(2));
  CHECK(rig.answers == std::vector<std::string>{"no room", "no room"});
  CHECK(rig.told == std::vector<std::string>{"no room"});
  rig.disk->set(false);
  CHECK(run_until(rig.loop, [&] { return rig.disk->all().back() == "2" && rig.told.back().empty(); }));
  CHECK(rig.answers.size() == 2);
}

TEST_CASE(
    "if the disk hangs, callers get an error after the deadline, later callers get it at once, and the "
    "newest request is still written in the end") {
  Rig rig;
  rig.disk->set(true);
  rig.ask("1");
  rig.ask("2");
  REQUIRE(rig.answered(2));
  rig.ask("3");
  CHECK(rig.answers == std::vector<std::string>(3, "/x hangs"));
  rig.disk->set(false);
  CHECK(run_until(rig.loop, [&] { return rig.disk->all() == std::vector<std::string>{"1", "3"}; }));
  rig.ask("4");
  REQUIRE(rig.answered(4));
  CHECK(rig.answers.back().empty());
}

TEST_CASE("a callback may request the next write at once") {
  Rig rig;
  rig.latest->write([disk = rig.disk] { return disk->write("1"); },
                    [&](const std::string&) { rig.ask("2"); });
  REQUIRE(rig.answered(1));
  CHECK(rig.disk->all() == std::vector<std::string>{"1", "2"});
}
