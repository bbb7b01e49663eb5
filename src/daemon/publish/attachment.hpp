#pragma once
// The state machine that brings a resource to the kubelet's stream and keeps it there: a pure function from
// events to actions. Plain values: no I/O, and the time comes with the event.
//
// A kubelet communicates with a plugin only by opening and ending a stream. Old kubelets answer Register
// before they dial, new ones after; the end of a former stream can remove the new client, and then the
// kubelet never dials again. generic-device-plugin waits 5 s after each restart for that reason. To avoid
// waiting, every order of events must be handled correctly, and no process meets the same order twice. A pure
// function can be tested with all orders: the tests explore 12 events on a model of the node, ./dev model any
// number, and a failure is a list of events. 64 resources have sent their lists 36.5 ms after a kubelet
// listens, the last Register is sent after 15.8 ms (./dev bench --real).

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

// After this time, Register is repeated for a kubelet that has accepted it without opening a stream: older
// kubelets dial back only after their answer, for up to 10 s.
inline constexpr std::chrono::seconds kStreamWatchdog{11};
// Newer kubelets dial before they answer Register. A kubelet that has dialed opens its stream within this
// time or never, because the end of a former stream of that name may have removed the new client.
inline constexpr std::chrono::milliseconds kStreamAfterDial{500};
// A process that ends closes its streams before another process can replace its socket: a stream that is
// still open after this time belongs to a live kubelet.
inline constexpr std::chrono::milliseconds kGrace{500};
// A lost stream is replaced at once if it lived for kFlapping, and resets the back-off after kSettled.
inline constexpr std::chrono::seconds kSettled{10};
inline constexpr std::chrono::seconds kFlapping{1};
// A kubelet that has just ended our stream needs this long to forget its client: the end of the former
// registration could end a new registration that comes earlier.
inline constexpr std::chrono::milliseconds kSettling{100};
// A timer that is this late fires after the process was stopped, or after the machine slept. Events from that
// time are still pending, and arrive within this time.
inline constexpr std::chrono::milliseconds kLate{100};

enum class Phase {
  kWaiting,     // no kubelet
  kPostponed,   // the kubelet may still be forgetting the name's former owner
  kBinding,     // a socket is being created, until the answer to Listen
  kAsking,      // a Register is in progress; a stream may open, and end, before its answer
  kExpecting,   // the kubelet has accepted, and must open its stream
  kAnnounced,   // the socket is where the kubelet's plugin registry finds it
  kAttached,    // a stream is open
  kLingering,   // a stream is open, and the socket belongs to a new kubelet: the stream's kubelet must be
                // determined
  kBackingOff,  // the last attempt has failed
};

struct State {
  bool registers = true;  // false: the kubelet's plugin registry finds the socket
  Time not_before{};      // no attempt before this time with the kubelet that is seen first

  Phase phase = Phase::kWaiting;
  std::optional<Time> due;              // when to send TimeUp
  bool was_late = false;                // TimeUp was late, and was deferred once
  std::optional<FileIdentity> kubelet;  // the present kubelet
  FileIdentity asked{};                 // the kubelet to which the last Register was sent
  std::uint32_t incarnation = 0;        // of our listener
  bool name_spent = false;              // a kubelet may have seen the listener's name
  pid_t process = 0;                    // of the kubelet that was sent the name, or has found the socket
  bool dialed = false;                  // the kubelet has dialed, and has not opened a stream since
  pid_t successor =
      0;  // plugins_registry: the kubelet that has found the socket while its predecessor's stream is open
  unsigned streams = 0;   // open streams of the kubelet with this incarnation; other streams do not count
  bool again = false;     // a registration under a new name is requested, and has not begun
  bool overlaps = false;  // it may begin while the present streams live
  Caller former{};        // the kubelet, by the name before that one
  unsigned former_streams = 0;  // open streams of `former`
  bool stream_lost = false;     // kAsking: a stream opened and ended before the answer
  Time searching_since{};       // since when there has been a kubelet without a stream
  Time attached_since{};
  Backoff unreachable{std::chrono::milliseconds(1), std::chrono::seconds(5)};
  Backoff refused{std::chrono::milliseconds(100), std::chrono::seconds(10)};

  bool operator==(const State&) const = default;
};

Stage stage_of(const State& state);

// Events.

struct KubeletSeen {  // nullopt: no kubelet is present
  std::optional<FileIdentity> kubelet;
};
struct Listening {  // the answer to Listen
  std::uint32_t incarnation = 0;
};
struct NotListening {  // the answer to Listen
  std::string why;
};
struct Asked {  // the process to which Register was sent; 0 if it is in another pid namespace,
                // and then its calls have process 0, too
  pid_t process = 0;
};
struct Registered {  // the answer to Register
  RegistrationClient::Result result{};
  std::string why;
};
struct Dialed {  // before a stream: for the options, or by the plugin registry
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
// The answer to FindKubeletProcess: 0 if it is in another pid namespace, nullopt if no process listens.
struct KubeletProcess {
  std::optional<pid_t> process;
};
struct SocketGone {};     // the file of our socket is missing
struct RegisterAgain {    // the kubelet must learn the resource again: its options, or its count
  bool overlaps = false;  // the kubelet identifies plugins by their sockets, as from 1.37 on
};
struct TimeUp {};

using Event = std::variant<KubeletSeen, Listening, NotListening, Asked, Registered, Dialed, StreamOpened,
                           StreamClosed, RegistryRefused, KubeletProcess, SocketGone, RegisterAgain, TimeUp>;

// Actions, in order.

struct Listen {  // the result is reported at once
  bool new_name = false;
};
struct ListenAgain {};  // creates the socket under the same name, if possible
struct Register {       // the called process, if any, is reported at once, and the result later
  FileIdentity kubelet;
};
struct FindKubeletProcess {};  // the result is reported at once
struct EndStreams {
  bool former_only = false;  // only those of other incarnations than the present one
};
// The last list of a former stream may have reached the kubelet after the first of the present one.
struct SendListAgain {};
// The remaining actions are for the log.
struct Attached {};
struct StreamEnded {};
struct StreamKept {};  // a kubelet that has created its socket again has kept the stream
struct Failed {
  std::string why;
  bool unreachable = false;  // no process listens, which is not a fault of this resource
};

using Action = std::variant<Listen, ListenAgain, Register, FindKubeletProcess, EndStreams, SendListAgain,
                            Attached, StreamEnded, StreamKept, Failed>;

struct Step {
  State state;
  std::vector<Action> actions;
};

Step step(const State& state, const Event& event, Time now);

}  // namespace plughost::attachment
