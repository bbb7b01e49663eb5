#pragma once
// How a resource comes to the kubelet's stream and keeps it, as a pure state machine: what happens, and what
// is to be done then. Plain values: no I/O, and no clock but the time that comes with an event.
//
// A kubelet tells a plugin nothing but by a stream that opens or ends. Old ones answer Register before they
// dial, new ones after it; the end of a former stream can take the new client with it, and then nothing ever
// happens again. generic-device-plugin waits 5 s after each restart until that has passed. To wait for
// nothing one has to be right in every order of events, and no process meets the same order twice. A function
// of a state, an event and a time can be tried in all of them: the tests do so with 12 events on a model of
// the node, ./dev model with as many as one likes, and a failure is a list of events. 64 resources are listed
// 36.5 ms after a kubelet listens, the last Register after 15.8 ms (./dev bench --real).

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/system/rate.hpp"
#include "base/system/unix_socket.hpp"
#include "daemon/status/stage.hpp"
#include "kubernetes/plugin/endpoint.hpp"
#include "kubernetes/plugin/registration.hpp"

namespace plughost::attachment {

using Time = std::chrono::steady_clock::time_point;

// A kubelet that says yes and then opens no stream is asked again after this: older ones dial back only after
// their answer, for up to 10 s.
inline constexpr std::chrono::seconds kStreamWatchdog{11};
// One that has dialed, which newer ones do before they answer, opens its stream at once or never: the end of
// a former stream of that name may have taken the new client along.
inline constexpr std::chrono::milliseconds kStreamAfterDial{500};
// A process that ends closes its streams before another can take its socket's place: what still lives after
// this belongs to a kubelet that lives, too.
inline constexpr std::chrono::milliseconds kGrace{500};
// A stream that has lived so long was no accident: the next loss is answered at once again.
inline constexpr std::chrono::seconds kSettled{10};
inline constexpr std::chrono::seconds kFlapping{1};
// A kubelet that has just ended our stream takes this long to forget its client: a registration that is
// faster meets the end of the former one.
inline constexpr std::chrono::milliseconds kSettling{100};
// A timer that is so late fires in a process that was stopped, or on a machine that slept. What happened
// meanwhile waits to be told, and takes no longer than this.
inline constexpr std::chrono::milliseconds kLate{100};

enum class Phase {
  kWaiting,     // there is no kubelet
  kPostponed,   // the kubelet may still be forgetting the name's last owner
  kBinding,     // a socket is being made: over with the answer to Listen
  kAsking,      // a Register is under way; a stream may come, and go, before its answer
  kExpecting,   // the kubelet said yes, and is to open its stream
  kAnnounced,   // the socket is where the kubelet's plugin registry looks for it
  kAttached,    // a stream is open
  kLingering,   // a stream is open, and another kubelet's socket is there: is it that kubelet's?
  kBackingOff,  // the last attempt failed
};

struct State {
  bool registers = true;  // false: the kubelet's plugin registry finds the socket by itself
  Time not_before{};      // no attempt earlier

  Phase phase = Phase::kWaiting;
  std::optional<Time> due;              // when to say TimeUp
  bool was_late = false;                // TimeUp came late, and was put off once
  std::optional<FileIdentity> kubelet;  // the one that is there
  FileIdentity asked{};                 // the one that the last Register went to
  std::uint32_t incarnation = 0;        // of our listener
  bool name_spent = false;              // a kubelet may have seen the listener's name
  pid_t process = 0;                    // the kubelet's that was told the name, or has found it
  bool dialed = false;                  // it has, and has opened no stream since
  pid_t successor = 0;                  // plugins_registry: who has found us while the former's stream lives
  unsigned streams = 0;                 // its open ones of this incarnation; anybody else's do not count
  bool stream_lost = false;             // kAsking: one came and went before the answer
  Time searching_since{};               // since when there has been a kubelet and no stream
  Time attached_since{};
  Backoff unreachable{std::chrono::milliseconds(10), std::chrono::seconds(5)};
  Backoff refused{std::chrono::milliseconds(100), std::chrono::seconds(10)};

  bool operator==(const State&) const = default;
};

Stage stage_of(const State& state);

// What happens.

struct KubeletSeen {  // nullopt: there is none
  std::optional<FileIdentity> kubelet;
};
struct Listening {  // the answer to Listen
  std::uint32_t incarnation = 0;
};
struct NotListening {  // likewise
  std::string why;
};
struct Asked {  // which process Register went to; 0: not to be seen from here, as all of its callers are
  pid_t process = 0;
};
struct Registered {  // the answer to Register
  RegistrationClient::Result result{};
  std::string why;
};
struct Dialed {  // before a stream: for the options, or as the plugin registry does
  Caller by;
};
struct StreamOpened {
  Caller by;
};
struct StreamClosed {
  Caller by;
};
struct RegistryRefused {  // by the kubelet's plugin registry
  Caller by;
  std::string why;
};
struct KubeletProcess {  // the answer to FindKubeletProcess; 0: not to be seen from here; nullopt: nobody
                         // listens
  std::optional<pid_t> process;
};
struct SocketGone {};  // our socket's file is not there any more
struct TimeUp {};

using Event = std::variant<KubeletSeen, Listening, NotListening, Asked, Registered, Dialed, StreamOpened,
                           StreamClosed, RegistryRefused, KubeletProcess, SocketGone, TimeUp>;

// What is to be done, in order.

struct Listen {  // and say how it went, at once
  bool new_name = false;
};
struct ListenAgain {};  // under the same name, if that is possible
struct Register {       // and say at once who is asked, if somebody is, and later how it went
  FileIdentity kubelet;
};
struct FindKubeletProcess {};  // and say at once which it is
// The rest is for the log.
struct Attached {};
struct StreamEnded {};
struct StreamKept {};  // by a kubelet that made its socket anew
struct Failed {
  std::string why;
  bool unreachable = false;  // nobody listens: no news of this resource
};

using Action = std::variant<Listen, ListenAgain, Register, FindKubeletProcess, Attached, StreamEnded,
                            StreamKept, Failed>;

struct Step {
  State state;
  std::vector<Action> actions;
};

Step step(const State& state, const Event& event, Time now);

}  // namespace plughost::attachment
