#include "daemon/publish/attachment.hpp"

#include <algorithm>
#include <utility>

namespace plughost::attachment {

namespace {

using Result = RegistrationClient::Result;

// A step in progress: the new state, and the actions.
class Course {
 public:
  Course(const State& state, Time now) : s_(state), now_(now) {}

  void on(const KubeletSeen& event);
  void on(const Listening& event);
  void on(const NotListening& event) { fail_refused(event.why); }
  void on(const Asked& event);
  void on(const Registered& event);
  void on(const Dialed& event);
  void on(const StreamOpened& event);
  void on(const StreamClosed& event);
  void on(const RegistryRefused& event);
  void on(const KubeletProcess& event);
  void on(const SocketGone& event);
  void on(const RegisterAgain& event);
  void on(const TimeUp& event);

  Step result() && { return {s_, std::move(actions_)}; }

 private:
  // Called when the kubelet has changed or disappeared, and no call to it is in progress.
  void meet_kubelet();
  void on_found(const Caller& by);
  void on_former_closed();
  void attach();
  void enter(Phase phase, std::optional<Time> due = std::nullopt) {
    s_.phase = phase;
    s_.due = due;
    s_.was_late = false;
  }
  // Call it when a stream is open. If the socket has changed since Register, determines the stream's kubelet.
  void enter_attached() {
    if (s_.registers && s_.kubelet && s_.kubelet != s_.asked) return enter(Phase::kLingering, now_ + kGrace);
    settle();
  }
  // Call it when the present kubelet's stream is open. Begins a requested registration.
  void settle();
  bool is_kubelets(const Caller& caller) const {
    return caller.incarnation == s_.incarnation && caller.process == s_.process;
  }
  void fail_refused(std::string why);
  void fail_unreachable(std::string why);

