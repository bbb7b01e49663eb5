#pragma once
// A stand-in for the kubelet's device manager, for a laptop or a test: it takes registrations, keeps the
// lists and allocates as pkg/kubelet/cm/devicemanager of Kubernetes 1.36 does, its traps included. In one
// thing it is stricter: an answer to GetPreferredAllocation that breaks the rules fails the admission.

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

// Thread-safe. Constructed means listening; destroyed as a kubelet is killed: its socket stays behind.
class StandInKubelet {
 public:
  // What a start removes from the directory.
  enum class Clearing {
    kSockets,     // sockets and links to sockets (1.36)
    kEverything,  // all but directories and the checkpoint (1.32)
  };
  enum class Registering {
    kDialsBeforeAnswer,  // and asks GetDevicePluginOptions
    kAnswersFirst,       // dials later, trusts Register's options, sends the socket's path as authority
  };

  // What goes wrong on purpose. Sets are of resource names.
  struct Faults {
    std::map<std::string, std::string> refused;  // Register fails with this text
    std::set<std::string> dial_held;             // Register waits before it dials back
    std::set<std::string> answer_held;           // Register does everything, but does not answer
    std::set<std::string> unread;                // messages of the stream are not read
    std::set<std::string> deaf;                  // lists are read and not taken in, until the next Register
    // After a stream's end the resource's endpoint is stopped so much later, even if another plugin has it by
    // then, as kubelets up to 1.36 may do. That plugin's stream stays open.
    std::chrono::milliseconds stopped_late{0};
    bool lists_no_pods = false;    // List is empty, as in the first seconds of a kubelet
    bool answers_garbage = false;  // connections get bytes that are no HTTP/2, and are closed
  };

  struct Options {
    std::filesystem::path directory;
    std::filesystem::path plugins_registry;  // empty: off
    std::filesystem::path pod_resources;     // the socket of PodResourcesLister; empty: off
    // Has a directory for each pod until it ends, as <kubelet root>/pods. Empty: off, and the checkpoint
    // forgets a pod when it ends instead of at the next Allocate.
    std::filesystem::path pods;
    Clearing clearing = Clearing::kSockets;
    Registering registering = Registering::kDialsBeforeAnswer;
    std::chrono::milliseconds grace_period = std::chrono::minutes{5};  // capacity's, after a stream's end
    std::chrono::milliseconds dial_timeout = std::chrono::seconds{10};
    Faults faults;
  };

  // Called in order, from one thread of the stand-in. Of this class it may call state() only.
  using OnEvent = std::function<void(const KubeletEvent&)>;

  // Throws std::system_error if it cannot listen. All threads that it needs inherit the caller's signal mask.
  explicit StandInKubelet(Options options, OnEvent on_event = {});
  ~StandInKubelet();
  StandInKubelet& operator=(StandInKubelet&&) = delete;

  // Ends every connection and listens no more; kubelet.sock stays. Nothing to do if it is stopped already.
  void stop();
  // stop(), then a new incarnation: clears the directory, listens, reads the checkpoint. Throws as the
  // constructor does.
  void restart();
  // Replaces all faults; what they held up goes on.
  void set_faults(Faults faults);

  KubeletState state() const;
  // Waits until predicate holds; false: it did not within timeout. predicate must not call this class.
  bool wait_for(const std::function<bool(const KubeletState&)>& predicate,
                std::chrono::milliseconds timeout) const;

  // A pod is admitted: one at a time, without a deadline. What the container holds already is not asked for
  // again. A container whose name begins with "init-" is an ordinary init container, which `List` leaves out.
  Admission allocate(const std::string& pod, const std::string& container, const std::string& resource,
                     std::size_t count);
  // The same for ids of the caller's choice, which must be free and Healthy.
  Admission allocate_named(const std::string& pod, const std::string& container, const std::string& resource,
                           const std::vector<std::string>& ids);
  // PreStartContainer for whatever the pod holds. The error, empty if there is none.
  std::string start_container(const std::string& pod);
  // False: there is no such pod.
  bool free(const std::string& pod);
  std::vector<PodDevices> pods() const;

  // The bare calls, as sent and as answered; nothing is checked or kept.
  AllocateAnswer allocate_ids(const std::string& resource, const std::vector<std::string>& ids);
  PreferredAnswer preferred_ids(const std::string& resource, const std::vector<std::string>& available,
                                const std::vector<std::string>& must_include, int size);

  // The kubelet cancels the stream of the resource's newest client. False: there is none.
  bool cancel_stream(const std::string& resource);
  // One more ListAndWatch to the newest client's endpoint, for as long as it lives. False: there is no
  // client.
  bool open_second_stream(const std::string& resource);

 private:
  class Runtime;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace plughost
