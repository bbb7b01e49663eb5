#include "kubelet/registration_server.hpp"

#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "deviceplugin/v1beta1/deviceplugin.grpc.pb.h"

namespace plughost {
namespace {

UniqueFd listen_on(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    throw_errno(path);
  }
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  UniqueFd fd{check(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket")};
  check(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
        "bind " + path.string());
  check(::listen(fd.get(), SOMAXCONN), "listen " + path.string());
  return fd;
}

}  // namespace

class RegistrationServer::Service final : public v1beta1::Registration::CallbackService {
 public:
  Service(EventLoop::Poster post, OnRegister on_register)
      : post_(std::move(post)), on_register_(std::make_shared<OnRegister>(std::move(on_register))) {
    grpc::ServerBuilder builder;
    builder.RegisterService(this);
    builder.SetMaxReceiveMessageSize(4 << 20);
    server_ = builder.BuildAndStart();
  }
  ~Service() override { server_->Shutdown(std::chrono::system_clock::now()); }

  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context,
                                     const v1beta1::RegisterRequest* request, v1beta1::Empty*) override {
    auto* reactor = context->DefaultReactor();
    const v1beta1::DevicePluginOptions& options = request->options();
    RegisterRequest asked{request->version(),
                          request->endpoint(),
                          request->resource_name(),
                          {options.pre_start_required(), options.get_preferred_allocation_available()}};
    post_([handle = on_register_, asked = std::move(asked), reactor] {
      (*handle)(asked, [reactor](const CallEnd& end) {
        reactor->Finish({static_cast<grpc::StatusCode>(end.code), end.text});
      });
    });
    return reactor;
  }

  grpc::Server& server() { return *server_; }

 private:
  EventLoop::Poster post_;
  std::shared_ptr<OnRegister> on_register_;
  std::unique_ptr<grpc::Server> server_;
};

RegistrationServer::RegistrationServer(const EventLoop& loop, OnRegister on_register)
    : service_(std::make_unique<Service>(loop.poster(), std::move(on_register))) {}

RegistrationServer::~RegistrationServer() = default;

void RegistrationServer::serve(UniqueFd connection) {
  grpc::AddInsecureChannelFromFd(&service_->server(), connection.release());
}

KubeletSocket::KubeletSocket(EventLoop& loop, const std::filesystem::path& path,
                             std::function<void(UniqueFd)> on_connection)
    : on_connection_(std::move(on_connection)),
      fd_(listen_on(path)),
      watch_(loop, fd_.get(), EPOLLIN, [this](std::uint32_t) { accept_all(); }) {}

void KubeletSocket::accept_all() {
  for (;;) {
    UniqueFd connection{::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (!connection) return;
    on_connection_(std::move(connection));
  }
}

}  // namespace plughost
