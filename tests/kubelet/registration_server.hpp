#pragma once
// The kubelet's own socket, and the Registration service behind it.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/system/event_loop.hpp"
#include "kubelet/kubelet_state.hpp"
#include "kubelet/protocol_text.hpp"

namespace plughost {

// What a plugin asks of Register.
struct RegisterRequest {
  std::string version;
  std::string endpoint;
  std::string resource;
  EndpointOptions options;
};

// The service. Made in any thread; destroyed in any but the loop, which has to answer what is pending: ends
// all connections.
class RegistrationServer {
 public:
  // Must be called exactly once, from any thread.
  using Reply = std::function<void(const CallEnd&)>;
  // Comes in the loop.
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

// A socket that the kubelet listens on. Loop thread only. Its file outlives it, as a killed kubelet's does.
class KubeletSocket {
 public:
  static constexpr const char* kName = "kubelet.sock";  // of the one for registrations

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
