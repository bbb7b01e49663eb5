#pragma once
// The stand-in's domain: clients, streams, and the book of devices. Loop thread only. Names in brackets are
// the kubelet's functions (pkg/kubelet/cm/devicemanager) whose order of steps is kept, mistakes included.

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
  // The references outlive it.
  StandInCore(EventLoop& loop, CallsUnderWay& calls, SharedState& state, StandInKubelet::Options options,
              StandInKubelet::OnEvent on_event);

  // A new incarnation. Throws std::system_error.
  void start();
  // As a kill does. The server is to be destroyed outside the loop. nullptr: it was stopped.
  std::unique_ptr<RegistrationServer> stop();
  bool running() const { return socket_ != nullptr; }
  unsigned incarnation() const { return incarnation_; }

  void set_faults(StandInKubelet::Faults faults);
  bool cancel_stream(const std::string& resource);
  bool open_second_stream(const std::string& resource);

  // Where allocations go; nullptr: there is none.
  std::shared_ptr<PluginClient> endpoint(const std::string& resource) const;

  DeviceBook& book() { return book_; }
  // The book as it is now, to be written; wait for the number outside the loop.
  struct Writing {
    std::shared_ptr<CheckpointFile> file;
    std::uint64_t number = 0;
  };
  Writing write_checkpoint();
  void make_pod_directory(const std::string& pod);
  // Returns false if there is no such pod.
  bool end_pod(const std::string& pod);

 private:
  struct Client {  // one per registration
    std::string resource;
    std::shared_ptr<PluginClient> connection;
    unsigned incarnation = 0;            // the kubelet's
    bool connected = false;              // once
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
  void stop_endpoint(const std::string& resource);
  std::shared_ptr<PluginClient> make_client(const std::filesystem::path& socket);

  // Does the kubelet that it belongs to still run?
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

  // One incarnation's.
  DeviceBook book_;
  std::shared_ptr<CheckpointFile> checkpoint_;
  std::unique_ptr<RegistrationServer> server_;
  std::unique_ptr<KubeletSocket> socket_;
  std::unique_ptr<FoundPlugins> found_;
  std::unique_ptr<PodResourcesServer> pod_resources_;  // nullptr: off
  std::map<std::string, ClientPointer> clients_;       // by resource: who comes last is the one
  std::map<std::string, ClientPointer> endpoints_;     // where allocations go; once connected
  std::set<ClientPointer> streaming_;
  std::vector<std::weak_ptr<PluginClient>> connections_;  // all that may live, to be closed by stop()
  std::map<std::string, std::shared_ptr<ListReader>> second_streams_;
  std::map<std::uint64_t, RegistrationServer::Reply> unanswered_;
  std::uint64_t next_number_ = 0;
  std::vector<std::function<void()>> held_dials_;
  std::vector<std::function<void()>> held_answers_;
  Timer forget_timer_;
  std::vector<std::string> stopping_;  // resources whose endpoints are stopped late
  Timer stop_timer_;
};

}  // namespace plughost
