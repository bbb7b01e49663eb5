#include "standin/registration_server.hpp"

#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

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
      : post_(std::move(post)), on_register_(std::make_shared<OnRegister>(std::move(on_register))) {}

  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context,
                                     const v1beta1::RegisterRequest* request, v1beta1::Empty*) override {
    auto* reactor = context->DefaultReactor();
    post_([handle = on_register_, request = *request, reactor] {
      (*handle)(request, [reactor](const grpc::Status& status) { reactor->Finish(status); });
    });
    return reactor;
  }

 private:
  EventLoop::Poster post_;
  std::shared_ptr<OnRegister> on_register_;
};

RegistrationServer::RegistrationServer(const EventLoop& loop, OnRegister on_register)
    : service_(std::make_unique<Service>(loop.poster(), std::move(on_register))) {
  grpc::ServerBuilder builder;
  builder.RegisterService(service_.get());
  builder.SetMaxReceiveMessageSize(4 << 20);
  server_ = builder.BuildAndStart();
}

RegistrationServer::~RegistrationServer() {
  server_->Shutdown(std::chrono::system_clock::now());
}

void RegistrationServer::serve(UniqueFd connection) {
  grpc::AddInsecureChannelFromFd(server_.get(), connection.release());
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
