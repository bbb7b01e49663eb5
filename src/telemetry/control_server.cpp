#include "telemetry/control_server.hpp"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unix_socket.hpp"

namespace plughost {
namespace {

void open_to_group(const std::filesystem::path& socket) {
  group* const found = ::getgrnam(kControlGroup);
  if (found == nullptr) return;
  check(::chown(socket.c_str(), static_cast<uid_t>(-1), found->gr_gid), "chown " + socket.string());
  check(::chmod(socket.c_str(), 0660), "chmod " + socket.string());
}

HttpServer::Listening listening(const std::filesystem::path& socket) {
  std::filesystem::create_directories(socket.parent_path());
  if (const auto dead = dead_socket(socket)) remove_dead_socket(socket, *dead);
  return {.socket = listen_unix(socket), .door = HttpDoor::kControl, .name = socket};
}

}  // namespace

ControlServer::ControlServer(EventLoop& loop, Log& log, StatusRequests& requests,
                             const std::filesystem::path& socket)
    : server_(loop, log, requests, listening(socket)), file_(socket) {
  open_to_group(socket);
}

}  // namespace plughost
