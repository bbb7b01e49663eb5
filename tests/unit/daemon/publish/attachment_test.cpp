#include "daemon/publish/attachment.hpp"

#include <doctest/doctest.h>

#include "unit/daemon/publish/attachment_rig.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace plughost::attachment;
using namespace std::chrono_literals;

using Rig = AttachmentRig;
using Failures = std::vector<std::string>;

TEST_CASE(
    "attachment: Register is called once for a kubelet, and the kubelet's stream attaches the resource") {
  Rig rig;
  CHECK(rig.stage() == Stage::kWaiting);
  rig.kubelet(1);
  CHECK(rig.stage() == Stage::kRegistering);
  CHECK(rig.asked == std::vector{socket_of(1)});
  rig.answer(Result::kAccepted);
  CHECK(rig.stage() == Stage::kRegistering);
  rig.open();
  CHECK(rig.stage() == Stage::kAttached);
  CHECK(rig.attached_times == 1);
  rig.pass(1h);
  CHECK(rig.asked.size() == 1);
  CHECK_FALSE(rig.waits());
}

TEST_CASE("attachment: a stream that opens before Register's answer attaches, whatever the answer is") {
  for (const Result result : {Result::kAccepted, Result::kRefused, Result::kSilent, Result::kWentAway}) {
    Rig rig = Rig::asking();
    rig.open();
    CHECK(rig.stage() == Stage::kAttached);
    rig.answer(result);
    CHECK(rig.stage() == Stage::kAttached);
    CHECK(rig.failures.empty());
    rig.pass(1h);
    CHECK(rig.asked.size() == 1);
  }
}

TEST_CASE("attachment: a kubelet socket that is seen again has no effect") {
  Rig rig = Rig::attached();
  rig.kubelet(1);
  rig.pass(1h);
  CHECK(rig.stage() == Stage::kAttached);
  CHECK(rig.asked.size() == 1);
  CHECK(rig.kept == 0);
}

TEST_CASE("attachment: Register is not called before the time not_before") {
  Rig rig(State{.not_before = Rig::kBegin + 300ms});
  rig.kubelet(1);
  CHECK(rig.stage() == Stage::kRegistering);
  rig.pass(299ms);
  CHECK(rig.asked.empty());
  rig.pass(1ms);
  CHECK(rig.asked.size() == 1);
}

TEST_CASE("attachment: a kubelet that starts meanwhile is registered with before the time not_before") {
  Rig rig(State{.not_before = Rig::kBegin + 300ms});
  rig.kubelet(1);
  REQUIRE(rig.asked.empty());
  rig.kubelet(2);
  CHECK(rig.asked.size() == 1);
}

TEST_CASE("attachment: Register is called again if a kubelet accepts it and opens no stream within 11 s") {
  Rig rig = Rig::expecting();
  CHECK(rig.wait() == kStreamWatchdog);
  rig.pass(kStreamWatchdog);
  CHECK(rig.stage() == Stage::kBackingOff);
  CHECK(rig.failures == Failures{"the kubelet accepted it, but opened no stream"});
  rig.pass(100ms);
  CHECK(rig.asked.size() == 2);
}

TEST_CASE(
    "attachment: Register is called again if a kubelet accepts and dials, but opens no stream in 500 ms") {
  const auto dials_and_answers = [](Rig& rig) {
    rig.dial();
    rig.pass(1h);
    rig.answer(Result::kAccepted);
  };
  const auto answers_and_dials = [](Rig& rig) {
    rig.answer(Result::kAccepted);
    rig.pass(10900ms);
    rig.dial();
  };
  const auto dials_when_given_up = [](Rig& rig) {
    rig.answer(Result::kAccepted);
    rig.pass(11099ms);
    rig.dial();
  };
  for (const auto way : {+dials_and_answers, +answers_and_dials, +dials_when_given_up}) {
    Rig rig = Rig::asking();
    way(rig);
    rig.failures.clear();
    CHECK(rig.stage() == Stage::kRegistering);
    CHECK(rig.wait() == 500ms);
    rig.pass(499ms);
    CHECK(rig.asked.size() == 1);

    Rig opens = rig;
    opens.open();
    opens.pass(1h);
    CHECK(opens.asked.size() == 1);

    CHECK(rig.failures.empty());
    rig.pass(1ms);
    CHECK(rig.failures == Failures{"the kubelet accepted it, but opened no stream"});
    rig.pass(rig.wait());
    CHECK(rig.asked.size() == 2);
    rig.answer(Result::kAccepted);
    CHECK(rig.wait() == kStreamWatchdog);
  }
}

