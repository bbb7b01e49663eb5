#include "daemon/telemetry/servers.hpp"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

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

Servers::Servers(EventLoop& loop, Log& log, StatusRequests& requests)
    : loop_(loop), log_(log), requests_(requests) {}

Servers::~Servers() {
  replace_control(nullptr);
  replace_http(nullptr);
  end_former();
}

std::unique_ptr<ControlServer> Servers::open_control(const TelemetryConfig& config) {
  return std::make_unique<ControlServer>(loop_, log_, requests_, config.control);
}

std::unique_ptr<HttpServer> Servers::open_http(const TelemetryConfig& config) {
  if (config.listen.empty()) return nullptr;
  return std::make_unique<HttpServer>(loop_, log_, requests_,
                                      HttpServer::on_address(config.listen, http_.get()));
}

std::vector<std::string> Servers::open(const TelemetryConfig& config) {
  config_ = config;
  return open_missing();
}

std::vector<std::string> Servers::open_missing() {
  std::vector<std::string> errors;
  const auto attempt = [&](auto&& open) {
    try {
      open();
    } catch (const std::runtime_error& exception) {  // includes std::system_error
      log_.error("cannot listen for status requests: devices are served without",
                 {{"why", exception.what()}});
      errors.emplace_back(exception.what());
    }
  };
  if (!control_) attempt([&] { replace_control(open_control(config_)); });
  if (!http_) attempt([&] { replace_http(open_http(config_)); });
  return errors;
}

Servers::Opened Servers::prepare(const TelemetryConfig& config) {
  Opened opened{.config = config, .control = nullptr, .http = nullptr};
  const auto attempt = [&](const std::string& where, const char* key, auto&& open) {
    try {
      open();
    } catch (const std::runtime_error& exception) {
      throw std::runtime_error(where + ": " + key + ": " + exception.what());
    }
  };
  if (config.control != config_.control)
    attempt(config.control_where, "control", [&] { opened.control = open_control(config); });
  if (config.listen != config_.listen)
    attempt(config.listen_where, "listen", [&] { opened.http = open_http(config); });
  return opened;
}

std::vector<std::string> Servers::use(Opened opened) {
  const bool other_address = opened.config.listen != config_.listen;
  config_ = std::move(opened.config);
  if (opened.control) replace_control(std::move(opened.control));
  if (other_address) replace_http(std::move(opened.http));
  return open_missing();
}

void Servers::replace_control(std::unique_ptr<ControlServer> control) {
  std::swap(control_, control);
  if (!control) return;
  control->stop_listening();
  former_.push_back(std::move(control));
}

void Servers::replace_http(std::unique_ptr<HttpServer> http) {
  std::swap(http_, http);
  if (http) former_.push_back(std::move(http));
  if (http_) log_.info("listening", {{"address", config_.listen}, {"port", std::to_string(http_->port())}});
}

void Servers::end_former() {
  for (auto& server : std::exchange(former_, {})) end(std::move(server));
}

void Servers::leave() {
  if (control_) control_->stop_listening();
  http_.reset();
}

void Servers::end(std::shared_ptr<void> server) {
  const std::uint64_t number = ++endings_;
  auto ended = lifetime_.bound([this, number] { ending_.erase(number); });
  try {
    ending_[number] = std::jthread([server = std::move(server), post = loop_.poster(), ended]() mutable {
      server.reset();
      post(ended);
    });
  } catch (const std::system_error&) {  // no thread can be started: this thread has destroyed the server
    ending_.erase(number);
  }
}

}  // namespace plughost
