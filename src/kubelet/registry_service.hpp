#pragma once
// What the kubelet's plugin registry asks of a socket in plugins_registry. Thread-safe: gRPC's threads run
// it.

#include <grpcpp/grpcpp.h>

#include <functional>
#include <string>

#include "pluginregistration/v1/pluginregistration.grpc.pb.h"

namespace plughost {

class RegistryService final : public pluginregistration::Registration::CallbackService {
 public:
  // refused is told why, when the kubelet does not take the resource.
  RegistryService(std::string resource, std::function<void(const std::string& why)> refused);

  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context,
                                    const pluginregistration::InfoRequest*,
                                    pluginregistration::PluginInfo* response) override;
  grpc::ServerUnaryReactor* NotifyRegistrationStatus(
      grpc::CallbackServerContext* context, const pluginregistration::RegistrationStatus* request,
      pluginregistration::RegistrationStatusResponse*) override;

 private:
  std::string resource_;
  std::function<void(const std::string&)> refused_;
};

}  // namespace plughost
