#include "supervisor/attachment.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace plughost;
using namespace plughost::attachment;
using namespace std::chrono_literals;

namespace {

using Result = RegistrationClient::Result;

constexpr pid_t kKubelet = 100;  // the first one's process, and the next ones' after it

FileIdentity socket_of(int kubelet) {
  return {.device = 1, .inode = static_cast<ino_t>(kubelet), .changed_ns = kubelet};
}

// An attachment, and the world that it asks, which answers as the test says.
class Rig {
 public:
  explicit Rig(State first = {}) : state_(std::move(first)) {}

  bool listening_fails = false;
  std::optional<pid_t> kubelet_process = kKubelet;  // who listens on the kubelet's socket
  std::uint32_t incarnation = 7;
  std::vector<Register> registers;
  std::vector<std::string> failures;
  int listened_again = 0;
  int attached = 0;
  int ended = 0;
  int kept = 0;

  const State& state() const { return state_; }
  Stage stage() const { return stage_of(state_); }
  Phase phase() const { return state_.phase; }
  // How long until it is to be woken.
  std::chrono::milliseconds wait() const {
    REQUIRE(state_.due.has_value());
    return std::chrono::duration_cast<std::chrono::milliseconds>(*state_.due - now_);
  }

  void feed(const Event& event) {
    Step step = attachment::step(state_, event, now_);
    state_ = std::move(step.state);
    for (const Action& action : step.actions)
      std::visit([this](const auto& what) { carry_out(what); }, action);
  }
  // Time passes, and nothing else happens.
  void pass(std::chrono::milliseconds time) {
    const Time end = now_ + time;
    while (state_.due && *state_.due <= end) {
      now_ = std::max(now_, *state_.due);
      feed(TimeUp{});
    }
    now_ = end;
  }

  void kubelet(int which) { feed(KubeletSeen{socket_of(which)}); }
  void no_kubelet() { feed(KubeletSeen{std::nullopt}); }
  void answer(Result result) { feed(Registered{result, "so it says"}); }
  void open(pid_t process = kKubelet) { open(process, incarnation); }
  void open(pid_t process, std::uint32_t at) { feed(StreamOpened{{at, process}}); }
  void close(pid_t process = kKubelet) { close(process, incarnation); }
  void close(pid_t process, std::uint32_t at) { feed(StreamClosed{{at, process}}); }

  // A kubelet comes, and takes the resource.
  void attach(int which = 1) {
    kubelet(which);
    answer(Result::kAccepted);
    open();
    REQUIRE(stage() == Stage::kAttached);
  }

 private:
  void carry_out(const Listen& action) {
    if (listening_fails) return feed(NotListening{"no room"});
    if (action.new_name || state_.incarnation != incarnation) ++incarnation;
    feed(Listening{incarnation});
  }
  void carry_out(const ListenAgain&) { ++listened_again; }
  void carry_out(const Register& action) { registers.push_back(action); }
  void carry_out(const FindKubeletProcess&) { feed(KubeletProcess{kubelet_process}); }
  void carry_out(const Attached&) { ++attached; }
  void carry_out(const StreamEnded&) { ++ended; }
  void carry_out(const StreamKept&) { ++kept; }
  void carry_out(const Failed& action) { failures.push_back(action.why); }

  State state_;
  Time now_{1000s};
};

}  // namespace

TEST_CASE("attachment: a kubelet is asked once, and its stream is what attaches") {
  Rig rig;
  CHECK(rig.stage() == Stage::kWaiting);
  rig.kubelet(1);
  CHECK(rig.stage() == Stage::kRegistering);
  REQUIRE(rig.registers.size() == 1);
  CHECK(rig.registers[0].kubelet == socket_of(1));
  rig.answer(Result::kAccepted);
  CHECK(rig.stage() == Stage::kRegistering);
  rig.open();
  CHECK(rig.stage() == Stage::kAttached);
  CHECK(rig.attached == 1);
  rig.pass(1h);
  CHECK(rig.registers.size() == 1);
  CHECK_FALSE(rig.state().due.has_value());
}

TEST_CASE("attachment: a stream that comes before the answer attaches, whatever the answer says") {
  for (const Result result : {Result::kAccepted, Result::kRefused, Result::kWentAway}) {
    Rig rig;
    rig.kubelet(1);
    rig.open();
    CHECK(rig.stage() == Stage::kAttached);
    rig.answer(result);
    CHECK(rig.stage() == Stage::kAttached);
    CHECK(rig.failures.empty());
    rig.pass(1h);
    CHECK(rig.registers.size() == 1);
  }
}

