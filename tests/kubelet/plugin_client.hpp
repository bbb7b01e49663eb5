#pragma once
// The kubelet's side of one connection to a plugin, as plain values. Loop thread only.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/system/event_loop.hpp"
#include "kubelet/calls_under_way.hpp"
#include "kubelet/kubelet_state.hpp"
#include "kubelet/protocol_text.hpp"

namespace plughost {

// A plugin's response to GetInfo, for plugins in plugins_registry.
struct PluginInfo {
  std::string type;
  std::string name;
  std::string endpoint;
  std::vector<std::string> versions;
};

// One ListAndWatch stream, read as the kubelet reads it: no deadline, no retry.
class ListReader {
 public:
  using OnList = std::function<void(std::vector<ListedDevice> devices)>;
  using OnEnd = std::function<void(const CallEnd& end)>;

  virtual ~ListReader() = default;
  // Pauses reading, like a stopped kubelet process: neither messages nor the stream's end are reported.
  virtual void pause(bool paused) = 0;
  virtual void cancel() = 0;
};

// A connection to one plugin's socket. `loop` and `calls` must outlive this object and its calls. Every call
// ends with a callback in the loop. gRPC's objects live in the loop: destroying a channel in one of gRPC's
// callbacks would wait for the thread of that same callback.
class PluginClient {
 public:
  // Called exactly once, later in the loop. `Answer` is empty if the call failed.
  template <typename Answer>
  using Done = std::function<void(const CallEnd& end, const Answer& answer)>;
  using Timeout = std::chrono::milliseconds;
  // For each container a serialized ContainerAllocateResponse, as the kubelet stores it.
  using Containers = std::vector<std::string>;

  // An empty `authority` selects gRPC's default.
  PluginClient(EventLoop& loop, CallsUnderWay& calls, const std::filesystem::path& socket,
               const std::string& authority);
  ~PluginClient();
  PluginClient& operator=(PluginClient&&) = delete;

  // Connects, with retries until `timeout`. `done` is not called after close().
  void dial(Timeout timeout, std::function<void(bool connected)> done);
  // Ends all calls with CANCELLED.
  void close();

  void ask_options(Done<EndpointOptions> done);
  void allocate(const std::vector<std::string>& ids, Done<Containers> done);
  // `done` receives the preferred ids of each container.
  void ask_preferred(const std::vector<std::string>& available, const std::vector<std::string>& must_include,
                     int size, Done<std::vector<std::vector<std::string>>> done);
  void start_container(const std::vector<std::string>& ids, Timeout timeout,
                       std::function<void(const CallEnd& end)> done);
  // Calls `on_end` exactly once, as the last callback. Both callbacks are called later in the loop.
  std::shared_ptr<ListReader> read_list(bool paused, ListReader::OnList on_list, ListReader::OnEnd on_end);

  void ask_info(Timeout timeout, Done<PluginInfo> done);
  // Reports the result of the plugin's registration; an empty `error` means success.
  void notify(const std::string& error, Timeout timeout, std::function<void()> done);

 private:
  struct Connection;
  class StreamReader;
  std::shared_ptr<Connection> connection_;
};

}  // namespace plughost
