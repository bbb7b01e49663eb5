#include "daemon/handover/hand_over.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <optional>

#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

// A daemon that is asked to hand over.
struct Asked : HandOver::Owner {
  std::string objection() const override { return refuses; }
  Inheritance inheritance() const override { return told; }
  bool owes_answer() const override { return owes; }
  bool overlaps() const override { return several; }
  void stand_back() override { did += "back "; }
  void leave() override { did += "leave "; }
  void on_handed_over(pid_t successor, bool started) override {
    did += (started ? "started " : "came ") + std::to_string(successor) + ' ';
  }
  void on_successor_lost() override { did += "lost "; }

  // Starts a program whose end the daemon notices.
  void upgrade(const std::vector<std::string>& command) {
    hand_over.upgrade([command] { return start_detached(command, {}); },
                      [this](const Json& answer) { operators = answer; });
  }
  void begin() {
    hand_over.begin(77, [this](const Json& answer) { successors = answer; });
  }
  void end() {
    last.reset();
    hand_over.end([this](const Json& answer) { last = answer; });
  }
  // Both requests of a successor that registers beside this daemon.
  void register_and_end() {
    end();
    REQUIRE(last);
    CHECK((*last)["register"].truth());
    CHECK(did == "back ");
    did.clear();
    end();
  }

  // The log says so.
  bool has_started() {
    return run_until(loop, [this] { return log.history().newest() > 0; });
  }

  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kJson, "/nonexistent"};
  Workers workers{loop, 1};
  std::string refuses;
  Inheritance told{.holds = {{.name = {"a.b/c", "one"}, .who = "pod"}}};
  bool several = true;
  bool owes = false;
  std::string did;
  std::optional<Json> operators;   // the answer to upgrade()
  std::optional<Json> successors;  // to begin()
  std::optional<Json> last;        // to end()
  HandOver hand_over{loop, workers, log, *this};
};

std::string error(const std::optional<Json>& answer) {
  REQUIRE(answer);
  return (*answer)["error"].text();
}

}  // namespace

TEST_CASE("a hand-over tells the successor what it must know, and ends after the last calls") {
  Asked daemon;
  CHECK_FALSE(daemon.hand_over.under_way());
  daemon.begin();
  CHECK(Inheritance::of(*daemon.successors, Inheritance::Clock::now()) == daemon.told);
  CHECK(daemon.hand_over.under_way());
  daemon.owes = true;
  daemon.register_and_end();
  pass(daemon.loop, HandOver::kSettling);
  CHECK(daemon.did.empty());  // a call has no answer yet
  daemon.owes = false;
  pass(daemon.loop, HandOver::kLook);
  CHECK(daemon.did == "leave came 77 ");
  CHECK(error(daemon.last).empty());
  CHECK((*daemon.last)["holds"].array().size() == 1);
  // The end of the successor's connection means nothing any more.
  daemon.hand_over.lose();
  CHECK(daemon.did == "leave came 77 ");
}

TEST_CASE("from 1.37 on a hand-over waits for calls before it leaves, and up to 1.36 after it has left") {
  Asked daemon;
  SUBCASE("from 1.37 on") {
    daemon.begin();
    daemon.register_and_end();
    pass(daemon.loop, HandOver::kSettling / 2);
    CHECK(daemon.did.empty());
    pass(daemon.loop, HandOver::kSettling);
  }
  SUBCASE("up to 1.36") {
    daemon.several = false;
    daemon.begin();
    daemon.end();
    CHECK(daemon.did == "leave ");
    CHECK_FALSE(daemon.last);
    pass(daemon.loop, HandOver::kSettling / 2);
    CHECK_FALSE(daemon.last);
    pass(daemon.loop, HandOver::kSettling);
  }
  CHECK(daemon.did == "leave came 77 ");
  CHECK(error(daemon.last).empty());
}

TEST_CASE("a call that is not answered in time does not stop a hand-over") {
  Asked daemon;
  daemon.begin();
  daemon.owes = true;
  daemon.register_and_end();
  pass(daemon.loop, HandOver::kCallsLimit / 2);
  CHECK(daemon.did.empty());
  pass(daemon.loop, HandOver::kCallsLimit);
  CHECK(daemon.did == "leave came 77 ");
}