  State s_;
  Time now_;
  std::vector<Action> actions_;
};

void Course::on(const KubeletSeen& event) {
  if (s_.kubelet == event.kubelet) return;  // a late event
  if (s_.kubelet) s_.not_before = {};       // the kubelet that had to forget something is gone
  s_.kubelet = event.kubelet;
  s_.unreachable.reset();
  s_.refused.reset();
  // The kubelet that was called may be this kubelet with a new socket, and then a second Register would end
  // its stream. If the called kubelet has ended, the call ends as well.
  if (s_.phase == Phase::kAsking) return;
  // The same applies if the kubelet has accepted or dialed, and may be about to open its stream.
  if (s_.phase == Phase::kExpecting || (s_.phase == Phase::kBackingOff && s_.dialed))
    return enter(Phase::kExpecting, now_ + kGrace);
  meet_kubelet();
}

void Course::meet_kubelet() {
  if (!s_.kubelet) return enter(s_.streams == 0 ? Phase::kWaiting : Phase::kAttached);
  s_.searching_since = now_;
  // A second Register would end this kubelet's stream: first determine whether the stream is its own.
  if (s_.streams > 0) return enter(Phase::kLingering, now_ + kGrace);
  attach();
}

void Course::attach() {
  if (!s_.kubelet) return enter(Phase::kWaiting);
  if (now_ < s_.not_before) return enter(Phase::kPostponed, s_.not_before);
  enter(Phase::kBinding);
  actions_.push_back(Listen{.new_name = s_.name_spent});
}

void Course::settle() {
  enter(Phase::kAttached);
  if (!s_.again || !s_.kubelet) return;
  if (!s_.overlaps || !s_.registers) return actions_.push_back(EndStreams{});
  s_.former = {.incarnation = s_.incarnation, .process = s_.process};
  s_.former_streams = std::exchange(s_.streams, 0);
  s_.searching_since = now_;
  attach();
}

void Course::on(const RegisterAgain& event) {
  s_.overlaps = event.overlaps;
  s_.again = true;
  if (s_.phase == Phase::kAttached) settle();
}

void Course::on(const Listening& event) {
  s_.again = false;
  if (s_.incarnation != event.incarnation) {
    s_.incarnation = event.incarnation;
    s_.streams = 0;  // the former listener's streams belong to an ended kubelet
    if (!s_.registers) s_.dialed = false;
    s_.successor = 0;
  }
  if (!s_.registers) {
    s_.name_spent = true;  // the kubelet may find the socket at any time
    return enter(Phase::kAnnounced);
  }
  enter(Phase::kAsking);
  s_.stream_lost = false;
  s_.asked = *s_.kubelet;
  actions_.push_back(Register{s_.asked});
}

void Course::on(const Asked& event) {
  if (s_.process == event.process) return;
  s_.process = event.process;
  s_.streams = 0;
}

void Course::on(const Registered& event) {
  s_.name_spent = event.result != Result::kNobodyListens;
  const bool another = s_.kubelet != s_.asked;  // the socket's identity has changed meanwhile
  const bool gone = event.result == Result::kNobodyListens || event.result == Result::kWentAway;
  if (gone || event.result == Result::kRefused) s_.dialed = false;
  if (another && (gone || s_.streams > 0 || s_.stream_lost)) return meet_kubelet();
  if (s_.streams > 0) return settle();  // regardless of the answer
  if (s_.stream_lost) return fail_refused("the kubelet ended the stream at once");
  switch (event.result) {
    case Result::kAccepted:
      if (another) s_.searching_since = now_;
      if (another) return enter(Phase::kExpecting, now_ + kGrace);
      return enter(Phase::kExpecting,
                   now_ + (s_.dialed ? Time::duration(kStreamAfterDial) : kStreamWatchdog));
    case Result::kNobodyListens:
    case Result::kWentAway:
      return fail_unreachable(event.why);
    case Result::kRefused:
      return fail_refused("the kubelet refuses it: " + event.why);
    case Result::kSilent:
      s_.dialed = true;  // the kubelet may have dialed by the time of this event
      return fail_refused("the kubelet does not answer: " + event.why);
  }
}

void Course::on(const Dialed& event) {
  if (!s_.registers) return on_found(event.by);
  if (s_.streams > 0 || !is_kubelets(event.by)) return;
  s_.dialed = true;
  // The kubelet is late but present: another attempt would end the stream that it is about to open.
  if (s_.phase == Phase::kExpecting || s_.phase == Phase::kBackingOff)
    enter(Phase::kExpecting, now_ + kStreamAfterDial);
}

// Called when the kubelet's plugin registry has found the socket; no other program searches there.
void Course::on_found(const Caller& by) {
  // The end of the former kubelet's stream, or of this kubelet's former stream, may be reported later.
  if (s_.streams > 0) {
    s_.dialed = true;
    if (by.process != s_.process) s_.successor = by.process;
    return;
  }
  s_.process = by.process;
  // The kubelet is late but present, as in on(Dialed).
  if (s_.phase == Phase::kBackingOff && by.incarnation == s_.incarnation)
    enter(Phase::kBackingOff, now_ + kStreamAfterDial);
}

void Course::on(const StreamOpened& event) {
  if (s_.successor != 0 && event.by == Caller{s_.incarnation, s_.successor}) {
    s_.process = std::exchange(s_.successor, 0);
    s_.streams = 0;
  }
  if (!is_kubelets(event.by)) return;
  s_.dialed = false;
  if (++s_.streams > 1) return;
  s_.attached_since = now_;
  actions_.push_back(Attached{});
  if (s_.former_streams > 0) actions_.push_back(EndStreams{.former_only = true});
  if (s_.phase != Phase::kAsking) enter_attached();
}

void Course::on_former_closed() {
  if (--s_.former_streams > 0) return;
  if (s_.streams > 0) return actions_.push_back(SendListAgain{});
  actions_.push_back(StreamEnded{});
  if (s_.phase == Phase::kBackingOff) enter(Phase::kBackingOff, std::min(*s_.due, now_ + kSettling));
}

void Course::on(const StreamClosed& event) {
  if (s_.former_streams > 0 && event.by == s_.former) return on_former_closed();
  if (!is_kubelets(event.by) || s_.streams == 0 || --s_.streams > 0) return;
  actions_.push_back(StreamEnded{});
  s_.searching_since = now_;
  const auto lived = now_ - s_.attached_since;
  if (lived >= kSettled) s_.refused.reset();
  if (!s_.registers && s_.dialed) {
    s_.dialed = false;
    if (s_.successor != 0) s_.process = std::exchange(s_.successor, 0);
    return enter(Phase::kBackingOff, now_ + kStreamAfterDial);
  }
  // If a kubelet fails without creating a new socket, the lost stream is the only sign. The loss of a former
  // kubelet's stream has no meaning for this kubelet.
  if (s_.phase == Phase::kAsking) {
    s_.stream_lost = true;
  } else if (s_.phase == Phase::kLingering || !s_.kubelet) {
    attach();
  } else if (lived >= kFlapping || s_.again) {
    enter(Phase::kBackingOff, now_ + kSettling);
  } else {
    fail_refused("the kubelet ended the stream at once");
  }
}

void Course::on(const RegistryRefused& event) {
  if (s_.streams > 0 || !is_kubelets(event.by)) return;  // a late event of a former kubelet
  fail_refused("the kubelet refuses it: " + event.why);
}

void Course::on(const KubeletProcess& event) {
  if (s_.phase == Phase::kExpecting) {
    if (event.process.value_or(0) == 0 || event.process != s_.process) return attach();
    s_.asked = *s_.kubelet;  // the same kubelet with another identity of its socket
    return enter(Phase::kExpecting, now_ + kStreamWatchdog);
  }
  if (!event.process) return enter(Phase::kLingering, now_ + kGrace);
  if (*event.process != s_.process) return attach();
  s_.asked = *s_.kubelet;
  actions_.push_back(StreamKept{});
  settle();
}

void Course::on(const SocketGone&) {
  if (!s_.registers) {
    // The kubelet's registry ends the stream of a missing socket, and only then is a new socket created. A
    // socket created earlier would be registered while the stream is open.
    if (s_.phase == Phase::kAnnounced) attach();
    return;
  }
  // The kubelet has this name, or is receiving it: it must find the socket there, now or when it dials.
  const bool told = s_.phase == Phase::kAsking || s_.phase == Phase::kExpecting;
  const bool known = s_.phase == Phase::kAttached || s_.phase == Phase::kLingering;
  if (told || (known && s_.kubelet)) actions_.push_back(ListenAgain{});
}

void Course::on(const TimeUp&) {
  if (!s_.due || now_ < *s_.due) return;
  if (now_ - *s_.due >= kLate && !std::exchange(s_.was_late, true)) {
    s_.due = now_ + kLate;
    return;
  }
  const bool expects = s_.phase == Phase::kExpecting;
  const bool another = s_.kubelet && s_.kubelet != s_.asked;
  if (s_.phase == Phase::kLingering || (expects && another && !s_.dialed))
    return actions_.push_back(FindKubeletProcess{});
  s_.dialed = false;
  if (expects && s_.kubelet == s_.asked) return fail_refused("the kubelet accepted it, but opened no stream");
  attach();
}

void Course::fail_refused(std::string why) {
  enter(Phase::kBackingOff, now_ + s_.refused.next());
  actions_.push_back(Failed{.why = std::move(why)});
}

void Course::fail_unreachable(std::string why) {
  enter(Phase::kBackingOff, now_ + s_.unreachable.next());
  actions_.push_back(Failed{.why = std::move(why), .unreachable = true});
}

}  // namespace

Stage stage_of(const State& state) {
  if (state.former_streams > 0) return Stage::kAttached;
  switch (state.phase) {
    case Phase::kWaiting:
      return Stage::kWaiting;
    case Phase::kExpecting:
      return state.kubelet ? Stage::kRegistering : Stage::kWaiting;
    case Phase::kPostponed:
    case Phase::kBinding:
    case Phase::kAnnounced:
      return Stage::kRegistering;
    case Phase::kAsking:
      return state.streams > 0 ? Stage::kAttached : Stage::kRegistering;
    case Phase::kAttached:
    case Phase::kLingering:
      return Stage::kAttached;
    case Phase::kBackingOff:
      return Stage::kBackingOff;
  }
  return Stage::kWaiting;
}

Step step(const State& state, const Event& event, Time now) {
  Course course(state, now);
  std::visit([&](const auto& what) { course.on(what); }, event);
  return std::move(course).result();
}

}  // namespace plughost::attachment
