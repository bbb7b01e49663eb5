#pragma once
// The kubelet's side of one connection to a plugin, in plain values. Loop thread only.

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

// What a plugin in plugins_registry says of itself.
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
  // What is paused sees no message and no end, as a kubelet that does not run.
  virtual void pause(bool paused) = 0;
  virtual void cancel() = 0;
};

// The loop, and calls, outlive it and whatever it has called; every call ends, so its end always comes to the
// loop. gRPC's objects live and die in the loop: a channel that is destroyed in a callback would wait for the
// thread it is in.
class PluginClient {
 public:
  // Comes once, always, in the loop and later. The answer is empty if the call failed.
  template <typename Answer>
  using Done = std::function<void(const CallEnd& end, const Answer& answer)>;
  using Timeout = std::chrono::milliseconds;
  // What each container gets, as the kubelet keeps it: a serialised ContainerAllocateResponse.
  using Containers = std::vector<std::string>;

  // authority empty: gRPC's own.
  PluginClient(EventLoop& loop, CallsUnderWay& calls, const std::filesystem::path& socket,
               const std::string& authority);
  ~PluginClient();
  PluginClient& operator=(PluginClient&&) = delete;

  // Tries to connect until it works, or timeout has passed. done is not called after close().
  void dial(Timeout timeout, std::function<void(bool connected)> done);
  // Ends everything that is under way, with CANCELLED.
  void close();

  void ask_options(Done<EndpointOptions> done);
  void allocate(const std::vector<std::string>& ids, Done<Containers> done);
  // The answer has the ids that are preferred, for each container.
  void ask_preferred(const std::vector<std::string>& available, const std::vector<std::string>& must_include,
                     int size, Done<std::vector<std::vector<std::string>>> done);
  void start_container(const std::vector<std::string>& ids, Timeout timeout,
                       std::function<void(const CallEnd& end)> done);
  // on_end comes once, always, as the last; both come in the loop, and later.
  std::shared_ptr<ListReader> read_list(bool paused, ListReader::OnList on_list, ListReader::OnEnd on_end);

  void ask_info(Timeout timeout, Done<PluginInfo> done);
  // What became of its registration; error empty: it is registered.
  void notify(const std::string& error, Timeout timeout, std::function<void()> done);

 private:
  struct Connection;
  class StreamReader;
  std::shared_ptr<Connection> connection_;
};

}  // namespace plughost