TEST_CASE("attachment: a dial by a process other than the kubelet, or to a former socket, has no effect") {
  Rig rig = Rig::asking();
  rig.dial(kStranger);
  rig.dial(kKubelet, rig.incarnation - 1);
  rig.answer(Result::kAccepted);
  CHECK(rig.wait() == kStreamWatchdog);
  rig.dial(kStranger);
  CHECK(rig.wait() == kStreamWatchdog);
}

TEST_CASE(
    "attachment: the next Register uses a new socket name if the kubelet may have seen the former name") {
  for (const Result result : {Result::kNobodyListens, Result::kWentAway, Result::kRefused, Result::kSilent}) {
    Rig rig = Rig::asking();
    const std::uint32_t first = rig.incarnation;
    rig.answer(result);
    rig.pass(100ms);
    CHECK(rig.asked.size() == 2);
    CHECK(rig.incarnation == first + (result == Result::kNobodyListens ? 0 : 1));
  }
}

TEST_CASE("attachment: a socket without a listener is retried after 1 ms, 2 ms … 5 s") {
  Rig rig = Rig::asking();
  for (const auto wait :
       {1ms, 2ms, 4ms, 8ms, 16ms, 32ms, 64ms, 128ms, 256ms, 512ms, 1024ms, 2048ms, 4096ms, 5000ms, 5000ms}) {
    rig.answer(Result::kNobodyListens);
    CHECK(rig.stage() == Stage::kBackingOff);
    CHECK(rig.wait() == wait);
    rig.pass(wait);
    CHECK(rig.stage() == Stage::kRegistering);
  }
  SUBCASE("a new kubelet's socket leads to Register at once, and the pauses begin again") {
    rig.answer(Result::kNobodyListens);
    rig.kubelet(2);
    CHECK(rig.asked.size() == 17);
    CHECK(rig.asked.back() == socket_of(2));
    rig.answer(Result::kNobodyListens);
    CHECK(rig.wait() == 1ms);
  }
}

TEST_CASE("attachment: a kubelet that refuses or does not respond is retried after 100 ms, 200 ms … 10 s") {
  for (const auto& [result, why] : {std::pair{Result::kRefused, "the kubelet refuses it: so it says"},
                                    std::pair{Result::kSilent, "the kubelet does not answer: so it says"}}) {
    Rig rig = Rig::asking();
    for (const auto wait : {100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms, 10000ms, 10000ms}) {
      rig.answer(result);
      CHECK(rig.stage() == Stage::kBackingOff);
      CHECK(rig.wait() == wait);
      rig.pass(wait);
    }
    CHECK(rig.asked.size() == 10);
    CHECK(rig.failures == Failures(9, why));
    rig.kubelet(2);
    rig.answer(result);
    CHECK(rig.wait() == 100ms);
  }
}

TEST_CASE(
    "attachment: a kubelet that did not respond, and whose socket changes, has half a second for its "
    "stream") {
  Rig rig = Rig::asking();
  SUBCASE("no stream opens") {
    rig.answer(Result::kSilent);
    rig.kubelet(2);
    CHECK(rig.wait() == kGrace);
    rig.pass(499ms);
    CHECK(rig.asked.size() == 1);
    rig.pass(1ms);
  }
  SUBCASE("Register is called at once for a kubelet that refused or went away, although it has dialed") {
    rig.dial();
    SUBCASE("the kubelet refused") { rig.answer(Result::kRefused); }
    SUBCASE("the kubelet went away") { rig.answer(Result::kWentAway); }
    rig.kubelet(2);
  }
  SUBCASE("Register is called at once if the kubelet's time for a stream is over") {
    rig.dial();
    rig.answer(Result::kAccepted);
    rig.pass(500ms);
    rig.kubelet(2);
  }
  SUBCASE("Register is called at once if the kubelet has ended its stream") {
    rig.dial();
    rig.open();
    rig.close();
    rig.answer(Result::kAccepted);
    rig.kubelet(2);
  }
  CHECK(rig.asked.size() == 2);
}

TEST_CASE("attachment: a stream that ends is followed by a registration 100 ms later") {
  Rig rig = Rig::attached();
  rig.pass(1000ms);
  rig.close();
  CHECK(rig.ended == 1);
  CHECK(rig.stage() == Stage::kBackingOff);
  CHECK(rig.failures.empty());
  rig.pass(99ms);
  CHECK(rig.asked.size() == 1);
  rig.pass(1ms);
  CHECK(rig.asked.size() == 2);
}

