#include "daemon/publish/attachment.hpp"

#include <doctest/doctest.h>

#include "unit/daemon/publish/attachment_rig.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace plughost::attachment;
using namespace std::chrono_literals;

using Rig = AttachmentRig;
using Failures = std::vector<std::string>;

TEST_CASE("attachment: a kubelet is registered with once, and its stream attaches") {
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

TEST_CASE("attachment: a stream that opens before the answer attaches, whatever the answer is") {
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

TEST_CASE("attachment: a known kubelet changes nothing") {
  Rig rig = Rig::attached();
  rig.kubelet(1);
  rig.pass(1h);
  CHECK(rig.stage() == Stage::kAttached);
  CHECK(rig.asked.size() == 1);
  CHECK(rig.kept == 0);
}

TEST_CASE("attachment: no Register is sent before its time") {
  Rig rig(State{.not_before = Rig::kBegin + 300ms});
  rig.kubelet(1);
  CHECK(rig.stage() == Stage::kRegistering);
  rig.pass(299ms);
  CHECK(rig.asked.empty());
  rig.pass(1ms);
  CHECK(rig.asked.size() == 1);
}

TEST_CASE("attachment: a kubelet that accepts and opens no stream is registered with again after 11 s") {
  Rig rig = Rig::expecting();
  CHECK(rig.wait() == kStreamWatchdog);
  rig.pass(kStreamWatchdog);
  CHECK(rig.stage() == Stage::kBackingOff);
  CHECK(rig.failures == Failures{"the kubelet accepted it, but opened no stream"});
  rig.pass(100ms);
  CHECK(rig.asked.size() == 2);
}

TEST_CASE(
    "attachment: a kubelet that has dialed and opens no stream is registered with again after half a "
    "second") {
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

TEST_CASE("attachment: another process that dials makes no difference") {
  Rig rig = Rig::asking();
  rig.dial(kStranger);
  rig.dial(kKubelet, rig.incarnation - 1);
  rig.answer(Result::kAccepted);
  CHECK(rig.wait() == kStreamWatchdog);
  rig.dial(kStranger);
  CHECK(rig.wait() == kStreamWatchdog);
}

TEST_CASE("attachment: each socket name that a kubelet may have seen is used once") {
  for (const Result result : {Result::kNobodyListens, Result::kWentAway, Result::kRefused, Result::kSilent}) {
    Rig rig = Rig::asking();
    const std::uint32_t first = rig.incarnation;
    rig.answer(result);
    rig.pass(100ms);
    CHECK(rig.asked.size() == 2);
    CHECK(rig.incarnation == first + (result == Result::kNobodyListens ? 0 : 1));
  }
}

TEST_CASE("attachment: a socket without a listener is retried after 10 ms, 20 ms … 5 s") {
  Rig rig = Rig::asking();
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
    CHECK(rig.asked.size() == 13);
    CHECK(rig.asked.back() == socket_of(2));
    rig.answer(Result::kNobodyListens);
    CHECK(rig.wait() == 10ms);
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
  SUBCASE("nothing") {
    rig.answer(Result::kSilent);
    rig.kubelet(2);
    CHECK(rig.wait() == kGrace);
    rig.pass(499ms);
    CHECK(rig.asked.size() == 1);
    rig.pass(1ms);
  }
  SUBCASE("but one that said no, or went, is asked at once, though it has dialed") {
    rig.dial();
    SUBCASE("no") { rig.answer(Result::kRefused); }
    SUBCASE("went") { rig.answer(Result::kWentAway); }
    rig.kubelet(2);
  }
  SUBCASE("and so is one whose time for a stream is over") {
    rig.dial();
    rig.answer(Result::kAccepted);
    rig.pass(500ms);
    rig.kubelet(2);
  }
  SUBCASE("and one that has ended its stream") {
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
  SUBCASE("not quite 10 s") {
    rig.pass(9999ms);
    next = 800ms;
  }
  SUBCASE("10 s") {
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
  SUBCASE("and says nothing of the next attempt") {
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

  SUBCASE("its stream is open by then: it is found out whose it is") {
    rig.open();
    rig.answer(Result::kAccepted);
    CHECK(rig.stage() == Stage::kAttached);
    rig.pass(1h);
    CHECK(rig.kept == 1);
    CHECK(rig.asked.size() == 1);
  }
  SUBCASE("it said yes: it has half a second to open its stream") {
    rig.kubelet_process = kKubelet + 1;
    rig.answer(Result::kAccepted);
    rig.pass(499ms);
    CHECK(rig.asked.size() == 1);
    SUBCASE("and does") {
      rig.open();
      rig.pass(400ms);
      CHECK(rig.asked.size() == 1);
    }
    SUBCASE("and does not: the one that is there is asked") {
      rig.pass(1ms);
      CHECK(rig.asked == std::vector{socket_of(1), socket_of(3)});
    }
  }
  SUBCASE("it said no: the one that is there is asked after 100 ms") {
    rig.answer(Result::kRefused);
    rig.pass(99ms);
    CHECK(rig.asked.size() == 1);
    rig.pass(1ms);
    CHECK(rig.asked.size() == 2);
  }
  SUBCASE("it went away, or was not there, and the one that is there is asked at once") {
    SUBCASE("away") { rig.answer(Result::kWentAway); }
    SUBCASE("not there") { rig.answer(Result::kNobodyListens); }
    CHECK(rig.asked.size() == 2);
  }
  SUBCASE("its stream came and went: the one that is there is asked at once") {
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
  SUBCASE("no stream, and another process listens") {
    rig.kubelet_process = kKubelet + 1;
    rig.pass(kGrace);
    CHECK(rig.asked.size() == 2);
    CHECK(rig.failures.empty());
  }
  SUBCASE("no stream, and nobody listens") {
    rig.kubelet_process.reset();
    rig.pass(kGrace);
    CHECK(rig.asked.size() == 2);
  }
  SUBCASE("no stream, it has dialed: what is not there by now does not come") {
    rig.dial();
    rig.pass(kGrace);
    CHECK(rig.asked.size() == 2);
  }
  SUBCASE("no stream, but it is the one that said yes: it has as long as any") {
    rig.pass(kGrace);
    CHECK(rig.asked.size() == 1);
    CHECK(rig.wait() == kStreamWatchdog);
    rig.pass(kStreamWatchdog + 99ms);
    CHECK(rig.asked.size() == 1);
    CHECK(rig.failures == Failures{"the kubelet accepted it, but opened no stream"});
    rig.pass(1ms);
    CHECK(rig.asked.size() == 2);
  }
  SUBCASE("a stream") {
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

TEST_CASE("attachment: a kubelet that accepted and is gone is not waited for once another exists") {
  Rig rig = Rig::expecting();
  rig.no_kubelet();
  CHECK(rig.stage() == Stage::kWaiting);
  rig.kubelet_process = kKubelet + 1;
  SUBCASE("it comes within half a second, and so may the former one's stream") {
    rig.pass(499ms);
    rig.kubelet(2);
    CHECK(rig.asked.size() == 1);
    rig.pass(kGrace);
  }
  SUBCASE("it comes later") {
    rig.pass(kGrace);
    CHECK_FALSE(rig.waits());
    rig.kubelet(2);
  }
  CHECK(rig.asked.size() == 2);
}

TEST_CASE("attachment: another kubelet's socket while a stream lives: no Register for half a second") {
  Rig rig = Rig::attached();
  const std::uint32_t old = rig.incarnation;
  rig.kubelet(2);
  CHECK(rig.stage() == Stage::kAttached);
  CHECK(rig.asked.size() == 1);

  SUBCASE("the stream ends: the next kubelet is asked at once") {
    rig.pass(499ms);
    CHECK(rig.asked.size() == 1);
    rig.close();
    CHECK(rig.asked == std::vector{socket_of(1), socket_of(2)});
  }
  SUBCASE("it belongs to the process that listens: the kubelet made its socket anew") {
    rig.pass(kGrace);
    CHECK(rig.kept == 1);
    rig.pass(1h);
    CHECK(rig.asked.size() == 1);
    CHECK(rig.stage() == Stage::kAttached);
  }
  SUBCASE("nobody listens yet: it is found out later") {
    rig.kubelet_process.reset();
    rig.pass(3 * kGrace);
    CHECK(rig.asked.size() == 1);
    CHECK(rig.kept == 0);
    rig.kubelet_process = kKubelet + 1;
    rig.pass(kGrace);
    CHECK(rig.asked.size() == 2);
  }
  SUBCASE("another process listens: it is asked, and the old stream is nobody's any more") {
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
  SUBCASE("a stream to the old socket is nobody's, either") {
    rig.kubelet_process = kKubelet + 1;
    rig.pass(kGrace);
    rig.open(kKubelet, old);
    rig.open(kKubelet + 1, old);
    CHECK(rig.attached_times == 1);
    CHECK(rig.stage() == Stage::kRegistering);
  }
  SUBCASE("it goes before anything was asked: the stream stays") {
    rig.no_kubelet();
    CHECK(rig.stage() == Stage::kAttached);
    rig.pass(1h);
    CHECK(rig.asked.size() == 1);
    rig.close();
    CHECK(rig.stage() == Stage::kWaiting);
  }
}

TEST_CASE("attachment: a kubelet that ends with its stream is waited for, and its successor called at once") {
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

TEST_CASE("attachment: a pending retry is dropped with the kubelet, or done at the next one") {
  Rig rig = Rig::asking();
  rig.answer(Result::kRefused);
  SUBCASE("none") {
    rig.no_kubelet();
    CHECK(rig.stage() == Stage::kWaiting);
    CHECK_FALSE(rig.waits());
  }
  SUBCASE("another: the timer of the former one does nothing any more") {
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

TEST_CASE("attachment: a timer that fires late waits 100 ms for events that happened meanwhile, once") {
  Rig rig = Rig::expecting();
  rig.kubelet(2);
  rig.kubelet_process = kKubelet + 1;
  SUBCASE("not quite late") {
    rig.sleep(kGrace + 99ms);
    rig.time_up();
    CHECK(rig.asked.size() == 2);
  }
  SUBCASE("late") {
    rig.sleep(kGrace + 100ms);
    rig.time_up();
    CHECK(rig.asked.size() == 1);
    CHECK(rig.wait() == 100ms);
    SUBCASE("the stream was open all the time") {
      rig.open();
      rig.pass(400ms);
      CHECK(rig.asked.size() == 1);
    }
    SUBCASE("nothing happened, and the timer is late again") {
      rig.sleep(1h);
      rig.time_up();
      CHECK(rig.asked.size() == 2);
      SUBCASE("and so may the next be") {
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

TEST_CASE("attachment: without an own socket no Register is sent, and binding is retried with back-off") {
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

TEST_CASE("attachment: a second stream changes nothing, and the last one's end is the loss") {
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

TEST_CASE("attachment: a stream of another process makes no difference") {
  Rig rig = Rig::expecting();
  rig.open(kStranger);
  CHECK(rig.stage() == Stage::kRegistering);
  rig.open();
  CHECK(rig.attached_times == 1);
  SUBCASE("the kubelet's ends: it is the loss") {
    rig.pass(1s);
    rig.close();
    CHECK(rig.ended == 1);
    rig.pass(kSettling);
    CHECK(rig.asked.size() == 2);
  }
  SUBCASE("the other ends: it is none") {
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
  rig.open();  // a reader before the first request
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
    "attachment: the recovery time is counted from the time at which there was a kubelet and no stream") {
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
  SUBCASE("another kubelet comes") {
    rig.kubelet(2);
    rig.pass(20ms);
    rig.close();
    rig.pass(5ms);
    rig.open();
    CHECK(rig.took() == 5ms);
  }
  SUBCASE("another kubelet comes while the former one is asked") {
    rig.close();
    rig.pass(kSettling);
    rig.kubelet(2);
    rig.pass(1s);
    rig.answer(Result::kAccepted);
    rig.pass(6ms);
    rig.open();
    CHECK(rig.took() == 6ms);
  }
  SUBCASE("another kubelet comes, and the stream stays: another process listens") {
    rig.kubelet(2);
    rig.kubelet_process = kKubelet + 1;
    rig.pass(kGrace + 7ms);
    rig.open(kKubelet + 1);
    CHECK(rig.took() == kGrace + 7ms);
  }
}

TEST_CASE("attachment: an own socket is made again for a kubelet that knows its name, or receives it") {
  Rig rig;
  rig.socket_gone();
  CHECK(rig.listened_again == 0);
  rig.kubelet(1);
  rig.socket_gone();
  CHECK(rig.listened_again == 1);
  SUBCASE("though its own is away") {
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
  SUBCASE("while another's is there") {
    rig.kubelet(2);
    rig.socket_gone();
    CHECK(rig.listened_again == 4);
    return;
  }
  SUBCASE("not without a kubelet") {
    rig.no_kubelet();
    rig.socket_gone();
  }
  SUBCASE("not while the next attempt waits: it makes its own") {
    rig.close();
    rig.socket_gone();
  }
  CHECK(rig.listened_again == 3);
  CHECK(rig.asked.size() == 1);
}

TEST_CASE("attachment: in plugins_registry a socket is made, and the kubelet finds it") {
  Rig rig(State{.registers = false});
  rig.kubelet(1);
  const std::uint32_t first = rig.incarnation;
  CHECK(rig.stage() == Stage::kRegistering);
  CHECK_FALSE(rig.waits());
  SUBCASE("a socket that goes before is made anew, under another name") {
    rig.socket_gone();
    CHECK(rig.incarnation == first + 1);
  }
  SUBCASE("a refusal is answered with a new socket, after a while") {
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
  SUBCASE(
      "a socket that goes while the stream lives is left: the kubelet ends the stream, and then it is made") {
    rig.dial();
    rig.open();
    rig.socket_gone();
    CHECK(rig.incarnation == first);
    rig.pass(1s);
    rig.close();
    rig.pass(kSettling);
    CHECK(rig.incarnation == first + 1);
  }
  SUBCASE("another process than whose stream lives is the kubelet: that stream is nobody's any more") {
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
  SUBCASE("a refusal that comes late changes nothing while the stream lives") {
    rig.dial();
    rig.open();
    rig.feed(RegistryRefused{{rig.incarnation, kKubelet}, "it was taken"});
    CHECK(rig.stage() == Stage::kAttached);
    CHECK(rig.failures.empty());
    CHECK_FALSE(rig.waits());
  }
  SUBCASE("who finds it is whose streams count") {
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
  SUBCASE("who finds it while another is to be made has half a second for its stream") {
    rig.dial();
    rig.open();
    rig.close();
    CHECK(rig.wait() == 100ms);
    rig.pass(99ms);
    SUBCASE("and opens it") {
      rig.dial(kKubelet + 1);
      CHECK(rig.wait() == kStreamAfterDial);
      rig.pass(499ms);
      rig.open(kKubelet + 1);
      CHECK(rig.stage() == Stage::kAttached);
      CHECK_FALSE(rig.waits());
      CHECK(rig.incarnation == first);
    }
    SUBCASE("and opens none") {
      rig.dial(kKubelet + 1);
      rig.pass(kStreamAfterDial);
      CHECK(rig.incarnation == first + 1);
    }
    SUBCASE("and it is a former one") {
      rig.dial(kKubelet + 1, first - 1);
      CHECK(rig.wait() == 1ms);
    }
  }
  SUBCASE("a kubelet that finds it again before its former stream's end is heard has half a second, too") {
    rig.dial();
    rig.open();
    rig.dial();
    SUBCASE("the end first") {
      rig.close();
      CHECK(rig.failures.empty());
      CHECK(rig.wait() == kStreamAfterDial);
      rig.open();
    }
    SUBCASE("the new stream first") {
      rig.open();
      rig.close();
      CHECK(rig.ended == 0);
    }
    CHECK(rig.stage() == Stage::kAttached);
    CHECK(rig.incarnation == first);
    rig.close();
    CHECK(rig.wait() == 100ms);
  }
  SUBCASE("who finds it while the former kubelet's stream lives comes after that") {
    rig.dial();
    rig.open();
    rig.dial(kKubelet + 1);
    CHECK(rig.stage() == Stage::kAttached);
    SUBCASE("the former's end is heard before its stream") {
      rig.close();
      CHECK(rig.ended == 1);
      CHECK(rig.failures.empty());
      CHECK(rig.wait() == kStreamAfterDial);
      SUBCASE("and it opens one") {
        rig.open(kKubelet + 1);
        CHECK(rig.stage() == Stage::kAttached);
        CHECK_FALSE(rig.waits());
        CHECK(rig.incarnation == first);
        rig.pass(1s);
        rig.close(kKubelet + 1);
        CHECK(rig.ended == 2);
      }
      SUBCASE("and it opens none") {
        rig.pass(kStreamAfterDial);
        CHECK(rig.incarnation == first + 1);
      }
    }
    SUBCASE("its stream is heard before the former's end") {
      rig.open(kKubelet + 1);
      CHECK(rig.attached_times == 2);
      rig.close();
      CHECK(rig.ended == 0);
      CHECK(rig.stage() == Stage::kAttached);
      rig.close(kKubelet + 1);
      CHECK(rig.ended == 1);
    }
    SUBCASE("and is not heard of again under a new name") {
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
