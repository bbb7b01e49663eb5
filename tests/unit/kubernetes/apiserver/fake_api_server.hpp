#pragma once
// An HTTP/1.1 server on a port of its own, whose responses are written by the test's handler. Thread-safe.
// Each connection has a thread, which calls the handler.

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/system/unique_fd.hpp"

namespace plughost::test {

struct FakeRequest {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  unsigned connection = 0;  // counted from 1
};

class FakeConnection {
 public:
  explicit FakeConnection(int fd) : fd_(fd) {}
  void answer(int code, const std::string& body, const std::string& headers = "");
  // Begins a streamed response. Call chunk() any number of times after it, and then end().
  void begin(int code = 200);
  bool chunk(const std::string& bytes);
  void end();
  bool send(const std::string& bytes);  // false: the client has closed the connection
  void cut();                           // closes the connection without an orderly end
  void wait_for_close() const;          // until the client closes the connection, or the server stops

 private:
  int fd_;
};

class FakeApiServer {
 public:
  using Handler = std::function<void(const FakeRequest& request, FakeConnection& connection)>;

  explicit FakeApiServer(Handler handler, std::uint16_t port = 0);
  // Closes the connections.
  ~FakeApiServer();
  FakeApiServer& operator=(FakeApiServer&&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<FakeRequest> requests() const;
  // Returns the number of open connections.
  unsigned connections() const;

 private:
  struct Connection {
    UniqueFd fd;
    bool open = true;
    std::thread thread;
  };
  void accept();
  void serve(Connection& connection, unsigned number);

  Handler handler_;
  UniqueFd listener_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  bool ending_ = false;
  std::list<Connection> connections_;
  std::vector<FakeRequest> requests_;
  std::thread acceptor_;
};

}  // namespace plughost::test
