#include "kubelet/registry_service.hpp"

#include "kubelet/registration.hpp"

namespace plughost {

RegistryService::RegistryService(std::string resource, std::function<void(const std::string&)> refused)
    : resource_(std::move(resource)), refused_(std::move(refused)) {}

grpc::ServerUnaryReactor* RegistryService::GetInfo(grpc::CallbackServerContext* context,
                                                   const pluginregistration::InfoRequest*,
                                                   pluginregistration::PluginInfo* response) {
  response->set_type("DevicePlugin");
  response->set_name(resource_);
  // No endpoint: the kubelet then dials the socket that it has just asked.
  response->add_supported_versions(kApiVersion);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* RegistryService::NotifyRegistrationStatus(
    grpc::CallbackServerContext* context, const pluginregistration::RegistrationStatus* request,
    pluginregistration::RegistrationStatusResponse*) {
  if (!request->plugin_registered()) refused_(request->error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace plughost
