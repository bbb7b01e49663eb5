#include "supervisor/drain_store.hpp"

#include <doctest/doctest.h>

#include <condition_variable>
#include <mutex>

#include "unit/run_until.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

// A disk of the test's own. Thread-safe.
struct Disk {
  std::mutex mutex;
  std::condition_variable answers;
  bool hangs = false;
  std::string trouble;
  std::vector<std::string> written;  // each text that was

  std::string write(const std::string& text) {
    std::unique_lock lock(mutex);
    answers.wait(lock, [this] { return !hangs; });
    if (trouble.empty()) written.push_back(text);
    return trouble;
  }
  void set(bool hang, std::string with = {}) {
    const std::lock_guard lock(mutex);
    hangs = hang;
    trouble = std::move(with);
    answers.notify_all();
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex);
    return written;
  }
};

struct Rig {
  std::shared_ptr<Disk> disk = std::make_shared<Disk>();
  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kJson, "/nonexistent"};
  Workers workers{loop, 2};
  std::vector<std::string> told;
  DrainStore store{loop,
                   workers,
                   log,
                   "/state/drains.json",
                   [disk = disk](const std::string& text) { return disk->write(text); },
                   300ms};

  ~Rig() { disk->set(false); }
  void save(const std::string& text) {
    store.save(text, [this](const std::string& trouble) { told.push_back(trouble); });
  }
  bool told_all(std::size_t count) {
    return run_until(loop, [&] { return told.size() == count; });
  }
};

}  // namespace

TEST_CASE("drains: who is told that they are written finds them written, and the newest stand") {
  Rig rig;
  rig.disk->set(true);
  rig.save("1");
  rig.save("2");
  rig.save("3");
  run_once(rig.loop);
  CHECK(rig.told.empty());
  rig.disk->set(false);
  REQUIRE(rig.told_all(3));
  CHECK(rig.told == std::vector<std::string>(3));
  CHECK(rig.disk->all() == std::vector<std::string>{"1", "3"});
}

TEST_CASE("drains: what cannot be written is told, and tried again until it is") {
  Rig rig;
  rig.disk->set(false, "no room");
  rig.save("1");
  REQUIRE(rig.told_all(1));
  CHECK(rig.told[0] == "no room");
  CHECK(rig.log.errors().count() == 1);
  rig.save("2");
  REQUIRE(rig.told_all(2));
  CHECK(rig.log.errors().count() == 1);
  rig.disk->set(false);
  CHECK(run_until(rig.loop, [&] { return rig.disk->all() == std::vector<std::string>{"2"}; }));
}

TEST_CASE(
    "drains: a disk that hangs is told after its deadline, at once from then on, and written to later") {
  Rig rig;
  rig.disk->set(true);
  rig.save("1");
  rig.save("2");
  REQUIRE(rig.told_all(2));
  const std::string hangs = "/state/drains.json does not answer: its file system hangs";
  CHECK(rig.told == std::vector<std::string>{hangs, hangs});
  rig.save("3");
  CHECK(rig.told.size() == 3);
  rig.disk->set(false);
  CHECK(run_until(rig.loop, [&] { return rig.disk->all() == std::vector<std::string>{"1", "3"}; }));
  rig.save("4");
  REQUIRE(rig.told_all(4));
  CHECK(rig.told[3] == "");
}
