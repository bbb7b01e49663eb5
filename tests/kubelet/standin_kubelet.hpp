#pragma once
// A stand-in for the kubelet's device manager, for development and tests: it accepts registrations, keeps
// lists and allocates as pkg/kubelet/cm/devicemanager of Kubernetes 1.36 does, including its traps. It is
// stricter in one point: an invalid answer to GetPreferredAllocation fails the admission.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/kubelet_state.hpp"

namespace plughost {

// Thread-safe. The constructor starts to listen. The destructor acts like a kill: the socket's file stays.
class StandInKubelet {
 public:
  // Selects which entries of the directory a start removes.
  enum class Clearing {
    kSockets,     // sockets and links to sockets (1.36)
    kEverything,  // everything but directories and the checkpoint (1.32)
  };
  enum class Registering {
    kDialsBeforeAnswer,  // dials and queries GetDevicePluginOptions, then answers Register
    kAnswersFirst,       // dials later, trusts Register's options, sends the socket's path as authority
    kBySocket,           // as 1.37: knows a plugin by its socket, so that one resource may have several
  };

  // Faults that tests cause. The sets contain resource names.
  struct Faults {
    std::map<std::string, std::string> refused;  // Register fails with this text
    std::set<std::string> dial_held;             // Register waits before it dials back
    std::set<std::string> answer_held;           // Register does everything except answer the plugin
    std::set<std::string> unread;                // messages of the stream are not read
    std::set<std::string> deaf;                  // lists are read and ignored until the next Register
    // Delay between the end of a stream and the stop of the resource's endpoint. Kubelets up to 1.36 stop the
    // endpoint even if a different plugin has registered the resource by then; that plugin's stream stays
    // open.
    std::chrono::milliseconds stopped_late{0};
    bool lists_no_pods = false;    // List is empty, as in the first seconds of a kubelet
    bool answers_garbage = false;  // connections get bytes that are not HTTP/2 and are closed
  };

  struct Options {
    std::filesystem::path directory;
    std::filesystem::path plugins_registry;  // empty: off
    std::filesystem::path pod_resources;     // socket of the pod resources API; empty: off
    std::filesystem::path pods_api;  // socket that only listens, by which kBySocket is known; empty: off
    // Directory in which each pod has a directory until the pod ends, as in <kubelet root>/pods. Empty: off,
    // and the checkpoint drops a pod when the pod ends instead of at the next Allocate.
    std::filesystem::path pods;
    Clearing clearing = Clearing::kSockets;
    Registering registering = Registering::kDialsBeforeAnswer;
    std::chrono::milliseconds grace_period = std::chrono::minutes{5};  // of the capacity after a stream's end
    std::chrono::milliseconds dial_timeout = std::chrono::seconds{10};
    Faults faults;
  };

  // Called in order, from one thread of the stand-in. The callback may call only state() of this class.
  using OnEvent = std::function<void(const KubeletEvent&)>;

  // Throws std::system_error if it cannot listen. Its threads inherit the caller's signal mask.
  explicit StandInKubelet(Options options, OnEvent on_event = {});
  ~StandInKubelet();
  StandInKubelet& operator=(StandInKubelet&&) = delete;

  // Closes every connection and stops listening; kubelet.sock stays. Does nothing if stopped already.
  void stop();
  // Calls stop() and starts a new incarnation: clears the directory, listens, reads the checkpoint. Throws as
  // the constructor does.
  void restart();
  // Replaces all faults. Calls that a removed fault has held continue.
  void set_faults(Faults faults);

  KubeletState state() const;
  // Waits until `predicate` holds. Returns false after `timeout`. `predicate` must not call this class.
  bool wait_for(const std::function<bool(const KubeletState&)>& predicate,
                std::chrono::milliseconds timeout) const;

  // Admits a pod: one pod at a time, without a deadline. Ids that the container already holds are not
  // allocated again. A container whose name begins with "init-" is an ordinary init container, which `List`
  // omits.
  Admission allocate(const std::string& pod, const std::string& container, const std::string& resource,
                     std::size_t count);
  // Admits a pod with these ids, which must be free and Healthy.
  Admission allocate_named(const std::string& pod, const std::string& container, const std::string& resource,
                           const std::vector<std::string>& ids);
  // Calls PreStartContainer for every device that the pod holds. Returns the error, or an empty text.
  std::string start_container(const std::string& pod);
  // Returns false if the pod does not exist.
  bool free(const std::string& pod);
  std::vector<PodDevices> pods() const;

  // Calls Allocate directly, without the kubelet's checks and records, and returns the result.
  AllocateAnswer allocate_ids(const std::string& resource, const std::vector<std::string>& ids);
  PreferredAnswer preferred_ids(const std::string& resource, const std::vector<std::string>& available,
                                const std::vector<std::string>& must_include, int size);

  // Cancels the stream of the resource's newest client. Returns false if there is none.
  bool cancel_stream(const std::string& resource);
  // Opens a second ListAndWatch stream to the newest client's endpoint. The stream lasts as long as the
  // endpoint. Returns false if there is no client.
  bool open_second_stream(const std::string& resource);

 private:
  class Runtime;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace plughost
