#pragma once
// What the kubelet's plugin registry asks of a socket in plugins_registry. Thread-safe: gRPC's threads run
// it.

#include <grpcpp/grpcpp.h>

#include <string>

#include "kubelet/callers.hpp"
#include "kubelet/endpoint_owner.hpp"
#include "pluginregistration/v1/pluginregistration.grpc.pb.h"

namespace plughost {

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
