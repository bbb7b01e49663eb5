#pragma once
// A socket on which we listen: each connection is accepted. Loop thread only.

#include <sys/socket.h>

#include <functional>
#include <string>

#include "base/system/event_loop.hpp"
#include "base/system/unique_fd.hpp"
#include "base/text/network_address.hpp"

namespace plughost {

class Acceptor {
 public:
  // connection is non-blocking and close-on-exec; peer is who connected to a unix socket (pid 0: in another
  // pid namespace).
  using Accept = std::function<void(UniqueFd connection, const ucred& peer)>;
  // Called when connections cannot be accepted, once until one can; they wait meanwhile.
  using Error = std::function<void(const std::string& what)>;

  // socket listens, and is non-blocking. Throws std::system_error. The loop outlives it.
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

// Non-blocking and close-on-exec. beside: a socket of ours that listens, or -1; it may have the same port, as
// 127.0.0.1:9464 and 0.0.0.0:9464 have. Throws std::system_error.
UniqueFd listen_tcp(const SocketAddress& address, int beside);

}  // namespace plughost
