#pragma once
// Accepts the connections of a listening socket. Loop thread only.

#include <sys/socket.h>

#include <functional>
#include <string>

#include "base/system/event_loop.hpp"
#include "base/system/unique_fd.hpp"
#include "base/text/network_address.hpp"

namespace plughost {

class Acceptor {
 public:
  // `connection` is non-blocking and close-on-exec. `peer` is the process that connected to a unix socket;
  // its pid is 0 if the process is in another pid namespace.
  using Accept = std::function<void(UniqueFd connection, const ucred& peer)>;
  // Called when connections cannot be accepted and therefore wait. Not repeated until one has been accepted.
  using Error = std::function<void(const std::string& what)>;

  // `socket` must be listening and non-blocking. Throws std::system_error. `loop` must outlive this object.
  Acceptor(EventLoop& loop, UniqueFd socket, Accept accept, Error error);
  Acceptor& operator=(Acceptor&&) = delete;

  int socket() const { return socket_.get(); }

 private:
  void on_readable();

  Accept accept_;
  Error error_;
  bool failing_ = false;
  UniqueFd socket_;
  IoWatch watch_;
  Timer retry_;
};

// Creates a non-blocking, close-on-exec, listening socket. `beside` is -1, or a listening socket of this
// process that can share the port (127.0.0.1:9464 and 0.0.0.0:9464). Throws std::system_error.
UniqueFd listen_tcp(const SocketAddress& address, int beside);

}  // namespace plughost