TEST_CASE("attachment: streams that end within a second lead to back-off, until one lasts 10 s") {
  Rig rig = Rig::attached();
  for (const auto wait : {100ms, 200ms, 400ms}) {
    rig.pass(999ms);
    rig.close();
    CHECK(rig.wait() == wait);
    rig.pass(wait);
    rig.answer(Result::kAccepted);
    rig.open();
  }
  CHECK(rig.failures == Failures(3, "the kubelet ended the stream at once"));
  std::chrono::milliseconds next{};
  SUBCASE("the stream lasts just under 10 s") {
    rig.pass(9999ms);
    next = 800ms;
  }
  SUBCASE("the stream lasts 10 s") {
    rig.pass(10s);
    next = 100ms;
  }
  rig.close();
  CHECK(rig.wait() == 100ms);
  rig.pass(100ms);
  rig.open();
  rig.close();
  rig.answer(Result::kAccepted);
  CHECK(rig.wait() == next);
}

TEST_CASE("attachment: a stream that opened and ended before the answer is a failure") {
  Rig rig = Rig::asking();
  rig.open();
  rig.close();
  CHECK(rig.asked.size() == 1);
  rig.answer(Result::kAccepted);
  CHECK(rig.failures == Failures{"the kubelet ended the stream at once"});
  rig.pass(100ms);
  CHECK(rig.asked.size() == 2);
  SUBCASE("the ended stream does not affect the next attempt") {
    rig.answer(Result::kAccepted);
    CHECK(rig.wait() == kStreamWatchdog);
  }
}

TEST_CASE("attachment: a kubelet whose socket changes during Register is not called twice") {
  Rig rig = Rig::asking();
  rig.kubelet(2);
  rig.kubelet(3);
  rig.pass(1h);
  CHECK(rig.asked.size() == 1);

  SUBCASE("the kubelet's stream is open by then, and stays because the kubelet's process listens") {
    rig.open();
    rig.answer(Result::kAccepted);
    CHECK(rig.stage() == Stage::kAttached);
    rig.pass(1h);
    CHECK(rig.kept == 1);
    CHECK(rig.asked.size() == 1);
  }
  SUBCASE("the kubelet accepts, and has half a second to open its stream") {
    rig.kubelet_process = kKubelet + 1;
    rig.answer(Result::kAccepted);
    rig.pass(499ms);
    CHECK(rig.asked.size() == 1);
    SUBCASE("the kubelet opens its stream") {
      rig.open();
      rig.pass(400ms);
      CHECK(rig.asked.size() == 1);
    }
    SUBCASE("the kubelet opens no stream, and Register is called for the present socket") {
      rig.pass(1ms);
      CHECK(rig.asked == std::vector{socket_of(1), socket_of(3)});
    }
  }
  SUBCASE("the kubelet refuses, and Register is called for the present socket after 100 ms") {
    rig.answer(Result::kRefused);
    rig.pass(99ms);
    CHECK(rig.asked.size() == 1);
    rig.pass(1ms);
    CHECK(rig.asked.size() == 2);
  }
  SUBCASE("the kubelet cannot be reached, and Register is called for the present socket at once") {
    SUBCASE("the kubelet went away") { rig.answer(Result::kWentAway); }
    SUBCASE("no process listened") { rig.answer(Result::kNobodyListens); }
    CHECK(rig.asked.size() == 2);
  }
  SUBCASE(
      "the kubelet's stream has opened and ended, and Register is called for the present socket at once") {
    rig.open();
    rig.close();
    CHECK(rig.asked.size() == 1);
    rig.answer(Result::kAccepted);
    CHECK(rig.asked.size() == 2);
  }
}

TEST_CASE("attachment: a kubelet that accepted, and whose socket changes, has half a second for its stream") {
  Rig rig = Rig::expecting();
  rig.kubelet(2);
  CHECK(rig.asked.size() == 1);
  CHECK(rig.wait() == kGrace);
  SUBCASE("no stream opens, and a different process listens") {
    rig.kubelet_process = kKubelet + 1;
    rig.pass(kGrace);
    CHECK(rig.asked.size() == 2);
    CHECK(rig.failures.empty());
  }
  SUBCASE("no stream opens, and no process listens") {
    rig.kubelet_process.reset();
    rig.pass(kGrace);
    CHECK(rig.asked.size() == 2);
  }
  SUBCASE("no stream opens, and the kubelet has dialed") {
    rig.dial();
    rig.pass(kGrace);
    CHECK(rig.asked.size() == 2);
  }
  SUBCASE("no stream opens, but the process that accepted listens and has the usual time") {
    rig.pass(kGrace);
    CHECK(rig.asked.size() == 1);
    CHECK(rig.wait() == kStreamWatchdog);
    rig.pass(kStreamWatchdog + 99ms);
    CHECK(rig.asked.size() == 1);
    CHECK(rig.failures == Failures{"the kubelet accepted it, but opened no stream"});
    rig.pass(1ms);
    CHECK(rig.asked.size() == 2);
  }
  SUBCASE("a stream opens") {
    rig.open();
    CHECK(rig.stage() == Stage::kAttached);
    rig.pass(1h);
    CHECK(rig.asked.size() == 1);
  }
}

