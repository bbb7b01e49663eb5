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
    kAccepted,       // older kubelets dial back only now: a stream is the proof, not this
    kNobodyListens,  // not even asked: no kubelet has seen the endpoint's name
    kWentAway,       // the connection broke in mid-call: the kubelet ends, or what listens is none
    kRefused,        // the kubelet said no
    kSilent,         // the kubelet said nothing in time, and may yet do what it was asked
  };
  using Done = std::function<void(Result result, const std::string& why)>;

  RegistrationClient(EventLoop& loop, std::filesystem::path kubelet_socket,
                     std::chrono::milliseconds deadline = kDeadline);
  ~RegistrationClient();

  // done runs in the loop, later. Returns the process that is asked; 0: not to be seen from here; nullopt:
  // nobody is asked. kubelet: the one that is meant. If another one listens by now, nobody is
  // asked: its socket's event comes, and a second Register after that would end the first one's stream. No
  // event tells of a chmod: whoever hears kNobodyListens looks at the socket. Calls that are under way share
  // a connection; when none is, it is closed, so that each new attempt meets the kubelet that listens then.
  std::optional<pid_t> send(Request request, const FileIdentity& kubelet, Done done);
  // Another kubelet listens now: calls to the former one must not take new ones along.
  void on_other_kubelet() { connection_.reset(); }
  // The process that listens on the kubelet's socket; 0: not to be seen from here. nullopt: nobody listens.
  std::optional<pid_t> listening_process() const;

 private:
  struct Connection;
  EventLoop& loop_;
  std::filesystem::path socket_;
  std::chrono::milliseconds deadline_;
  std::weak_ptr<Connection> connection_;  // the calls under way own it
};

// What the kubelet's plugin registry asks of a socket in plugins_registry. Thread-safe: gRPC's threads run
// it.

class RegistryService final : public pluginregistration::Registration::CallbackService {
 public:
  // callers outlives it.
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