TEST_CASE("attachment: a kubelet that is known already changes nothing") {
  Rig rig;
  rig.attach();
  rig.kubelet(1);
  rig.pass(1h);
  CHECK(rig.stage() == Stage::kAttached);
  CHECK(rig.registers.size() == 1);
  CHECK(rig.kept == 0);
}

TEST_CASE("attachment: nothing is asked before its time") {
  Rig rig(State{.not_before = Time{1000s} + 300ms});
  rig.kubelet(1);
  CHECK(rig.stage() == Stage::kRegistering);
  rig.pass(299ms);
  CHECK(rig.registers.empty());
  rig.pass(1ms);
  CHECK(rig.registers.size() == 1);
}

TEST_CASE("attachment: a kubelet that says yes and opens no stream is asked again after 11 s") {
  Rig rig;
  rig.kubelet(1);
  rig.answer(Result::kAccepted);
  CHECK(rig.wait() == kStreamWatchdog);
  rig.pass(kStreamWatchdog);
  CHECK(rig.stage() == Stage::kBackingOff);
  CHECK(rig.failures == std::vector<std::string>{"the kubelet accepted it, but opened no stream"});
  rig.pass(100ms);
  CHECK(rig.registers.size() == 2);
}

TEST_CASE("attachment: each name that a kubelet may have seen is used once") {
  Rig rig;
  rig.kubelet(1);
  const std::uint32_t first = rig.incarnation;
  SUBCASE("nobody listened: the same name again") {
    rig.answer(Result::kNobodyListens);
    rig.pass(10ms);
    CHECK(rig.incarnation == first);
  }
  SUBCASE("somebody may have read it") {
    rig.answer(Result::kWentAway);
    rig.pass(10ms);
    CHECK(rig.incarnation == first + 1);
  }
  SUBCASE("refused") {
    rig.answer(Result::kRefused);
    rig.pass(100ms);
    CHECK(rig.incarnation == first + 1);
  }
  CHECK(rig.registers.size() == 2);
}

TEST_CASE("attachment: where nobody listens it knocks after 10 ms, 20 ms … 5 s") {
  Rig rig;
  rig.kubelet(1);
  for (const auto wait : {10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1280ms, 2560ms, 5000ms, 5000ms}) {
    rig.answer(Result::kNobodyListens);
    CHECK(rig.stage() == Stage::kBackingOff);
    CHECK(rig.wait() == wait);
    rig.pass(wait);
    CHECK(rig.stage() == Stage::kRegistering);
  }
  SUBCASE("another kubelet's socket is answered at once, and the waiting begins anew") {
    rig.answer(Result::kNobodyListens);
    rig.kubelet(2);
    CHECK(rig.registers.size() == 13);
    CHECK(rig.registers.back().kubelet == socket_of(2));
    rig.answer(Result::kNobodyListens);
    CHECK(rig.wait() == 10ms);
  }
}

TEST_CASE("attachment: who refuses is asked after 100 ms, 200 ms … 10 s") {
  Rig rig;
  rig.kubelet(1);
  for (const auto wait : {100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms, 10000ms, 10000ms}) {
    rig.answer(Result::kRefused);
    CHECK(rig.stage() == Stage::kBackingOff);
    CHECK(rig.wait() == wait);
    rig.pass(wait);
  }
  CHECK(rig.registers.size() == 10);
  CHECK(rig.failures.front() == "the kubelet refuses it: so it says");
  rig.answer(Result::kRefused);
  rig.kubelet(2);
  rig.answer(Result::kRefused);
  CHECK(rig.wait() == 100ms);
}

TEST_CASE("attachment: a stream that ends is registered anew 100 ms later") {
  Rig rig;
  rig.attach();
  rig.pass(1000ms);
  rig.close();
  CHECK(rig.ended == 1);
  CHECK(rig.stage() == Stage::kBackingOff);
  CHECK(rig.failures.empty());
  rig.pass(99ms);
  CHECK(rig.registers.size() == 1);
  rig.pass(1ms);
  CHECK(rig.registers.size() == 2);
}