TEST_CASE("attachment: two kubelets with unknown processes are never taken for one") {
  Rig rig;
  rig.kubelet_process = 0;
  rig.kubelet(1);
  rig.answer(Result::kAccepted);
  rig.kubelet(2);
  rig.pass(kGrace);
  CHECK(rig.asked.size() == 2);
}

TEST_CASE(
    "attachment: Register at a new kubelet waits 500 ms for the stream of a former one that has accepted") {
  Rig rig = Rig::expecting();
  rig.no_kubelet();
  CHECK(rig.stage() == Stage::kWaiting);
  rig.kubelet_process = kKubelet + 1;
  SUBCASE("the new kubelet appears within half a second") {
    rig.pass(499ms);
    rig.kubelet(2);
    CHECK(rig.asked.size() == 1);
    rig.pass(kGrace);
  }
  SUBCASE("the new kubelet appears later, and is called at once") {
    rig.pass(kGrace);
    CHECK_FALSE(rig.waits());
    rig.kubelet(2);
  }
  CHECK(rig.asked.size() == 2);
}

TEST_CASE(
    "attachment: Register waits for half a second if a new kubelet's socket appears while a stream is open") {
  Rig rig = Rig::attached();
  const std::uint32_t old = rig.incarnation;
  rig.kubelet(2);
  CHECK(rig.stage() == Stage::kAttached);
  CHECK(rig.asked.size() == 1);

  SUBCASE("the stream ends, and Register is called at once") {
    rig.pass(499ms);
    CHECK(rig.asked.size() == 1);
    rig.close();
    CHECK(rig.asked == std::vector{socket_of(1), socket_of(2)});
  }
  SUBCASE("the stream's process listens on the new socket, so the stream stays") {
    rig.pass(kGrace);
    CHECK(rig.kept == 1);
    rig.pass(1h);
    CHECK(rig.asked.size() == 1);
    CHECK(rig.stage() == Stage::kAttached);
  }
  SUBCASE("no process listens on the new socket at first, so Register waits for one") {
    rig.kubelet_process.reset();
    rig.pass(3 * kGrace);
    CHECK(rig.asked.size() == 1);
    CHECK(rig.kept == 0);
    rig.kubelet_process = kKubelet + 1;
    rig.pass(kGrace);
    CHECK(rig.asked.size() == 2);
  }
  SUBCASE(
      "a different process listens on the new socket, so Register is called, and the old stream no longer "
      "counts") {
    rig.kubelet_process = kKubelet + 1;
    rig.pass(kGrace);
    CHECK(rig.asked.size() == 2);
    CHECK(rig.incarnation == old + 1);
    CHECK(rig.stage() == Stage::kRegistering);
    rig.answer(Result::kAccepted);
    rig.open(kKubelet + 1);
    CHECK(rig.attached_times == 2);
    rig.close(kKubelet, old);
    CHECK(rig.stage() == Stage::kAttached);
    CHECK(rig.ended == 0);
    rig.pass(1h);
    CHECK(rig.asked.size() == 2);
    rig.close(kKubelet + 1);
    CHECK(rig.ended == 1);
    rig.pass(kSettling);
    CHECK(rig.asked.size() == 3);
  }
  SUBCASE("a stream to plughost's old socket does not count, either") {
    rig.kubelet_process = kKubelet + 1;
    rig.pass(kGrace);
    rig.open(kKubelet, old);
    rig.open(kKubelet + 1, old);
    CHECK(rig.attached_times == 1);
    CHECK(rig.stage() == Stage::kRegistering);
  }
  SUBCASE("the new socket is removed before Register is called, so the stream stays") {
    rig.no_kubelet();
    CHECK(rig.stage() == Stage::kAttached);
    rig.pass(1h);
    CHECK(rig.asked.size() == 1);
    rig.close();
    CHECK(rig.stage() == Stage::kWaiting);
  }
}

TEST_CASE("attachment: when a kubelet and its stream have ended, its successor is called at once") {
  Rig rig = Rig::attached();
  rig.no_kubelet();
  CHECK(rig.stage() == Stage::kAttached);
  rig.close();
  CHECK(rig.stage() == Stage::kWaiting);
  rig.pass(1h);
  CHECK(rig.asked.size() == 1);
  rig.kubelet(2);
  CHECK(rig.asked.size() == 2);
}

TEST_CASE(
    "attachment: a pending retry is dropped if the kubelet is gone, and made at once for a new kubelet") {
  Rig rig = Rig::asking();
  rig.answer(Result::kRefused);
  SUBCASE("no kubelet exists") {
    rig.no_kubelet();
    CHECK(rig.stage() == Stage::kWaiting);
    CHECK_FALSE(rig.waits());
  }
  SUBCASE("a new kubelet exists, and the former kubelet's timer has no effect") {
    rig.kubelet(2);
    CHECK(rig.asked.size() == 2);
    rig.pass(99ms);
    rig.time_up();
    rig.pass(1h);
    CHECK(rig.asked.size() == 2);
  }
}

