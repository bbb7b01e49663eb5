#pragma once
// What the kubelet's plugin registry asks of a socket in plugins_registry. Thread-safe: gRPC's threads run
// it.

#include <grpcpp/grpcpp.h>

#include <functional>
#include <string>
#include <vector>

#include "kubelet/callers.hpp"
#include "pluginregistration/v1/pluginregistration.grpc.pb.h"

namespace plughost {

class RegistryService final : public pluginregistration::Registration::CallbackService {
 public:
  // What the socket is. The kubelet dials the one that it asks.
  struct Registered {
    std::string type;
    std::string name;
    std::vector<std::string> versions;  // the first one that a kubelet knows is what it speaks
  };
  // Called from any thread, and must not wait.
  struct Events {
    std::function<void(Caller by)> asked;
    // What became of it; why empty: it is registered.
    std::function<void(Caller by, const std::string& why)> told;
  };

  // callers outlives it.
  RegistryService(Registered registered, Events events, const Callers& callers);

  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context,
                                    const pluginregistration::InfoRequest*,
                                    pluginregistration::PluginInfo* response) override;
  grpc::ServerUnaryReactor* NotifyRegistrationStatus(
      grpc::CallbackServerContext* context, const pluginregistration::RegistrationStatus* request,
      pluginregistration::RegistrationStatusResponse*) override;

 private:
  const Registered registered_;
  const Events events_;
  const Callers& callers_;
};

}  // namespace plughost
