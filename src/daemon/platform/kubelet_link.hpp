#pragma once
// The kubelet of this node, as every resource shares it, and which containers hold which devices. Loop thread
// only.

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/system/event_loop.hpp"
#include "base/system/rate.hpp"
#include "base/system/unix_socket.hpp"
#include "base/system/workers.hpp"
#include "config/config.hpp"
#include "daemon/platform/platform.hpp"
#include "kubernetes/kubelet/checkpoint.hpp"
#include "kubernetes/kubelet/holdings.hpp"
#include "kubernetes/kubelet/plugin_directory.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "kubernetes/plugin/registration.hpp"

namespace plughost {

// Decides which containers hold which devices, from the kubelet's two sources. Pure functions of values,
// thread-safe.
//
// The kubelet has two records, and neither is complete. `List` of its pod resources names pods, but leaves
// out ordinary init containers (KEP-606), and can be empty for the first seconds of a kubelet. The checkpoint
// has every container, but keeps a pod that has ended until the kubelet's next Allocate. So a container holds
// what `List` says; and it holds what the checkpoint says for as long as the kubelet keeps a directory for
// its pod. Either source alone was wrong: by `List`, the device of a running init container was given to
// another pod 8 s after its Allocate; by the checkpoint, the device of a pod that had ended stayed reserved
// until the kubelet's next Allocate, however late.
struct KnownHolders {
  std::shared_ptr<const Holdings> holdings;  // nullptr: neither source could be read
  bool complete = false;  // true: a device that is not in `holdings` is held by no container
};

// listed: the answer of `List`; nullptr: it could not be read. settled: the kubelet that answered has been
// running for long enough to know its pods. reading: a reading of the checkpoint that began after `List` was
// asked. Where the directory of the pods cannot be read, every pod of the checkpoint counts. An id that
// `List` has keeps the holder that `List` gives. Takes time in proportion to the ids of both; not for the
// loop.
KnownHolders known_holders(std::shared_ptr<const Holdings> listed, bool settled,
                           const CheckpointReader::Reading& reading);

// Tells how long the kubelet has been running, by the sockets that it makes when it starts. Loop thread only.
class KubeletAge {
 public:
  using Clock = EventLoop::Clock;
  using Sockets = std::array<std::filesystem::path, 2>;
  // A kubelet that has started less than this ago may not list all of its pods yet.
  static constexpr std::chrono::seconds kSettling{10};

  explicit KubeletAge(Sockets sockets) : sockets_(std::move(sockets)) {}

  // Returns true if the kubelet has been running for kSettling at least. Reads both files' attributes.
  bool settled();

 private:
  using Identities = std::array<std::optional<FileIdentity>, 2>;

  const Sockets sockets_;
  std::optional<Identities> seen_;
  Clock::time_point settled_at_ = Clock::time_point::max();
};

// Reads both of the kubelet's records and decides by known_holders(): every other class that needs to know
// holders asks here.
class HoldingsReader {
 public:
  using Clock = EventLoop::Clock;
  using Done = std::function<void(const PodResources::Answer& answer)>;
  // What is shown again and again, and nobody acts upon, may be as old as this.
  static constexpr std::chrono::seconds kShown{1};
  // Merging takes memory and time, and waits for nothing.
  static constexpr std::chrono::seconds kMergeDeadline{10};

  // kubelet: sockets that the kubelet makes when it starts. All others outlive it.
  HoldingsReader(EventLoop& loop, Workers& workers, PodResources& pods, CheckpointReader& checkpoint,
                 KubeletAge::Sockets kubelet)
      : loop_(loop), workers_(workers), pods_(pods), checkpoint_(checkpoint), age_(std::move(kubelet)) {}
  HoldingsReader& operator=(HoldingsReader&&) = delete;

  // Who holds what at that time or later; or, if patience is over before that is known, that it is not.
  // nullopt: for as long as the kubelet and its checkpoint may take. done runs in the loop, maybe at once;
  // never, if this is gone by then.
  void read(Clock::time_point since, Done done,
            std::optional<std::chrono::milliseconds> patience = std::nullopt);
  // The answer to a question whose merging did not end by kMergeDeadline.
  static PodResources::Answer too_late() {
    return {.holdings = nullptr, .why = "reading which pods hold devices takes too long"};
  }
  // Another kubelet is meant from now on: answers all who wait that nothing is known.
  void abandon();

 private:
  using Number = std::uint64_t;
  struct Asker {
    Done done;
    std::optional<Timer> patience;
  };

