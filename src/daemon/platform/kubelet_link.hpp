#pragma once
// The connection to this node's kubelet, shared by all resources, and which containers hold which devices.
// Loop thread only.

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
// Neither source is complete. `List` of the pod resources API names pods, but omits ordinary init containers
// (KEP-606), and can be empty for a kubelet's first seconds. The checkpoint has every container, but keeps a
// pod that has ended until the kubelet's next Allocate. So a container holds its devices in `List`, and its
// devices in the checkpoint while the kubelet keeps a directory for its pod. Each source alone was wrong:
// with `List`, the device of a running init container was allocated to another pod 8 s after its Allocate;
// with the checkpoint, the device of an ended pod stayed reserved until the kubelet's next Allocate.
struct KnownHolders {
  std::shared_ptr<const Holdings> holdings;  // nullptr: neither source could be read
  bool complete = false;  // true: a device that is not in `holdings` is held by no container
};

// `listed` is the answer of `List`; nullptr if it could not be read. `settled`: the kubelet has been running
// long enough to know its pods. `reading` is the checkpoint's, begun after `List` was requested. If the
// directory of pods is unreadable, every pod of the checkpoint counts. For an id in both, `List` takes
// precedence. Takes time in proportion to the ids of both sources: must not run in the loop.
KnownHolders known_holders(std::shared_ptr<const Holdings> listed, bool settled,
                           const CheckpointReader::Reading& reading);

// Determines how long the kubelet has been running, from the sockets that it creates at its start. Loop
// thread only.
class KubeletAge {
 public:
  using Clock = EventLoop::Clock;
  using Sockets = std::array<std::filesystem::path, 2>;
  // A kubelet that started less than this ago may not list all of its pods yet.
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

// Reads both sources and combines them by known_holders(). The only source of holders for all other classes.
class HoldingsReader {
 public:
  using Clock = EventLoop::Clock;
  using Done = std::function<void(const PodResources::Answer& answer)>;
  // The maximum age of holders that are only displayed.
  static constexpr std::chrono::seconds kShown{1};
  // The deadline for merging the sources on a worker. A merge takes memory and time, but never waits.
  static constexpr std::chrono::seconds kMergeDeadline{10};

  // `kubelet` has the sockets that the kubelet creates at its start. All references must outlive this object.
  HoldingsReader(EventLoop& loop, Workers& workers, PodResources& pods, CheckpointReader& checkpoint,
                 KubeletAge::Sockets kubelet)
      : loop_(loop), workers_(workers), pods_(pods), checkpoint_(checkpoint), age_(std::move(kubelet)) {}
  HoldingsReader& operator=(HoldingsReader&&) = delete;

  // Calls `done` with the holders at `since` or later, or with unknown holders when `patience` is over.
  // Without `patience`, waits for as long as the kubelet and its checkpoint may take. `done` runs in the
  // loop, possibly at once, and never after this object is destroyed.
  void read(Clock::time_point since, Done done,
            std::optional<std::chrono::milliseconds> patience = std::nullopt);
  // Returns the answer for a merge that does not end by kMergeDeadline.
  static PodResources::Answer too_late() {
    return {.holdings = nullptr, .why = "reading which pods hold devices takes too long"};
  }
  // Call it when another kubelet is used from now on. Answers all waiting callers with unknown holders.
  void abandon();

 private:
  using Number = std::uint64_t;
  struct Asker {
    Done done;
    std::optional<Timer> patience;
  };

  void read_checkpoint(Number who, Clock::time_point since, const PodResources::Answer& listed);
  void merge(Number who, const PodResources::Answer& listed, const CheckpointReader::Reading& reading);
  // Answers the caller, unless its patience has ended before.
  void finish(Number who, const PodResources::Answer& answer);