TEST_CASE("attachment: streams that end within a second are answered with back-off, until one lasts 10 s") {
  Rig rig;
  rig.attach();
  for (const auto wait : {100ms, 200ms, 400ms}) {
    rig.pass(999ms);
    rig.close();
    CHECK(rig.wait() == wait);
    rig.pass(wait);
    rig.answer(Result::kAccepted);
    rig.open();
  }
  CHECK(rig.failures == std::vector<std::string>(3, "the kubelet ended the stream at once"));
  SUBCASE("not quite 10 s") {
    rig.pass(9999ms);
    rig.close();
    CHECK(rig.wait() == 100ms);
    rig.pass(100ms);
    rig.open();
    rig.close();
    rig.answer(Result::kAccepted);
    CHECK(rig.wait() == 800ms);
  }
  SUBCASE("10 s") {
    rig.pass(10s);
    rig.close();
    rig.pass(100ms);
    rig.open();
    rig.close();
    rig.answer(Result::kAccepted);
    CHECK(rig.wait() == 100ms);
  }
}

TEST_CASE("attachment: a stream that came and went before the answer is a failure, and not waited for") {
  Rig rig;
  rig.kubelet(1);
  rig.open();
  rig.close();
  CHECK(rig.registers.size() == 1);
  rig.answer(Result::kAccepted);
  CHECK(rig.failures == std::vector<std::string>{"the kubelet ended the stream at once"});
  rig.pass(100ms);
  CHECK(rig.registers.size() == 2);
  SUBCASE("and says nothing of the next attempt") {
    rig.answer(Result::kAccepted);
    CHECK(rig.wait() == kStreamWatchdog);
  }
}

TEST_CASE("attachment: a kubelet whose socket changes while it is asked is not asked twice") {
  Rig rig;
  rig.kubelet(1);
  rig.kubelet(2);
  rig.kubelet(3);
  rig.pass(1h);
  CHECK(rig.registers.size() == 1);

  SUBCASE("its stream is open by then: it is found out whose it is") {
    rig.open();
    rig.answer(Result::kAccepted);
    CHECK(rig.stage() == Stage::kAttached);
    rig.pass(1h);
    CHECK(rig.kept == 1);
    CHECK(rig.registers.size() == 1);
  }
  SUBCASE("it said yes: it has half a second to open its stream") {
    rig.answer(Result::kAccepted);
    rig.pass(499ms);
    CHECK(rig.registers.size() == 1);
    SUBCASE("and does") {
      rig.open();
      rig.pass(1h);
      CHECK(rig.registers.size() == 1);
    }
    SUBCASE("and does not: the one that is there is asked") {
      rig.pass(1ms);
      REQUIRE(rig.registers.size() == 2);
      CHECK(rig.registers[1].kubelet == socket_of(3));
    }
  }
  SUBCASE("it went away, and the one that is there is asked at once") {
    rig.answer(Result::kWentAway);
    CHECK(rig.registers.size() == 2);
  }
  SUBCASE("its stream came and went: the one that is there is asked at once") {
    rig.open();
    rig.close();
    CHECK(rig.registers.size() == 1);
    rig.answer(Result::kAccepted);
    CHECK(rig.registers.size() == 2);
  }
}

TEST_CASE("attachment: a kubelet that said yes, and whose socket changes, has half a second for its stream") {
  Rig rig;
  rig.kubelet(1);
  rig.answer(Result::kAccepted);
  rig.kubelet(2);
  CHECK(rig.registers.size() == 1);
  CHECK(rig.wait() == kGrace);
  SUBCASE("no stream") {
    rig.pass(kGrace);
    CHECK(rig.registers.size() == 2);
    CHECK(rig.failures.empty());
  }
  SUBCASE("a stream") {
    rig.open();
    CHECK(rig.stage() == Stage::kAttached);
    rig.pass(1h);
    CHECK(rig.registers.size() == 1);
  }
}

TEST_CASE("attachment: a kubelet that said yes and went is not waited for once another is there") {
  Rig rig;
  rig.kubelet(1);
  rig.answer(Result::kAccepted);
  rig.no_kubelet();
  CHECK(rig.stage() == Stage::kWaiting);
  SUBCASE("it comes within half a second, and so may the former one's stream") {
    rig.pass(499ms);
    rig.kubelet(2);
    CHECK(rig.registers.size() == 1);
    rig.pass(kGrace);
  }
  SUBCASE("it comes later") {
    rig.pass(kGrace);
    CHECK_FALSE(rig.state().due.has_value());
    rig.kubelet(2);
  }
  CHECK(rig.registers.size() == 2);
}

