#pragma once
// The pods of this node: from the kubelet, from Kubernetes 1.37, or else from one watch of the API server,
// shared by all users. Watches pods while there are followers. Loop thread only, except pods_now().

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/system/event_loop.hpp"
#include "config/config.hpp"
#include "kubernetes/apiserver/api_server.hpp"
#include "kubernetes/apiserver/api_watch.hpp"
#include "kubernetes/kubelet/pods_api.hpp"
#include "model/assume/pod.hpp"

namespace plughost {

class PodSource : ApiWatch::Owner {
 public:
  // The pause before a kubelet that has just started is queried again.
  static constexpr std::chrono::milliseconds kNotYetPause{1000};
  // The deadline for the API server's list of Pending pods.
  static constexpr std::chrono::milliseconds kLastList{400};

  // An observer of the pods, from its construction to its end. Its functions must not create or destroy
  // followers, and are not called from within the constructor.
  class Follower {
   public:
    explicit Follower(PodSource& source);
    virtual ~Follower() { std::erase(source_.followers_, this); }
    Follower& operator=(Follower&&) = delete;

    virtual void on_list(const std::vector<Pod>& pods) = 0;  // all pods
    virtual void on_change(const Pod& pod) = 0;
    virtual void on_gone(const std::string& uid) = 0;

   private:
    PodSource& source_;
  };
  // A running query. Dropping it cancels the callback.
  class Question {
   public:
    virtual ~Question() = default;
  };

  // `kubelet` is the socket of the kubelet's pods API. `server` must outlive this object, which must outlive
  // its followers and queries.
  PodSource(EventLoop& loop, ApiServer& server, std::filesystem::path kubelet);
  ~PodSource() override;
  PodSource& operator=(PodSource&&) = delete;

  // Call it when the kubelet has changed or is gone. No query may be running if the socket has moved.
  void on_kubelet(const std::filesystem::path& socket);
  // Returns true if the kubelet provides the pods, which are then as old as the last query. Otherwise, the
  // API server's watch reports changes.
  bool by_kubelet() const { return by_kubelet_; }
  // Returns why the known pods are outdated; empty if they are not.
  const std::string& error() const { return error_; }

  // Queries the pod with that UID, or all waiting pods if `uid` is empty: from the kubelet, or else from the
  // API server. Notifies the followers first, and then calls `done` with the error, which is empty on
  // success. Calls neither followers nor `done` from within query().
  std::unique_ptr<Question> query(const std::string& uid, std::function<void(const std::string& error)> done);

 private:
  class Asking;

  // Selects the kubelet or the API server; the followers then get all pods.
  void choose_source();
  void record_left_out(const PodsApi::Answer& answer);
  void watch();
  template <typename Call>
  void notify(Call call);
  void on_list(std::vector<Json> objects) override;
  void on_change(Json object) override;
  void on_gone(Json object) override;
  void on_error(const std::string& sentence) override { error_ = sentence; }

  EventLoop& loop_;
  ApiServer& server_;
  std::vector<Follower*> followers_;  // in the order of their construction
  bool by_kubelet_ = false;
  std::string error_;
  std::set<std::string> left_out_;  // pods that have been logged
  std::unique_ptr<PodsApi> kubelet_;
  Timer again_;
  Subscription user_;
  std::unique_ptr<ApiWatch> watch_;
};

// Returns the present pods for a command, from the kubelet's socket or else from the API server; or why there
// are none, as a sentence. Blocks; any thread.
std::variant<std::vector<Pod>, std::string> pods_now(const std::filesystem::path& pods_api,
                                                     const std::optional<ApiServerConfig>& server);

}  // namespace plughost
