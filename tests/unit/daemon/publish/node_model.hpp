#pragma once
// A node as a value: its kubelets, the files between them and us, one attachment, and what is on its way to
// it. Whatever the kubelet's contract lets come next is a move. No thread, no I/O, and no clock but its own.

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
    // What a kubelet does, sooner or later.
    kDials,
    kDialFails,
    kAnswers,
    kOpensStream,
    kNoticesEnd,  // of a stream or a connection: whoever has the name now is disconnected
    kFinds,       // plugins_registry: our socket is there
    kLoses,       // plugins_registry: our socket is gone
    // What it does now and then.
    kStarts,
    kDies,
    kRefuses,
    kEndsStream,
    kHangs,
    kGoesOn,
    // What happens to the files.
    kSocketTouched,  // the kubelet's: the same process listens, and it looks like another
    kSocketChanged,  // likewise, and no event tells of it: a chmod
    kSocketGone,
    kSocketBack,
    kSocketStale,  // another takes its place, and nobody listens
    kOwnSocketGone,
    kDirectoryGone,
    // What happens to us.
    kStopped,
    kContinued,
    kKilled,   // and started again
    kRemoved,  // the resource, which then comes back
    kRead,     // the list, by somebody else
    kReadNoMore,
    // We have been stopped, and hear what happened meanwhile, in any order.
    kHear,
    kSeeKubelet,
    kSeeSocket,
    kTimer,
    // Time.
    kTimerDue,
    kDeadline,  // Register's
    kTime,
    kSleep,  // the whole machine's
  };
  Kind kind{};
  std::uint8_t kubelet = 0;
  std::uint8_t which = 0;  // client, event, or length of time
};

std::string to_text(const Move& move);

// What a node is like.
struct Scene {
  const char* name = "";
  bool answers_first = false;       // old kubelets: they dial after that, and do not ask for the options
  bool finds = false;               // plugins_registry
  int less_deep = 0;                // there would be too many states
  std::vector<Move::Kind> happens;  // of what need not
};

class NodeModel {
 public:
  static constexpr std::array<std::int32_t, 3> kTimes{300, 1000, 10'000};  // ms

  // Nothing has happened yet. scene outlives it.
  explicit NodeModel(const Scene& scene);

  void moves(std::vector<Move>& found) const;
  void make(const Move& move);
  // Which rule has been broken; nullptr: none.
  const char* error() const { return error_; }
  std::string text() const;

  // Provocations end, and all do at once what they have to: how long until the kubelet has a stream that
  // stays, and we know of it. nullopt: never.
  std::optional<std::chrono::milliseconds> time_to_calm() const;
  // How long the contract lets that take.
  std::chrono::milliseconds allowed() const;

  // Of all that makes a difference later. Only after tidy().
  std::uint64_t hash() const;
  // Numbers start anew, and times are counted from now.
  void tidy();

 private:
  static constexpr std::uint8_t kStranger = 200;  // a process that is no kubelet
  static constexpr std::size_t kMostClients = 6;
  static constexpr std::size_t kMostWaiting = 10;

  // A kubelet's, one for each registration.
  struct Client {
    enum class Stage : std::uint8_t { kNone, kDialing, kConnected, kStreaming, kEnding };
    Stage stage = Stage::kNone;
    std::uint8_t incarnation = 0;  // that it was told
    bool broken = false;           // we are gone; it does not know yet
    bool closed = false;           // by the kubelet: no stream will come
    bool overdue = false;          // it hung, for longer than any contract lets it
    std::int32_t idle = 0;         // ms
  };
  struct Kubelet {
    std::uint8_t process = 0;  // 0: none
    bool hangs = false;
    std::uint8_t named = 0;  // the client that has the resource's name, + 1; 0: none
    std::uint8_t found = 0;  // plugins_registry: the incarnation that it knows of
    std::array<Client, kMostClients> clients{};
  };
  // Our Register under way.
  struct Call {
    bool open = false;
    bool connected = false;  // it has dialed
    std::uint8_t kubelet = 0;
    std::uint8_t client = 0;  // + 1; 0: it is gone
    std::int32_t age = 0;     // ms
  };
  // What gRPC's threads have to say.
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
  std::uint64_t happens_ = 0;  // by Move::Kind
  attachment::State we_;
  bool stopped_ = false;
  bool waking_ = false;                // we were, and not everything has been heard
  std::array<Kubelet, 2> kubelets_{};  // the older one first
  Call call_;
  bool directory_ = false;
  std::uint8_t kubelet_socket_ = 0;   // its identity; 0: there is none
  std::uint8_t socket_process_ = 0;   // who listens; 0: nobody
  std::uint8_t renamed_process_ = 0;  // who listens on a socket that was renamed
  std::uint8_t incarnation_ = 0;      // of our listener; 0: none yet
  bool own_socket_ = false;           // its file is there
  std::uint8_t read_ = 0;             // a stranger's stream: the incarnation; 0: none
  bool see_kubelet_ = false;          // the kubelet's socket has changed, and we have not looked
  bool see_socket_ = false;           // likewise ours
  std::array<News, kMostWaiting> news_{};
  std::size_t news_count_ = 0;
  const char* error_ = nullptr;
};

}  // namespace plughost::test