TEST_CASE("a hand-over is refused while another is under way, without its beginning, or by the daemon") {
  Asked daemon;
  daemon.end();
  CHECK(error(daemon.last) == "no successor has asked to take over");
  daemon.refuses = "a trial";
  daemon.begin();
  CHECK(error(daemon.successors) == "a trial");
  daemon.upgrade({"/bin/true"});
  CHECK(error(daemon.operators) == "a trial");
  CHECK_FALSE(daemon.hand_over.under_way());
  daemon.refuses.clear();
  daemon.begin();
  CHECK(error(daemon.successors).empty());
  daemon.begin();
  CHECK(error(daemon.successors) == "another successor takes over already");
  daemon.upgrade({"/bin/true"});
  CHECK(error(daemon.operators) == "a successor takes over already");
  CHECK(daemon.did.empty());
}

TEST_CASE("a successor that is lost is forgotten, and another may follow") {
  Asked daemon;
  daemon.begin();
  SUBCASE("before it has asked for the end") { daemon.hand_over.lose(); }
  SUBCASE("while it registers") {
    daemon.end();
    CHECK(daemon.did == "back ");
    daemon.did.clear();
    daemon.hand_over.lose();
  }
  SUBCASE("after it has asked for the end") {
    daemon.register_and_end();
    daemon.hand_over.lose();
    CHECK_FALSE(error(daemon.last).empty());
    pass(daemon.loop, HandOver::kSettling);
  }
  SUBCASE("because it takes too long") { pass(daemon.loop, HandOver::kLimit); }
  CHECK(daemon.did == "lost ");
  CHECK_FALSE(daemon.hand_over.under_way());
  daemon.begin();
  CHECK(error(daemon.successors).empty());
}

TEST_CASE("a connection that ends before the hand-over has begun is no loss") {
  Asked daemon;
  daemon.hand_over.lose();
  CHECK(daemon.did.empty());
}

TEST_CASE("an upgrade fails if its program cannot be started, ends, or does not ask in time") {
  Asked daemon;
  SUBCASE("there is none") {
    daemon.upgrade({"/nonexistent/plughost"});
    REQUIRE(run_until(daemon.loop, [&] { return daemon.operators.has_value(); }));
    CHECK(error(daemon.operators) == "cannot start /nonexistent/plughost: No such file or directory");
  }
  SUBCASE("it ends") {
    daemon.upgrade({"/bin/false"});
    REQUIRE(run_until(daemon.loop, [&] { return daemon.operators.has_value(); }));
    // Before it could be watched, or after.
    CHECK(error(daemon.operators).find(" has ended ") != std::string::npos);
  }
  SUBCASE("it does not ask") {
    daemon.upgrade({"/bin/sleep", "1000"});
    SUBCASE("") { REQUIRE(daemon.has_started()); }
    SUBCASE("and starts too late") {}
    pass(daemon.loop, HandOver::kStartLimit);
    REQUIRE(run_until(daemon.loop, [&] { return daemon.operators.has_value(); }));
    CHECK(error(daemon.operators) == "the new plughost has not taken over in time");
  }
  CHECK(daemon.did.empty());  // nothing was registered by another process
  daemon.operators.reset();
  daemon.upgrade({"/bin/false"});
  REQUIRE(run_until(daemon.loop, [&] { return daemon.operators.has_value(); }));
}

TEST_CASE("an upgrade answers when the program that it has started serves") {
  Asked daemon;
  const TempDir tree;
  const std::string end = tree.at("end").string();
  REQUIRE(::mkfifo(end.c_str(), 0600) == 0);
  daemon.upgrade({"/bin/sh", "-c", "read line < " + end});
  REQUIRE(daemon.has_started());
  daemon.begin();
  daemon.register_and_end();
  // The end of the connection is no loss while the process lives.
  daemon.hand_over.lose();
  pass(daemon.loop, HandOver::kSettling);
  CHECK(daemon.did == "leave started 77 ");
  CHECK(error(daemon.operators).empty());
  CHECK((*daemon.operators)["process"].number() == 77);
  std::ofstream(end) << "end\n";
}
