#pragma once
// The stand-in's logic: clients, streams and the book of devices. Loop thread only. Names in brackets are the
// kubelet's functions (pkg/kubelet/cm/devicemanager). The stand-in repeats the order of their steps,
// including their mistakes.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kubelet/checkpoint_file.hpp"
#include "kubelet/device_book.hpp"
#include "kubelet/found_plugins.hpp"
#include "kubelet/plugin_client.hpp"
#include "kubelet/pod_resources_server.hpp"
#include "kubelet/registration_server.hpp"
#include "kubelet/shared_state.hpp"
#include "kubelet/standin_kubelet.hpp"

namespace plughost {

class StandInCore {
 public:
  // The references must outlive this object.
  StandInCore(EventLoop& loop, CallsUnderWay& calls, SharedState& state, StandInKubelet::Options options,
              StandInKubelet::OnEvent on_event);

  // Starts a new incarnation. Throws std::system_error.
  void start();
  // Stops as a kill does. Destroy the returned server on a thread other than the loop's. nullptr: stopped
  // already.
  std::unique_ptr<RegistrationServer> stop();
  bool running() const { return socket_ != nullptr; }
  unsigned incarnation() const { return incarnation_; }

  void set_faults(StandInKubelet::Faults faults);
  bool cancel_stream(const std::string& resource);
  bool open_second_stream(const std::string& resource);

  // Returns the client for allocations; nullptr: none.
  std::shared_ptr<PluginClient> endpoint(const std::string& resource) const;

  DeviceBook& book() { return book_; }
  // A write of the current book that has begun. Wait for its number outside the loop.
  struct Writing {
    std::shared_ptr<CheckpointFile> file;
    std::uint64_t number = 0;
  };
  Writing write_checkpoint();
  void make_pod_directory(const std::string& pod);
  // Returns false if the pod does not exist.
  bool end_pod(const std::string& pod);

 private:
  struct Client {  // one per registration of a plugin
    std::string resource;
    std::shared_ptr<PluginClient> connection;
    unsigned incarnation = 0;            // of the kubelet
    bool connected = false;              // the connection was established once
    std::shared_ptr<ListReader> reader;  // nullptr: no stream
  };
  using ClientPointer = std::shared_ptr<Client>;
  using Done = std::function<void(const std::string& error)>;

  void on_register(const RegisterRequest& request, RegistrationServer::Reply reply);
  std::size_t note_registration(const std::string& resource, const std::string& endpoint,
                                const EndpointOptions& options);
  void finish_registration(const std::string& resource, std::size_t index, const std::string& error);
  void answer(std::uint64_t number, const std::string& resource, std::size_t index, const std::string& error);
  void register_found(const std::string& resource, const std::filesystem::path& endpoint, const Done& done);

  void connect_client(const std::string& resource, const std::filesystem::path& socket,
                      const EndpointOptions& options, const Done& done);
  void ask_options(const ClientPointer& client, const Done& done);
  void plugin_connected(const ClientPointer& client, const EndpointOptions& options);
  void run_client(const ClientPointer& client);
  void on_list(const std::string& resource, std::vector<ListedDevice> devices);
  void on_stream_end(const ClientPointer& client, const CallEnd& end);
  void disconnect_client(const std::string& resource);
  void disconnect_socket(const ClientPointer& client);
  void stop_endpoint(const std::string& resource);
  std::shared_ptr<PluginClient> make_client(const std::filesystem::path& socket);

  // Returns true if the client's kubelet is still running.
  bool is_current(const Client& client) const { return running() && client.incarnation == incarnation_; }
  void show(const std::string& resource);
  void show_pods();
  void forget_expired();
  void await_next_expiry();
  void tell(KubeletEvent::Type type, const std::string& resource, std::string text);
  bool answers_first() const { return options_.registering == StandInKubelet::Registering::kAnswersFirst; }

  EventLoop& loop_;
  CallsUnderWay& calls_;
  SharedState& state_;
  StandInKubelet::Options options_;
  StandInKubelet::OnEvent on_event_;
  unsigned incarnation_ = 0;

  // The state of one incarnation.
  DeviceBook book_;
  std::shared_ptr<CheckpointFile> checkpoint_;
  std::unique_ptr<RegistrationServer> server_;
  std::unique_ptr<KubeletSocket> socket_;
  std::unique_ptr<KubeletSocket> pods_api_;
  std::unique_ptr<FoundPlugins> found_;
  std::unique_ptr<PodResourcesServer> pod_resources_;  // nullptr: off
  std::map<std::string, ClientPointer> clients_;       // by resource; the last registration counts
  std::map<std::string, ClientPointer> endpoints_;     // clients for allocations, once connected
  std::set<ClientPointer> streaming_;
  std::vector<std::weak_ptr<PluginClient>> connections_;  // all clients that stop() may need to close
  std::map<std::string, std::shared_ptr<ListReader>> second_streams_;
  std::map<std::uint64_t, RegistrationServer::Reply> unanswered_;
  std::uint64_t next_number_ = 0;
  std::vector<std::function<void()>> held_dials_;
  std::vector<std::function<void()>> held_answers_;
  Timer forget_timer_;
  std::vector<std::string> stopping_;  // resources whose endpoints stop late (Faults::stopped_late)
  Timer stop_timer_;
};

}  // namespace plughost