TEST_CASE("attachment: a timer that fires early does nothing") {
  Rig rig = Rig::asking();
  rig.answer(Result::kRefused);
  rig.pass(99ms);
  rig.time_up();
  CHECK(rig.asked.size() == 1);
}

TEST_CASE("attachment: a timer that fires late waits once for 100 ms for events that are pending") {
  Rig rig = Rig::expecting();
  rig.kubelet(2);
  rig.kubelet_process = kKubelet + 1;
  SUBCASE("the timer fires 99 ms late") {
    rig.sleep(kGrace + 99ms);
    rig.time_up();
    CHECK(rig.asked.size() == 2);
  }
  SUBCASE("the timer fires 100 ms late") {
    rig.sleep(kGrace + 100ms);
    rig.time_up();
    CHECK(rig.asked.size() == 1);
    CHECK(rig.wait() == 100ms);
    SUBCASE("the stream had opened in the meantime") {
      rig.open();
      rig.pass(400ms);
      CHECK(rig.asked.size() == 1);
    }
    SUBCASE("no event happened, and the timer is late again") {
      rig.sleep(1h);
      rig.time_up();
      CHECK(rig.asked.size() == 2);
      SUBCASE("the next timer is late, too") {
        rig.answer(Result::kRefused);
        rig.sleep(1h);
        rig.time_up();
        CHECK(rig.asked.size() == 2);
        rig.pass(100ms);
        CHECK(rig.asked.size() == 3);
      }
    }
  }
}

TEST_CASE(
    "attachment: without plughost's own socket no Register is sent, and binding is retried with back-off") {
  Rig rig;
  rig.listening_fails = true;
  rig.kubelet(1);
  CHECK(rig.stage() == Stage::kBackingOff);
  CHECK(rig.failures == Failures{"no room"});
  CHECK(rig.wait() == 100ms);
  rig.pass(100ms);
  CHECK(rig.wait() == 200ms);
  rig.listening_fails = false;
  rig.pass(200ms);
  CHECK(rig.asked.size() == 1);
}

TEST_CASE("attachment: a second stream has no effect, and the attachment ends with the last stream") {
  Rig rig = Rig::attached();
  rig.open();
  CHECK(rig.attached_times == 1);
  rig.close();
  CHECK(rig.stage() == Stage::kAttached);
  CHECK(rig.ended == 0);
  rig.close();
  CHECK(rig.ended == 1);
  rig.close();  // an unknown stream
  CHECK(rig.ended == 1);
  rig.pass(kSettling);
  rig.open();
  CHECK(rig.attached_times == 2);
}

TEST_CASE("attachment: a stream of a process other than the kubelet has no effect") {
  Rig rig = Rig::expecting();
  rig.open(kStranger);
  CHECK(rig.stage() == Stage::kRegistering);
  rig.open();
  CHECK(rig.attached_times == 1);
  SUBCASE("the end of the kubelet's stream ends the attachment") {
    rig.pass(1s);
    rig.close();
    CHECK(rig.ended == 1);
    rig.pass(kSettling);
    CHECK(rig.asked.size() == 2);
  }
  SUBCASE("the end of the other stream has no effect") {
    rig.close(kStranger);
    CHECK(rig.ended == 0);
    CHECK(rig.stage() == Stage::kAttached);
  }
}

TEST_CASE("attachment: if the kubelet's process is unknown, every stream of an unknown process counts") {
  Rig rig;
  rig.kubelet_process = 0;
  rig.kubelet(1);
  rig.answer(Result::kAccepted);
  rig.open(kStranger);
  CHECK(rig.stage() == Stage::kRegistering);
  rig.open(0);
  CHECK(rig.stage() == Stage::kAttached);
  rig.open(0);
  rig.close(0);
  CHECK(rig.ended == 0);
  rig.close(0);
  CHECK(rig.ended == 1);
}

TEST_CASE("attachment: streams of a socket name's former owner do not count for the present one") {
  Rig rig = Rig::asking();
  rig.open();  // a reader of the list, before the first kubelet answers
  rig.answer(Result::kNobodyListens);
  rig.kubelet_process = kKubelet + 1;
  rig.kubelet(2);
  rig.pass(kGrace);
  CHECK(rig.asked.size() == 2);
  rig.close();
  CHECK(rig.ended == 0);
  rig.open(kKubelet + 1);
  rig.close(kKubelet + 1);
  CHECK(rig.ended == 1);
}