  EventLoop& loop_;
  Workers& workers_;
  PodResources& pods_;
  CheckpointReader& checkpoint_;
  KubeletAge age_;
  std::map<Number, Asker> waiting_;
  Number next_ = 0;
  // The sources of the last answer, which is reused for callers with the same sources.
  Clock::time_point list_asked_ = Clock::time_point::min();
  Clock::time_point checkpoint_began_ = Clock::time_point::min();
  PodResources::Answer last_;
  Lifetime questions_;  // of the open queries
};

// Queries the holders repeatedly, with growing pauses, for as long as `on_answer` requests; with short pauses
// while the kubelet may not know all of its pods yet. Loop thread only.
class HoldingsPoll {
 public:
  static constexpr std::chrono::milliseconds kFirstPause{1000};
  static constexpr std::chrono::milliseconds kLongestPause{10'000};
  using Read = std::function<void(HoldingsReader::Done done)>;

  // `on_answer` returns true if further queries are needed. `loop` must outlive this object.
  HoldingsPoll(EventLoop& loop, Read read, std::function<bool(const PodResources::Answer& answer)> on_answer)
      : read_(std::move(read)), on_answer_(std::move(on_answer)), timer_(loop, [this] { ask(); }) {}

  // Queries at once, unless a query is running.
  void ask();
  void ask_soon() { timer_.arm(kFirstPause); }
  // Queries after the next pause, unless a query is due or running.
  void ask_later();
  // Restarts the pauses with kFirstPause.
  void reset() { pause_.reset(); }
  // Returns true if a query is due after a pause.
  bool pauses() const { return timer_.armed(); }

 private:
  const Read read_;
  const std::function<bool(const PodResources::Answer& answer)> on_answer_;
  bool asking_ = false;
  Backoff pause_{kFirstPause, kLongestPause};
  Timer timer_;
  Lifetime lifetime_;
};

// The kubelet of this node and the directory of our sockets, which all resources share. Replaced when the
// configuration names another kubelet. Loop thread only.
class KubeletLink {
 public:
  // The time that the kubelet needs to forget a plugin whose stream has ended, or that was killed.
  static constexpr std::chrono::milliseconds kForgetting{500};

  // Calls `on_kubelet` when another kubelet, or no kubelet, is present, and `on_sockets` when one of our
  // sockets may be missing; never from within a call. `former` is the previous link, which may have the same
  // directory; nullptr if there is none. If `beside`, another daemon has the directory, and this one stands
  // back. Throws DirectoryHeld, or std::system_error.
  KubeletLink(Platform& platform, const KubeletConfig& config, const KubeletLink* former,
              std::function<void()> on_kubelet, std::function<void()> on_sockets, bool beside = false);

  const KubeletConfig& config() const { return config_; }
  bool registers() const { return config_.registration == KubeletConfig::Registration::kRegister; }

  // The earliest time for a Register if the previous daemon was killed, leaving its sockets. Kubelets up to
  // 1.36 stop endpoints by the resource's name: if the kubelet processes the end of the killed daemon's
  // stream after this daemon has registered, it stops this daemon's endpoint. The stream then stays open and
  // the devices may be counted, so neither shows the failure. A kubelet that is not present yet has nothing
  // to forget: at a boot after a power failure it would reject pods meanwhile.
  EventLoop::Clock::time_point not_before() const;

  // Returns true if the kubelet identifies plugins by their sockets, as from 1.37 on: then a resource may
  // have a second registration beside the first. Those kubelets serve the pods API.
  bool knows_sockets() const;

  // Returns the kubelet to register with; nullopt: none is present, or this daemon stands back.
  std::optional<FileIdentity> kubelet() const { return stands_back_ ? std::nullopt : watcher_.current(); }
  // Leaves the registration with a kubelet to another daemon. Call the resources' on_kubelet() then.
  void stand_back(bool stands_back) { stands_back_ = stands_back; }

  PluginDirectory& directory() { return *directory_; }
  KubeletWatcher& watcher() { return watcher_; }
  RegistrationClient& registration() { return registration_; }
  PodResources& pod_resources() { return pod_resources_; }
  Allocatable& allocatable() { return allocatable_; }
  CheckpointReader& checkpoint() { return checkpoint_; }
  HoldingsReader& holdings() { return holdings_; }
  // Logs once, for all resources, that the kubelet does not answer; checks whether the kubelet has changed.
  void record_answer(RegistrationClient::Result result, const std::string& why);
  // Logs once, for all entries, that the kubelet does not report holders.
  void record_answer(const PodResources::Answer& answer);

 private:
  Log& log_;
  bool silence_told_ = false;
  bool secrecy_told_ = false;
  KubeletConfig config_;
  bool stands_back_;
  std::shared_ptr<PluginDirectory>
      directory_;  // held by one process, but shared by two links during a replacement
  RegistrationClient registration_;
  PodResources pod_resources_;
  Allocatable allocatable_;
  CheckpointReader checkpoint_;
  HoldingsReader holdings_;
  KubeletWatcher watcher_;
};

}  // namespace plughost
