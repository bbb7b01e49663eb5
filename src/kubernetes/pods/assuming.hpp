#pragma once
// What the resources whose cards a scheduler chooses share: who tells the pods, what the kubelet has written,
// and the specifications of names that a start decides. Loop thread only.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/log/log.hpp"
#include "base/system/event_loop.hpp"
#include "kubernetes/apiserver/api_server.hpp"
#include "kubernetes/apiserver/node_watch.hpp"
#include "kubernetes/kubelet/checkpoint.hpp"
#include "kubernetes/pods/pod_source.hpp"

namespace plughost {

class Assuming {
 public:
  // Specifications that nobody needs are looked for so long after a change of pods.
  static constexpr std::chrono::seconds kQuiet{1};

  // All outlive it.
  struct Context {
    EventLoop& loop;
    Log& log;
    ApiServer& api_server;
    NodeWatch& node_watch;
    std::function<CheckpointReader&()> checkpoint;  // the present one
    // See CdiWriter.
    std::function<void(std::string name, std::string text,
                       std::function<void(const std::string& error)> done)>
        write_late;
    std::function<void(std::set<std::string> names)> remove_other_late;
  };

  // pods_api: the kubelet's socket.
  Assuming(Context context, std::filesystem::path pods_api);
  Assuming& operator=(Assuming&&) = delete;

  EventLoop& loop() { return context_.loop; }
  Log& log() { return context_.log; }
  NodeWatch& node_watch() { return context_.node_watch; }
  PodSource& pods() { return pods_; }
  ApiServer& api_server() { return context_.api_server; }
  // What the kubelet has written by now; nullptr: it cannot be read, or not in time. done never runs if the
  // kubelet's directory moves meanwhile: all entries, and with them who asks here, begin anew then.
  void read_checkpoint(std::function<void(const std::shared_ptr<const Checkpoint>& checkpoint)> done);

  // What a late name stands for, before done: it says why not; empty: it is written.
  void specify(const std::string& name, std::string text, std::function<void(const std::string& error)> done);
  // Pods have changed: the specifications of those that the kubelet's checkpoint has no more are to go.
  void tidy_later();

 private:
  void tidy();

  Context context_;
  PodSource pods_;
  std::map<std::string, EventLoop::Clock::time_point> specified_;  // late names, since the last tidying
  Timer quiet_;
  Lifetime lifetime_;
};

}  // namespace plughost
