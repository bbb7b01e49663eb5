#pragma once
// The kubelet's own socket with the Registration service.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/system/event_loop.hpp"
#include "kubelet/kubelet_state.hpp"
#include "kubelet/protocol_text.hpp"

namespace plughost {

struct RegisterRequest {
  std::string version;
  std::string endpoint;
  std::string resource;
  EndpointOptions options;
};

// The Registration service. Construct it on any thread. Do not destroy it on the loop thread, which must
// answer pending calls meanwhile. Destruction closes all connections.
class RegistrationServer {
 public:
  // Call it exactly once, from any thread.
  using Reply = std::function<void(const CallEnd&)>;
  // Called in the loop.
  using OnRegister = std::function<void(const RegisterRequest&, Reply)>;

  RegistrationServer(const EventLoop& loop, OnRegister on_register);
  ~RegistrationServer();
  RegistrationServer& operator=(RegistrationServer&&) = delete;

  // Thread-safe.
  void serve(UniqueFd connection);

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

// A socket that the kubelet listens on. Loop thread only. The destructor leaves the socket's file, as a
// killed kubelet does.
class KubeletSocket {
 public:
  static constexpr const char* kName = "kubelet.sock";  // the socket for registrations

  // Throws std::system_error.
  KubeletSocket(EventLoop& loop, const std::filesystem::path& path,
                std::function<void(UniqueFd connection)> on_connection);

 private:
  void accept_all();

  std::function<void(UniqueFd)> on_connection_;
  UniqueFd fd_;
  IoWatch watch_;
};

}  // namespace plughost