TEST_CASE(
    "attachment: the recovery time is counted from the moment when a kubelet exists and no stream is open") {
  Rig rig = Rig::asking();
  rig.pass(30ms);
  rig.answer(Result::kAccepted);
  rig.pass(40ms);
  rig.open();
  CHECK(rig.took() == 70ms);
  rig.pass(1s);
  SUBCASE("the stream ends") {
    rig.close();
    rig.pass(kSettling);
    rig.open();
    CHECK(rig.took() == kSettling);
  }
  SUBCASE("a new kubelet appears") {
    rig.kubelet(2);
    rig.pass(20ms);
    rig.close();
    rig.pass(5ms);
    rig.open();
    CHECK(rig.took() == 5ms);
  }
  SUBCASE("a new kubelet appears while Register runs for the former one") {
    rig.close();
    rig.pass(kSettling);
    rig.kubelet(2);
    rig.pass(1s);
    rig.answer(Result::kAccepted);
    rig.pass(6ms);
    rig.open();
    CHECK(rig.took() == 6ms);
  }
  SUBCASE("a new kubelet appears and a different process listens, while the old stream stays") {
    rig.kubelet(2);
    rig.kubelet_process = kKubelet + 1;
    rig.pass(kGrace + 7ms);
    rig.open(kKubelet + 1);
    CHECK(rig.took() == kGrace + 7ms);
  }
}

TEST_CASE(
    "attachment: plughost's removed socket is created again if a kubelet knows, or receives, its name") {
  Rig rig;
  rig.socket_gone();
  CHECK(rig.listened_again == 0);
  rig.kubelet(1);
  rig.socket_gone();
  CHECK(rig.listened_again == 1);
  SUBCASE("the kubelet's own socket is missing") {
    rig.no_kubelet();
    rig.socket_gone();
    CHECK(rig.listened_again == 2);
    rig.answer(Result::kAccepted);
    rig.socket_gone();
    CHECK(rig.listened_again == 3);
    return;
  }
  rig.answer(Result::kAccepted);
  rig.socket_gone();
  CHECK(rig.listened_again == 2);
  rig.open();
  rig.socket_gone();
  CHECK(rig.listened_again == 3);
  SUBCASE("a new kubelet's socket exists") {
    rig.kubelet(2);
    rig.socket_gone();
    CHECK(rig.listened_again == 4);
    return;
  }
  SUBCASE("the socket is not created if no kubelet exists") {
    rig.no_kubelet();
    rig.socket_gone();
  }
  SUBCASE("the socket is not created if the next attempt, which creates one itself, is pending") {
    rig.close();
    rig.socket_gone();
  }
  CHECK(rig.listened_again == 3);
  CHECK(rig.asked.size() == 1);
}

