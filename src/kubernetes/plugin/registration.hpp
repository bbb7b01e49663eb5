#pragma once
// Calls to the kubelet's Registration service. Loop thread only.

#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/system/event_loop.hpp"
#include "base/system/unix_socket.hpp"
#include "kubernetes/plugin/endpoint.hpp"
#include "kubernetes/plugin/served_resource.hpp"
#include "pluginregistration/v1/pluginregistration.grpc.pb.h"

namespace plughost {

inline constexpr const char* kApiVersion = "v1beta1";

class RegistrationClient {
 public:
  // The kubelet dials back, for up to 10 s, before it answers.
  static constexpr std::chrono::seconds kDeadline{15};

  struct Request {
    std::string resource;
    std::string endpoint;  // relative to the kubelet's directory
    PluginOptions options;
  };
  enum class Result {
    kAccepted,       // older kubelets dial back only now: only a stream is a proof
    kNobodyListens,  // not sent: no kubelet has seen the endpoint's name
    kWentAway,  // the connection broke during the call: the kubelet is ending, or the peer is not a kubelet
    kRefused,   // the kubelet refused
    kSilent,    // no answer in time; the kubelet may still register the resource
  };
  using Done = std::function<void(Result result, const std::string& why)>;

  RegistrationClient(EventLoop& loop, std::filesystem::path kubelet_socket,
                     std::chrono::milliseconds deadline = kDeadline);
  ~RegistrationClient();

  // Sends a request; `done` runs in the loop, later. Returns the peer's process, 0 if it is in another pid
  // namespace, or nullopt if nothing was sent. Sends nothing if a kubelet other than `kubelet` listens by
  // now: the event of its socket follows, and a second Register would end the stream of the first. A chmod
  // changes the socket's identity without an event, so the caller examines the socket after kNobodyListens.
  // Concurrent calls share a connection, which closes after the last call: the next call reaches the kubelet
  // that listens then.
  std::optional<pid_t> send(Request request, const FileIdentity& kubelet, Done done);
  // Call it when another kubelet listens: new calls must not use the old connection.
  void on_other_kubelet() { connection_.reset(); }
  // Returns the process that listens on the kubelet's socket, 0 if it is in another pid namespace, or nullopt
  // if no process listens.
  std::optional<pid_t> listening_process() const;

 private:
  struct Connection;
  EventLoop& loop_;
  std::filesystem::path socket_;
  std::chrono::milliseconds deadline_;
  std::weak_ptr<Connection> connection_;  // owned by the running calls
};

// The service for the kubelet's plugin registry, which queries sockets in plugins_registry. Thread-safe: runs
// in gRPC's threads.

class RegistryService final : public pluginregistration::Registration::CallbackService {
 public:
  // `callers` must outlive the service.
  RegistryService(std::string resource, OwnerInLoop owner, const Callers& callers);

  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context,
                                    const pluginregistration::InfoRequest*,
                                    pluginregistration::PluginInfo* response) override;
  grpc::ServerUnaryReactor* NotifyRegistrationStatus(
      grpc::CallbackServerContext* context, const pluginregistration::RegistrationStatus* request,
      pluginregistration::RegistrationStatusResponse*) override;

 private:
  std::string resource_;
  OwnerInLoop owner_;
  const Callers& callers_;
};

}  // namespace plughost
