#pragma once
// The pods of this node: the kubelet tells them, from Kubernetes 1.37 on, or else one watch of the API
// server, for all that want to know them. Loop thread only, but for pods_now().

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
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

class PodSource {
 public:
  // A kubelet that has just started is asked again after this.
  static constexpr std::chrono::milliseconds kNotYetPause{1000};
  // So long the API server has for the list of those that wait.
  static constexpr std::chrono::milliseconds kLastList{400};

  struct Hooks {
    std::function<void(const std::vector<Pod>& pods)> listed;  // all that there are
    std::function<void(const Pod& pod)> changed;
    std::function<void(const std::string& uid)> gone;
  };
  // While it lives.
  class Follower {
   public:
    ~Follower() { source_.followers_.erase(number_); }
    Follower& operator=(Follower&&) = delete;

   private:
    friend class PodSource;
    Follower(PodSource& source, std::uint64_t number) : source_(source), number_(number) {}
    PodSource& source_;
    std::uint64_t number_;
  };
  // While it lives somebody wants the answer.
  class Question {
   public:
    virtual ~Question() = default;
  };

  // kubelet: the socket of its pods API. server outlives it, and it outlives followers and questions.
  PodSource(EventLoop& loop, ApiServer& server, std::filesystem::path kubelet);
  ~PodSource();
  PodSource& operator=(PodSource&&) = delete;

  // There is another kubelet, or none; or it is elsewhere: then there are no questions.
  void on_kubelet(const std::filesystem::path& socket);
  // Pods are looked for while somebody follows. Who comes is told of all pods first, and that begins anew for
  // the others. No hook is called from within.
  std::unique_ptr<Follower> follow(Hooks hooks);
  // The kubelet tells them: what is known is as old as the last question. Otherwise news come by themselves.
  bool by_kubelet() const { return by_kubelet_; }
  // Why what is known grows old; empty: all is well.
  const std::string& error() const { return error_; }

  // What is known now, of the pod with that UID or, if it is empty, of all that wait: of the kubelet, and
  // where that does not tell it, of the API server. The followers hear it, and then done why it is not told;
  // empty: it is. Not from within.
  std::unique_ptr<Question> query(const std::string& uid, std::function<void(const std::string& error)> done);

 private:
  class Asking;

  // Who tells the pods? All of them are told, whoever it is.
  void choose_source();
  void record_left_out(const PodsApi::Answer& answer);
  void watch();
  template <typename Call>
  void notify(Call call);

  EventLoop& loop_;
  ApiServer& server_;
  std::map<std::uint64_t, Hooks> followers_;
  std::uint64_t next_ = 0;
  bool by_kubelet_ = false;
  std::string error_;
  std::set<std::string> left_out_;  // the pods that the log names
  std::unique_ptr<PodsApi> kubelet_;
  Timer again_;
  Subscription user_;
  std::unique_ptr<ApiWatch> watch_;
};

// The pods of this node as they are now, for a command: as the kubelet tells them at that socket, or else the
// API server; or why nobody does, as a sentence. Blocks; any thread.
std::variant<std::vector<Pod>, std::string> pods_now(const std::filesystem::path& pods_api,
                                                     const std::optional<ApiServerConfig>& server);

}  // namespace plughost