  void read_checkpoint(Number who, Clock::time_point since, const PodResources::Answer& listed);
  void merge(Number who, const PodResources::Answer& listed, const CheckpointReader::Reading& reading);
  // Answers the asker, unless its patience has ended before.
  void finish(Number who, const PodResources::Answer& answer);

  EventLoop& loop_;
  Workers& workers_;
  PodResources& pods_;
  CheckpointReader& checkpoint_;
  KubeletAge age_;
  std::map<Number, Asker> waiting_;
  Number next_ = 0;
  // The sources of the last answer, by which it is given again to others who ask at the same time.
  Clock::time_point list_asked_ = Clock::time_point::min();
  Clock::time_point checkpoint_began_ = Clock::time_point::min();
  PodResources::Answer last_;
  Lifetime questions_;  // those that are open
};

// Asks who holds what, and again for as long as somebody has to know it, later and later. A kubelet that may
// not know all of its pods yet is asked again soon. Loop thread only.
class HoldingsPoll {
 public:
  static constexpr std::chrono::milliseconds kFirstPause{1000};
  static constexpr std::chrono::milliseconds kLongestPause{10'000};
  using Read = std::function<void(HoldingsReader::Done done)>;

  // on_answer returns whether it has to know more. loop outlives it.
  HoldingsPoll(EventLoop& loop, Read read, std::function<bool(const PodResources::Answer& answer)> on_answer)
      : read_(std::move(read)), on_answer_(std::move(on_answer)), timer_(loop, [this] { ask(); }) {}

  // At once, unless an answer is on its way.
  void ask();
  void ask_soon() { timer_.arm(kFirstPause); }
  // After the next pause, unless it asks before.
  void ask_later();
  // The pauses begin with the first.
  void reset() { pause_.reset(); }
  // True: it asks after a pause.
  bool pauses() const { return timer_.armed(); }

 private:
  const Read read_;
  const std::function<bool(const PodResources::Answer& answer)> on_answer_;
  bool asking_ = false;
  Backoff pause_{kFirstPause, kLongestPause};
  Timer timer_;
  Lifetime lifetime_;
};

// What every resource shares: the kubelet of this node, and our directory of sockets. Loop thread only. Made
// anew when the configuration names another kubelet.
class KubeletLink {
 public:
  // After a plugin has ended its stream, or was killed, the kubelet needs this long to forget it.
  static constexpr std::chrono::milliseconds kForgetting{500};

  // on_kubelet: another kubelet, or none. on_sockets: one of our sockets may be gone. Not called from within.
  // former: the link before this one, which may have the same directory; nullptr: there is none. Throws
  // DirectoryHeld, or std::system_error.
  KubeletLink(Platform& platform, const KubeletConfig& config, const KubeletLink* former,
              std::function<void()> on_kubelet, std::function<void()> on_sockets);

  const KubeletConfig& config() const { return config_; }
  bool registers() const { return config_.registration == KubeletConfig::Registration::kRegister; }

  // The earliest time for a Register, if the daemon before this one was killed: it has left its sockets. A
  // kubelet up to 1.36 stops endpoints by the resource's name. If it processes the end of the killed daemon's
  // stream after this one has registered, it stops this one's endpoint. The stream stays open then, and the
  // devices may be counted: neither the stream nor pod resources show it.
  EventLoop::Clock::time_point not_before() const;

  PluginDirectory& directory() { return *directory_; }
  KubeletWatcher& watcher() { return watcher_; }
  RegistrationClient& registration() { return registration_; }
  PodResources& pod_resources() { return pod_resources_; }
  Allocatable& allocatable() { return allocatable_; }
  CheckpointReader& checkpoint() { return checkpoint_; }
  HoldingsReader& holdings() { return holdings_; }
  // Logs once, for all resources, that the kubelet does not answer; looks whether it is another by now.
  void record_answer(RegistrationClient::Result result, const std::string& why);
  // Logs once, for all entries, that the kubelet does not say who holds what.
  void record_answer(const PodResources::Answer& answer);

 private:
  Log& log_;
  bool silence_told_ = false;
  bool secrecy_told_ = false;
  KubeletConfig config_;
  std::shared_ptr<PluginDirectory>
      directory_;  // held by one process, but by two links while they change over
  RegistrationClient registration_;
  PodResources pod_resources_;
  Allocatable allocatable_;
  CheckpointReader checkpoint_;
  HoldingsReader holdings_;
  KubeletWatcher watcher_;
};

}  // namespace plughost
