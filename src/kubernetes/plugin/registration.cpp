#include "kubernetes/plugin/registration.hpp"

#include <grpcpp/create_channel_posix.h>

#include "deviceplugin/v1beta1/deviceplugin.grpc.pb.h"

namespace plughost {

// A connection that plughost itself has opened: a refusal is known at once, and none of gRPC's resolvers,
// back-offs and shared subchannels delays the call after a kubelet's start.
struct RegistrationClient::Connection {
  explicit Connection(UniqueFd fd)
      : process(peer_process(fd.get())),
        stub(v1beta1::Registration::NewStub(grpc::CreateInsecureChannelFromFd("localhost", fd.release()))) {}

  pid_t process;
  std::unique_ptr<v1beta1::Registration::Stub> stub;
  bool broken = false;  // loop thread only
};

RegistrationClient::RegistrationClient(EventLoop& loop, std::filesystem::path kubelet_socket,
                                       std::chrono::milliseconds deadline)
    : loop_(loop), socket_(std::move(kubelet_socket)), deadline_(deadline) {}

RegistrationClient::~RegistrationClient() = default;

std::optional<pid_t> RegistrationClient::send(Request request, const FileIdentity& kubelet, Done done) {
  std::shared_ptr<Connection> connection = connection_.lock();
  if (!connection || connection->broken) {
    const auto ask_nobody = [&](std::string why) {
      loop_.poster()([done = std::move(done), why = std::move(why)] { done(Result::kNobodyListens, why); });
      return std::nullopt;
    };
    try {
      UniqueFd fd = connect_unix(socket_);
      // Checked after connecting, so that the peer is this kubelet, or a former kubelet that has ended.
      if (identity_of(socket_) != kubelet) return ask_nobody("another kubelet is about to listen");
      connection = std::make_shared<Connection>(std::move(fd));
    } catch (const std::system_error& error) {
      return ask_nobody(error.what());
    }
    connection_ = connection;
  }

  struct Call {
    std::shared_ptr<Connection> connection;
    grpc::ClientContext context;
    v1beta1::RegisterRequest request;
    v1beta1::Empty response;
  };
  auto call = std::make_shared<Call>();  // not const, because it is moved
  call->connection = connection;
  call->context.set_deadline(std::chrono::system_clock::now() + deadline_);
  call->request.set_version(kApiVersion);
  call->request.set_endpoint(std::move(request.endpoint));
  call->request.set_resource_name(std::move(request.resource));
  v1beta1::DevicePluginOptions& options = *call->request.mutable_options();
  options.set_pre_start_required(request.options.pre_start_required);
  options.set_get_preferred_allocation_available(request.options.preferred_allocation_available);
  // The connection ends in the loop: gRPC 1.51 cannot destroy its last channel in one of its own threads.
  connection->stub->async()->Register(
      &call->context, &call->request, &call->response,
      [call, post = loop_.poster(), done = std::move(done)](const grpc::Status& status) mutable {
        post([call = std::move(call), done = std::move(done), status] {
          // A kubelet may refuse with UNKNOWN, too, but never with this text, which is gRPC's own.
          const bool gone = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                            status.error_message() == "Stream removed";
          if (gone) call->connection->broken = true;
          const bool late = status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
          done(status.ok() ? Result::kAccepted
               : gone      ? Result::kWentAway
               : late      ? Result::kSilent
                           : Result::kRefused,
               status.error_message());
        });
      });
  return connection->process;
}

std::optional<pid_t> RegistrationClient::listening_process() const {
  try {
    return plughost::listening_process(socket_);
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

RegistryService::RegistryService(std::string resource, OwnerInLoop owner, const Callers& callers)
    : resource_(std::move(resource)), owner_(std::move(owner)), callers_(callers) {}

grpc::ServerUnaryReactor* RegistryService::GetInfo(grpc::CallbackServerContext* context,
                                                   const pluginregistration::InfoRequest*,
                                                   pluginregistration::PluginInfo* response) {
  const Caller by = callers_.of(context->peer());
  owner_.post([by](EndpointOwner& owner) { owner.on_dialed(by); });
  response->set_type("DevicePlugin");
  response->set_name(resource_);
  // Without an endpoint the kubelet dials the socket that it has just queried.
  response->add_supported_versions(kApiVersion);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* RegistryService::NotifyRegistrationStatus(
    grpc::CallbackServerContext* context, const pluginregistration::RegistrationStatus* request,
    pluginregistration::RegistrationStatusResponse*) {
  if (!request->plugin_registered())
    owner_.post([by = callers_.of(context->peer()), why = request->error()](EndpointOwner& owner) {
      owner.on_registry_refused(by, why);
    });
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace plughost
