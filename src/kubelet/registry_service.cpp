#include "kubelet/registry_service.hpp"

#include <utility>

#include "base/text.hpp"
#include "device/first_names.hpp"

namespace plughost {

namespace {

constexpr std::size_t kLongestReason = 500;

grpc::ServerUnaryReactor* finished(grpc::CallbackServerContext* context) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace

RegistryService::RegistryService(Registered registered, Events events, const Callers& callers)
    : registered_(std::move(registered)), events_(std::move(events)), callers_(callers) {}

grpc::ServerUnaryReactor* RegistryService::GetInfo(grpc::CallbackServerContext* context,
                                                   const pluginregistration::InfoRequest*,
                                                   pluginregistration::PluginInfo* response) {
  events_.asked(callers_.of(context->peer()));
  response->set_type(registered_.type);
  response->set_name(registered_.name);
  // No endpoint: the kubelet then dials the socket that it has just asked.
  for (const std::string& version : registered_.versions) response->add_supported_versions(version);
  return finished(context);
}

grpc::ServerUnaryReactor* RegistryService::NotifyRegistrationStatus(
    grpc::CallbackServerContext* context, const pluginregistration::RegistrationStatus* request,
    pluginregistration::RegistrationStatusResponse*) {
  std::string why;
  if (!request->plugin_registered())
    why = request->error().empty() ? "the kubelet does not say why"
                                   : printable(shortened(request->error(), kLongestReason));
  events_.told(callers_.of(context->peer()), why);
  return finished(context);
}

}  // namespace plughost