TEST_CASE("attachment: another kubelet's socket while a stream lives: nothing is asked for half a second") {
  Rig rig;
  rig.attach();
  rig.kubelet(2);
  CHECK(rig.stage() == Stage::kAttached);
  CHECK(rig.registers.size() == 1);

  SUBCASE("the stream ends: the next kubelet is asked at once") {
    rig.pass(499ms);
    CHECK(rig.registers.size() == 1);
    rig.close();
    REQUIRE(rig.registers.size() == 2);
    CHECK(rig.registers[1].kubelet == socket_of(2));
  }
  SUBCASE("it belongs to the process that listens: the kubelet made its socket anew") {
    rig.pass(kGrace);
    CHECK(rig.kept == 1);
    rig.pass(1h);
    CHECK(rig.registers.size() == 1);
    CHECK(rig.stage() == Stage::kAttached);
  }
  SUBCASE("nobody listens yet: it is found out later") {
    rig.kubelet_process.reset();
    rig.pass(3 * kGrace);
    CHECK(rig.registers.size() == 1);
    CHECK(rig.kept == 0);
    rig.kubelet_process = kKubelet + 1;
    rig.pass(kGrace);
    CHECK(rig.registers.size() == 2);
  }
  SUBCASE("another process listens: it is asked, and the old stream is nobody's any more") {
    const std::uint32_t old = rig.incarnation;
    rig.kubelet_process = kKubelet + 1;
    rig.pass(kGrace);
    CHECK(rig.registers.size() == 2);
    CHECK(rig.incarnation == old + 1);
    CHECK(rig.stage() == Stage::kRegistering);
    rig.answer(Result::kAccepted);
    rig.open(kKubelet + 1);
    CHECK(rig.attached == 2);
    rig.close(kKubelet, old);
    CHECK(rig.stage() == Stage::kAttached);
    CHECK(rig.ended == 0);
    rig.pass(1h);
    CHECK(rig.registers.size() == 2);
    rig.close(kKubelet + 1);
    CHECK(rig.ended == 1);
    rig.pass(kSettling);
    CHECK(rig.registers.size() == 3);
  }
  SUBCASE("a stream to the old socket is nobody's, either") {
    const std::uint32_t old = rig.incarnation;
    rig.kubelet_process = kKubelet + 1;
    rig.pass(kGrace);
    rig.open(kKubelet, old);
    CHECK(rig.attached == 1);
    CHECK(rig.stage() == Stage::kRegistering);
  }
  SUBCASE("it goes before anything was asked: the stream stays") {
    rig.no_kubelet();
    CHECK(rig.stage() == Stage::kAttached);
    rig.pass(1h);
    CHECK(rig.registers.size() == 1);
    rig.close();
    CHECK(rig.stage() == Stage::kWaiting);
  }
}

TEST_CASE("attachment: a kubelet that goes with its stream is waited for, and the next asked at once") {
  Rig rig;
  rig.attach();
  rig.no_kubelet();
  CHECK(rig.stage() == Stage::kAttached);
  rig.close();
  CHECK(rig.stage() == Stage::kWaiting);
  rig.pass(1h);
  CHECK(rig.registers.size() == 1);
  rig.kubelet(2);
  CHECK(rig.registers.size() == 2);
}

TEST_CASE("attachment: what was to be tried later is dropped with the kubelet, or tried at the next one") {
  Rig rig;
  rig.kubelet(1);
  rig.answer(Result::kRefused);
  SUBCASE("none") {
    rig.no_kubelet();
    CHECK(rig.stage() == Stage::kWaiting);
    CHECK_FALSE(rig.state().due.has_value());
  }
  SUBCASE("another: the timer of the former one does nothing any more") {
    rig.kubelet(2);
    CHECK(rig.registers.size() == 2);
    rig.pass(99ms);
    rig.feed(TimeUp{});
    rig.pass(1h);
    CHECK(rig.registers.size() == 2);
  }
}

TEST_CASE("attachment: a timer that fires early, or for what is over, does nothing") {
  Rig rig;
  rig.kubelet(1);
  rig.answer(Result::kRefused);
  rig.pass(99ms);
  rig.feed(TimeUp{});
  CHECK(rig.registers.size() == 1);
  // The timer was due, and the loop looked first whether another kubelet is there.
  rig.kubelet(2);
  rig.feed(TimeUp{});
  CHECK(rig.registers.size() == 2);
}

TEST_CASE("attachment: without a socket of our own nothing is asked, and it is tried again with back-off") {
  Rig rig;
  rig.listening_fails = true;
  rig.kubelet(1);
  CHECK(rig.stage() == Stage::kBackingOff);
  CHECK(rig.failures == std::vector<std::string>{"no room"});
  CHECK(rig.wait() == 100ms);
  rig.pass(100ms);
  CHECK(rig.wait() == 200ms);
  rig.listening_fails = false;
  rig.pass(200ms);
  CHECK(rig.registers.size() == 1);
}