TEST_CASE("attachment: in plugins_registry, plughost creates a socket and the kubelet finds it") {
  Rig rig(State{.registers = false});
  rig.kubelet(1);
  const std::uint32_t first = rig.incarnation;
  CHECK(rig.stage() == Stage::kRegistering);
  CHECK_FALSE(rig.waits());
  SUBCASE("a socket that is removed before a kubelet finds it is created again with a new name") {
    rig.socket_gone();
    CHECK(rig.incarnation == first + 1);
  }
  SUBCASE("a refusal leads to a new socket after 100 ms") {
    rig.dial();
    rig.feed(RegistryRefused{{rig.incarnation, kKubelet}, "it is taken"});
    CHECK(rig.failures == Failures{"the kubelet refuses it: it is taken"});
    CHECK(rig.stage() == Stage::kBackingOff);
    CHECK(rig.wait() == 100ms);
    rig.pass(100ms);
    CHECK(rig.incarnation == first + 1);
  }
  SUBCASE("a refusal of the former socket, or by the former kubelet, changes nothing") {
    rig.socket_gone();
    rig.dial(kKubelet + 1);
    rig.feed(RegistryRefused{{first, kKubelet + 1}, "it was taken"});
    rig.feed(RegistryRefused{{rig.incarnation, kKubelet}, "it was taken"});
    CHECK(rig.failures.empty());
    CHECK_FALSE(rig.waits());
  }
  SUBCASE("a socket that is removed while the stream is open is created again after the stream's end") {
    rig.dial();
    rig.open();
    rig.socket_gone();
    CHECK(rig.incarnation == first);
    rig.pass(1s);
    rig.close();
    rig.pass(kSettling);
    CHECK(rig.incarnation == first + 1);
  }
  SUBCASE("if a process other than the stream's listens as the kubelet, the stream no longer counts") {
    rig.dial();
    rig.open();
    rig.kubelet(2);
    rig.kubelet_process = kKubelet + 1;
    rig.pass(kGrace);
    CHECK(rig.incarnation == first + 1);
    CHECK(rig.stage() == Stage::kRegistering);
    rig.dial(kKubelet + 1);
    rig.open(kKubelet + 1);
    CHECK(rig.attached_times == 2);
  }
  SUBCASE("a late refusal has no effect while the stream is open") {
    rig.dial();
    rig.open();
    rig.feed(RegistryRefused{{rig.incarnation, kKubelet}, "it was taken"});
    CHECK(rig.stage() == Stage::kAttached);
    CHECK(rig.failures.empty());
    CHECK_FALSE(rig.waits());
  }
  SUBCASE("only streams of the process that has found the socket count") {
    rig.open(kStranger);
    CHECK(rig.stage() == Stage::kRegistering);
    rig.dial();
    rig.open();
    CHECK(rig.stage() == Stage::kAttached);
    rig.open(kStranger);
    rig.close(kStranger);
    CHECK(rig.ended == 0);
    rig.close();
    CHECK(rig.ended == 1);
    rig.dial(kKubelet + 1);
    rig.open(kKubelet + 1);
    CHECK(rig.attached_times == 2);
  }
  SUBCASE("a kubelet that finds the socket while a new one is due has half a second for its stream") {
    rig.dial();
    rig.open();
    rig.close();
    CHECK(rig.wait() == 100ms);
    rig.pass(99ms);
    SUBCASE("the kubelet opens its stream") {
      rig.dial(kKubelet + 1);
      CHECK(rig.wait() == kStreamAfterDial);
      rig.pass(499ms);
      rig.open(kKubelet + 1);
      CHECK(rig.stage() == Stage::kAttached);
      CHECK_FALSE(rig.waits());
      CHECK(rig.incarnation == first);
    }
    SUBCASE("the kubelet opens no stream") {
      rig.dial(kKubelet + 1);
      rig.pass(kStreamAfterDial);
      CHECK(rig.incarnation == first + 1);
    }
    SUBCASE("the kubelet has found a former socket") {
      rig.dial(kKubelet + 1, first - 1);
      CHECK(rig.wait() == 1ms);
    }
  }
  SUBCASE("a kubelet that dials before the end of its former stream is received has half a second, too") {
    rig.dial();
    rig.open();
    rig.dial();
    SUBCASE("the former stream's end is received before the new stream") {
      rig.close();
      CHECK(rig.failures.empty());
      CHECK(rig.wait() == kStreamAfterDial);
      rig.open();
    }
    SUBCASE("the new stream is received before the former stream's end") {
      rig.open();
      rig.close();
      CHECK(rig.ended == 0);
    }
    CHECK(rig.stage() == Stage::kAttached);
    CHECK(rig.incarnation == first);
    rig.close();
    CHECK(rig.wait() == 100ms);
  }
  SUBCASE("a kubelet that finds the socket while the former kubelet's stream is open is its successor") {
    rig.dial();
    rig.open();
    rig.dial(kKubelet + 1);
    CHECK(rig.stage() == Stage::kAttached);
    SUBCASE("the former stream's end is received before the successor's stream") {
      rig.close();
      CHECK(rig.ended == 1);
      CHECK(rig.failures.empty());
      CHECK(rig.wait() == kStreamAfterDial);
      SUBCASE("the successor opens a stream") {
        rig.open(kKubelet + 1);
        CHECK(rig.stage() == Stage::kAttached);
        CHECK_FALSE(rig.waits());
        CHECK(rig.incarnation == first);
        rig.pass(1s);
        rig.close(kKubelet + 1);
        CHECK(rig.ended == 2);
      }
      SUBCASE("the successor opens no stream") {
        rig.pass(kStreamAfterDial);
        CHECK(rig.incarnation == first + 1);
      }
    }
    SUBCASE("the successor's stream is received before the former stream's end") {
      rig.open(kKubelet + 1);
      CHECK(rig.attached_times == 2);
      rig.close();
      CHECK(rig.ended == 0);
      CHECK(rig.stage() == Stage::kAttached);
      rig.close(kKubelet + 1);
      CHECK(rig.ended == 1);
    }
    SUBCASE("the successor's dial does not count for a socket with a new name") {
      rig.kubelet(2);
      rig.kubelet_process = kKubelet + 1;
      rig.pass(kGrace);
      CHECK(rig.incarnation == first + 1);
      rig.open(kKubelet + 1);
      CHECK(rig.stage() == Stage::kRegistering);
      rig.dial(kKubelet + 2);
      rig.open(kKubelet + 2);
      CHECK(rig.stage() == Stage::kAttached);
    }
  }
  CHECK(rig.asked.empty());
  CHECK(rig.listened_again == 0);
}

