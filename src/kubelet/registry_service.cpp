#include "kubelet/registry_service.hpp"

#include "kubelet/registration.hpp"

namespace plughost {

RegistryService::RegistryService(std::string resource, OwnerInLoop owner, const Callers& callers)
    : resource_(std::move(resource)), owner_(std::move(owner)), callers_(callers) {}

grpc::ServerUnaryReactor* RegistryService::GetInfo(grpc::CallbackServerContext* context,
                                                   const pluginregistration::InfoRequest*,
                                                   pluginregistration::PluginInfo* response) {
  const Caller by = callers_.of(context->peer());
  owner_.tell([by](EndpointOwner& owner) { owner.on_dialed(by); });
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
  if (!request->plugin_registered())
    owner_.tell([by = callers_.of(context->peer()), why = request->error()](EndpointOwner& owner) {
      owner.on_registry_refused(by, why);
    });
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace plughost
