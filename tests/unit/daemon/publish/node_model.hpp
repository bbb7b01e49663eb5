#pragma once
// A model of a node as a value: its kubelets, the sockets, one attachment, and its pending events. Each step
// that the kubelet's contract allows is a move. The model has no threads, no I/O, and a clock of its own.

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/publish/attachment.hpp"

namespace plughost::test {

struct Move {
  enum class Kind : std::uint8_t {
    // Steps that a kubelet makes within the limits of its contract:
    kDials,
    kDialFails,
    kAnswers,
    kOpensStream,
    kNoticesEnd,  // of a stream or connection; to 1.36, also disconnects the present owner of the name
    kFinds,       // plugins_registry: finds our socket
    kLoses,       // plugins_registry: loses our socket
    // Occasional events of a kubelet:
    kStarts,
    kDies,
    kRefuses,
    kEndsStream,
    kHangs,
    kGoesOn,
    // Events of the files:
    kSocketTouched,  // the kubelet's socket looks new, but the same process listens
    kSocketChanged,  // like kSocketTouched without an event, as after a chmod
    kSocketGone,
    kSocketBack,
    kSocketStale,  // another socket replaces it, without a listener
    kOwnSocketGone,
    kDirectoryGone,
    // Events of the daemon:
    kStopped,
    kContinued,
    kKilled,   // and is started again
    kRemoved,  // the resource is removed and returns
    kAgain,    // the resource must be registered again
    kRead,     // another process reads the list
    kReadNoMore,
    // Moves after a stop, when the daemon receives the pending events in any order:
    kHear,
    kSeeKubelet,
    kSeeSocket,
    kTimer,
    // Events of time:
    kTimerDue,
    kDeadline,  // of Register
    kTime,
    kSleep,  // suspends the machine
  };
  Kind kind{};
  std::uint8_t kubelet = 0;
  std::uint8_t which = 0;  // index of the client, of the event, or of the length of time
};

std::string to_text(const Move& move);

// The properties of a node.
struct Scene {
  const char* name = "";
  bool answers_first = false;       // old kubelets dial after the answer and do not query the options
  bool finds = false;               // plugins_registry
  bool several = false;             // kubelets from 1.37 on know a client by its socket, not by the resource
  int less_deep = 0;                // reduces the depth if there are too many states
  std::vector<Move::Kind> happens;  // optional moves that occur
};

class NodeModel {
 public:
  static constexpr std::array<std::int32_t, 3> kTimes{300, 1000, 10'000};  // ms

  // Creates the initial state. `scene` must outlive the model.
  explicit NodeModel(const Scene& scene);

  void moves(std::vector<Move>& found) const;
  void make(const Move& move);
  // Returns the rule that is broken; nullptr if none is.
  const char* error() const { return error_; }
  std::string text() const;

  // Returns the time until the kubelet has a lasting stream that the daemon knows, if no further disturbances
  // occur and every required step happens at once; nullopt if that is never the case.
  std::optional<std::chrono::milliseconds> time_to_calm() const;
  // Returns the longest time_to_calm() that the contract allows.
  std::chrono::milliseconds allowed() const;

  // Returns a hash of everything that matters later. Call tidy() first.
  std::uint64_t hash() const;
  // Renumbers kubelets, clients and sockets, and makes times relative to now, so that equal states have equal
  // hashes.
  void tidy();

 private:
  static constexpr std::uint8_t kStranger = 200;  // a process that is no kubelet
  static constexpr std::size_t kMostClients = 6;
  static constexpr std::size_t kMostWaiting = 10;

  // A kubelet's client, one per registration.
  struct Client {
    enum class Stage : std::uint8_t { kNone, kDialing, kConnected, kStreaming, kEnding };
    Stage stage = Stage::kNone;
    std::uint8_t incarnation = 0;  // incarnation that it was sent
    bool broken = false;           // the daemon has gone, and the client has not noticed it
    bool closed = false;           // closed by the kubelet: no stream follows
    bool overdue = false;          // stalled for longer than any contract allows
    std::int32_t idle = 0;         // ms
  };
  struct Kubelet {
    std::uint8_t process = 0;  // 0: none
    bool hangs = false;
    std::uint8_t named = 0;  // to 1.36, the client that owns the resource's name, + 1; 0: none
    std::uint8_t found = 0;  // plugins_registry: the known incarnation
    std::array<Client, kMostClients> clients{};
  };
  // The Register call under way.
  struct Call {
    bool open = false;
    bool connected = false;  // the kubelet has dialed
    std::uint8_t kubelet = 0;
    std::uint8_t client = 0;  // index + 1; 0: the client is gone
    std::int32_t age = 0;     // ms
  };
  // Pending events from gRPC's threads.
  struct News {
    enum class Kind : std::uint8_t { kNone, kRegistered, kDialed, kOpened, kClosed, kRefused };
    Kind kind = Kind::kNone;
    std::uint8_t incarnation = 0;
    std::uint8_t process = 0;
    RegistrationClient::Result result{};
  };

  static bool is_chance(Move::Kind kind);
  bool reachable() const { return own_socket_; }
  bool busy() const { return news_count_ > 0 || see_kubelet_ || see_socket_; }
  bool timer_is_late() const;
  bool may_pass(std::int32_t ms) const;
  std::int32_t patience(const Kubelet& kubelet, const Client& client) const;
  std::optional<FileIdentity> seen_kubelet() const;

  void pass(std::int32_t ms);
  void make_kubelets(const Move& move, Kubelet& kubelet, Client& client);
  void start_kubelet();
  void kill_kubelet(std::size_t index);
  void end_stream(Kubelet& kubelet, Client& client);
  void disconnect_named(Kubelet& kubelet, const Client& but);
  void restart_us(bool removed);
  bool is_called(const Kubelet& kubelet, const Client& client) const;
  void drop(Kubelet& kubelet, Client& client);

  void post(News news);
  void hear(std::size_t index);
  void hear_all();
  void fire_timer();
  void tell(const attachment::Event& event);
  void carry_out(const attachment::Listen& action);
  void carry_out(const attachment::ListenAgain& action);
  void carry_out(const attachment::Register& action);
  void carry_out(const attachment::FindKubeletProcess& action);
  void carry_out(const attachment::EndStreams& action);
  void carry_out(const attachment::SendListAgain&) {}
  void carry_out(const attachment::Attached&) {}
  void carry_out(const attachment::StreamEnded&) {}
  void carry_out(const attachment::StreamKept&) {}
  void carry_out(const attachment::Failed&) {}
  void check_rules();
  bool agreed() const;
  bool attempt_is_open() const;
  std::optional<Move> next_step(std::vector<Move>& scratch) const;

  template <typename What>
  static void each_number(auto& model, What what);

  const Scene* scene_;
  std::uint64_t happens_ = 0;  // bits of Move::Kind
  attachment::State we_;
  bool stopped_ = false;
  bool waking_ = false;                // resumed, with events pending
  std::array<Kubelet, 2> kubelets_{};  // the older one first
  Call call_;
  bool directory_ = false;
  std::uint8_t kubelet_socket_ = 0;   // identity; 0: none
  std::uint8_t socket_process_ = 0;   // listener; 0: none
  std::uint8_t renamed_process_ = 0;  // listener of a renamed socket
  std::uint8_t incarnation_ = 0;      // of our listener; 0: none yet
  std::uint8_t told_ = 0;             // the incarnation whose name was last sent to a kubelet; 0: none
  bool own_socket_ = false;           // our socket's file exists
  std::uint8_t read_ = 0;             // incarnation that another process's stream reads; 0: none
  bool see_kubelet_ = false;          // the kubelet's socket has changed, unnoticed
  bool see_socket_ = false;           // our socket has changed, unnoticed
  std::array<News, kMostWaiting> news_{};
  std::size_t news_count_ = 0;
  const char* error_ = nullptr;
};

}  // namespace plughost::test