TEST_CASE(
    "attachment: beside its stream a kubelet of 1.37 gets another registration, and only then the stream "
    "ends") {
  Rig rig = Rig::attached();
  const std::uint32_t former = rig.incarnation;
  rig.pass(1h);
  rig.register_again(true);
  CHECK(rig.stage() == Stage::kAttached);
  CHECK(rig.asked.size() == 2);
  CHECK(rig.incarnation == former + 1);
  CHECK(rig.ended_streams == 0);
  rig.dial();
  rig.answer(Result::kAccepted);
  CHECK(rig.stage() == Stage::kAttached);
  CHECK(rig.ended_former == 0);
  rig.open();
  CHECK(rig.ended_former == 1);
  CHECK(rig.attached_times == 2);
  CHECK(rig.sent_again == 0);
  rig.close(kKubelet, former);
  CHECK(rig.sent_again == 1);
  CHECK(rig.stage() == Stage::kAttached);
  CHECK(rig.ended == 0);
  rig.pass(1h);
  CHECK(rig.asked.size() == 2);
}

TEST_CASE("attachment: up to 1.36 the stream ends before the other registration") {
  Rig rig = Rig::attached();
  const std::uint32_t former = rig.incarnation;
  rig.register_again(false);
  CHECK(rig.ended_streams == 1);
  CHECK(rig.asked.size() == 1);
  rig.close();
  CHECK(rig.stage() == Stage::kBackingOff);
  CHECK(rig.failures.empty());
  rig.pass(kSettling);
  CHECK(rig.asked.size() == 2);
  CHECK(rig.incarnation == former + 1);
  rig.answer(Result::kAccepted);
  rig.open();
  rig.close();
  CHECK(rig.failures == Failures{"the kubelet ended the stream at once"});
}

TEST_CASE("attachment: the stream stays while the other registration fails, and the attempts go on") {
  Rig rig = Rig::attached();
  const std::uint32_t former = rig.incarnation;
  rig.pass(1h);
  rig.register_again(true);
  rig.answer(Result::kRefused);
  CHECK(rig.stage() == Stage::kAttached);
  CHECK(rig.failures == Failures{"the kubelet refuses it: so it says"});
  CHECK(rig.ended_former == 0);
  rig.pass(100ms);
  CHECK(rig.asked.size() == 3);
  CHECK(rig.incarnation == former + 2);
  rig.open();
  CHECK(rig.ended_former == 1);
}

TEST_CASE("attachment: after the end of the stream, a failed other registration is repeated soon") {
  Rig rig = Rig::attached();
  const std::uint32_t former = rig.incarnation;
  rig.pass(1h);
  rig.register_again(true);
  for (int i = 0; i < 5; ++i) {
    rig.answer(Result::kRefused);
    rig.pass(rig.wait());
  }
  rig.answer(Result::kRefused);
  CHECK(rig.wait() > kSettling);
  rig.close(kKubelet, former);
  CHECK(rig.stage() == Stage::kBackingOff);
  CHECK(rig.ended == 1);
  CHECK(rig.wait() == kSettling);
}

TEST_CASE("attachment: another registration that is requested during one follows it") {
  Rig rig = Rig::asking();
  rig.register_again(true);
  CHECK(rig.asked.size() == 1);
  rig.open();
  CHECK(rig.asked.size() == 1);
  rig.answer(Result::kAccepted);
  CHECK(rig.asked.size() == 2);
  rig.open();
  CHECK(rig.ended_former == 1);
  rig.answer(Result::kAccepted);
  CHECK(rig.asked.size() == 2);
}

TEST_CASE("attachment: another registration that is requested before the first one is that one") {
  Rig rig;
  rig.register_again(true);
  CHECK(rig.asked.empty());
  rig.kubelet(1);
  rig.open();
  rig.answer(Result::kAccepted);
  rig.pass(1h);
  CHECK(rig.asked.size() == 1);
}

TEST_CASE("attachment: another registration waits until it is known whose socket the kubelet's is") {
  Rig rig = Rig::attached();
  rig.kubelet(2);
  rig.register_again(true);
  CHECK(rig.asked.size() == 1);
  rig.pass(kGrace);
  CHECK(rig.kept == 1);
  CHECK(rig.asked.size() == 2);
  rig.open();
  CHECK(rig.ended_former == 1);
}

TEST_CASE("attachment: without a kubelet's socket the stream stays, and another registration waits for it") {
  Rig rig = Rig::attached();
  rig.no_kubelet();
  rig.register_again(true);
  CHECK(rig.stage() == Stage::kAttached);
  CHECK(rig.ended_streams == 0);
  CHECK(rig.asked.size() == 1);
}

TEST_CASE("attachment: in plugins_registry the stream ends before the kubelet finds another socket") {
  Rig rig(State{.registers = false});
  rig.kubelet(1);
  rig.dial();
  rig.open();
  REQUIRE(rig.stage() == Stage::kAttached);
  rig.register_again(true);
  CHECK(rig.ended_streams == 1);
}