TEST_CASE("attachment: a second stream changes nothing, and the last one's end is the loss") {
  Rig rig;
  rig.attach();
  rig.open();
  CHECK(rig.attached == 1);
  rig.close();
  CHECK(rig.stage() == Stage::kAttached);
  CHECK(rig.ended == 0);
  rig.close();
  CHECK(rig.ended == 1);
  rig.close();  // one that nobody has heard of
  CHECK(rig.ended == 1);
  rig.pass(kSettling);
  rig.open();
  CHECK(rig.attached == 2);
}

TEST_CASE("attachment: how long it took is counted from when there was a kubelet and no stream") {
  Rig rig;
  const auto took = [&] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(rig.state().attached_since -
                                                                 rig.state().searching_since);
  };
  rig.kubelet(1);
  rig.pass(30ms);
  rig.answer(Result::kAccepted);
  rig.pass(40ms);
  rig.open();
  CHECK(took() == 70ms);
  SUBCASE("the stream ends") {
    rig.pass(1s);
    rig.close();
    rig.pass(kSettling);
    rig.open();
    CHECK(took() == kSettling);
  }
  SUBCASE("another kubelet comes") {
    rig.pass(1s);
    rig.kubelet(2);
    rig.pass(20ms);
    rig.close();
    rig.pass(5ms);
    rig.open();
    CHECK(took() == 5ms);
  }
  SUBCASE("another kubelet comes while the former one is asked") {
    rig.pass(1s);
    rig.close();
    rig.pass(kSettling);
    rig.kubelet(2);
    rig.pass(1s);
    rig.answer(Result::kAccepted);
    rig.pass(6ms);
    rig.open();
    CHECK(took() == 6ms);
  }
  SUBCASE("another kubelet comes, and the stream stays: another process listens") {
    rig.pass(1s);
    rig.kubelet(2);
    rig.kubelet_process = kKubelet + 1;
    rig.pass(kGrace + 7ms);
    rig.open(kKubelet + 1);
    CHECK(took() == kGrace + 7ms);
  }
}

TEST_CASE("attachment: our socket is made again under a kubelet that knows its name, or is told it") {
  Rig rig;
  rig.feed(SocketGone{});
  CHECK(rig.listened_again == 0);
  rig.kubelet(1);
  rig.feed(SocketGone{});
  CHECK(rig.listened_again == 1);
  rig.answer(Result::kAccepted);
  rig.feed(SocketGone{});
  CHECK(rig.listened_again == 2);
  rig.open();
  rig.feed(SocketGone{});
  CHECK(rig.listened_again == 3);
  SUBCASE("not without a kubelet") {
    rig.no_kubelet();
    rig.feed(SocketGone{});
  }
  SUBCASE("not while the next attempt waits: it makes its own") {
    rig.close();
    rig.feed(SocketGone{});
  }
  CHECK(rig.listened_again == 3);
  CHECK(rig.registers.size() == 1);
}

TEST_CASE("attachment: in plugins_registry a socket is made, and the kubelet finds it") {
  Rig rig(State{.registers = false});
  rig.kubelet(1);
  const std::uint32_t first = rig.incarnation;
  CHECK(rig.stage() == Stage::kRegistering);
  CHECK_FALSE(rig.state().due.has_value());
  CHECK(rig.registers.empty());
  SUBCASE("a socket that goes before is made anew, under another name") {
    rig.feed(SocketGone{});
    CHECK(rig.incarnation == first + 1);
  }
  SUBCASE("a refusal is answered with a new socket, after a while") {
    rig.feed(RegistryRefused{"it is taken"});
    CHECK(rig.failures == std::vector<std::string>{"the kubelet refuses it: it is taken"});
    CHECK(rig.stage() == Stage::kBackingOff);
    CHECK(rig.wait() == 100ms);
    rig.pass(100ms);
    CHECK(rig.incarnation == first + 1);
  }
  SUBCASE(
      "a socket that goes while the stream lives is left: the kubelet ends the stream, and then it is made") {
    rig.open();
    rig.feed(SocketGone{});
    CHECK(rig.incarnation == first);
    rig.pass(1s);
    rig.close();
    rig.pass(kSettling);
    CHECK(rig.incarnation == first + 1);
  }
  CHECK(rig.registers.empty());
  CHECK(rig.listened_again == 0);
}
