#pragma once
// The API server according to the configuration in force, and its single client, with credentials,
// connections and requests. Loop thread only.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log/log.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/shared_job.hpp"
#include "base/system/subscribers.hpp"
#include "base/system/workers.hpp"
#include "config/config.hpp"
#include "host/hardware/host_root.hpp"
#include "host/programs/programs.hpp"
#include "kubernetes/apiserver/access_keeper.hpp"
#include "kubernetes/apiserver/api_request.hpp"
#include "kubernetes/apiserver/api_tally.hpp"
#include "kubernetes/apiserver/host_lookup.hpp"

namespace plughost {

struct CurlLibrary;
class CurlTransport;

// A running request. Dropping a call cancels its callbacks. The client must outlive its calls.
class ApiCall {
 public:
  virtual ~ApiCall() = default;
  // Pauses and resumes an answer of stream(). The server waits during a pause; the deadline keeps running.
  virtual void pause() = 0;
  virtual void resume() = 0;
};

// The client's state, for the status and the doctor.
struct ApiClientState {
  std::string server;    // "https://10.0.0.1:6443"; empty if it is not known yet
  std::string identity;  // the source of the credentials: "/etc/kubernetes/kubelet.conf"
  std::string node;
  std::optional<EventLoop::Clock::time_point> heard;  // the time of the server's last answer
  std::string error;                  // why requests fail; empty: the last one was answered, or none was sent
  std::vector<std::string> warnings;  // of the credentials: "insecure-skip-tls-verify"
  std::vector<ApiTally::Watched> watches;
};

// The daemon's only client, created on first use. The first request loads libcurl and reads the credentials.
// Later requests read credentials again that are a minute old, or at once after a 401.
class ApiClient {
 public:
  // The receiver of a stream. No function is called from within stream(), and each may drop the call.
  class StreamReader {
   public:
    virtual ~StreamReader() = default;
    // Called after a 200; the stream follows.
    virtual void on_begin() {}
    virtual void on_bytes(std::string_view bytes) = 0;
    // Code 200: the server has ended the stream.
    virtual void on_end(ApiAnswer answer) = 0;
  };
  struct Options {
    ApiServerConfig config;
    HostRoot host = HostRoot();
    // The in-cluster account's environment variables.
    std::string service_host;
    std::string service_port;
    std::string library = "libcurl.so.4";
    std::chrono::milliseconds access_age =
        std::chrono::minutes(1);  // credentials are read again after this time
    std::chrono::milliseconds file_deadline = std::chrono::seconds(5);
    std::chrono::milliseconds plugin_deadline = std::chrono::seconds(20);  // for an exec plugin
    HostLookup::Options lookup = {};
    std::chrono::milliseconds idle = std::chrono::seconds(30);  // a connection is closed after this time
    std::chrono::milliseconds silence =
        std::chrono::minutes(7);                // a watch counts as dead after this time, and is restarted
    static Options of(ApiServerConfig config);  // with this process's environment
  };

  // The references must outlive the client, and the client must outlive its calls.
  ApiClient(EventLoop& loop, Workers& workers, Programs& programs, Log& log, std::shared_ptr<ApiTally> tally,
            Options options);
  ApiClient& operator=(ApiClient&&) = delete;

  // Calls `done` once, later, unless the call is dropped before; `done` may drop the call. A 401 is passed on
  // only after a retry with new credentials; every other answer is passed on at once.
  std::unique_ptr<ApiCall> send(ApiRequest request, std::function<void(ApiAnswer)> done);
  // Sends a request whose answer comes in parts and may have any length. A watch does not end by itself: it
  // has its own connection, and request.deadline applies only until the watch has begun.
  // `reader` must outlive the call.
  std::unique_ptr<ApiCall> stream(ApiRequest request, StreamReader& reader);

  // The node's name; empty until the credentials have been read. The configured name takes precedence over
  // $NODE_NAME, and $NODE_NAME over the name in the kubelet's certificate.
  const std::string& node() const { return node_; }
  ApiClientState state() const;

  EventLoop& loop() const { return loop_; }
  Workers& workers() const { return workers_; }
  ApiTally& tally() const { return *tally_; }

 private:
  friend class ApiWatch;
  class Call;
  using Ready = std::function<void(const std::string& error)>;

  // Calls `ready` when the library is loaded, the credentials are known and the server's host is resolved, or
  // with the error that prevents this.
  void prepare(bool anew, Ready ready);
  void open_curl(Ready ready);
  void on_credentials(const AccessKeeper::Credentials& credentials, const std::string& error,
                      const Ready& ready);
  void name_node();
  // Returns the shared transport, or a new one if `alone`. Follows prepare(). Throws std::runtime_error.
  std::shared_ptr<CurlTransport> transport(bool alone);
  void record_request_end();
  void record_answer(const ApiAnswer& answer);
  std::string server() const;

  EventLoop& loop_;
  Workers& workers_;
  const std::shared_ptr<ApiTally> tally_;
  Log& log_;
  Options options_;
  AccessKeeper keeper_;
  SharedJob<std::shared_ptr<const CurlLibrary>> opening_;
  std::shared_ptr<const CurlLibrary> library_;
  HostLookup lookup_;
  std::string node_;
  std::shared_ptr<CurlTransport> transport_;  // for requests
  std::size_t requests_ = 0;                  // running requests that share transport_
  Timer idle_;
  std::optional<EventLoop::Clock::time_point> heard_;
  std::string error_;
  bool told_ = false;  // the state has been logged
  std::set<std::string> told_warnings_;
  Lifetime lifetime_;
};

// The client of the configuration in force.
class ApiServer {
 public:
  // The references must outlive this object.
  ApiServer(EventLoop& loop, Workers& workers, Programs& programs, Log& log);
  ApiServer& operator=(ApiServer&&) = delete;

  // Replaces or removes the configuration: notifies the users, and then destroys the former client.
  void use(std::optional<ApiServerConfig> config);
  // Returns the client, created on first use, until the next change; nullptr if no API server is configured.
  ApiClient* client();
  const std::optional<ApiServerConfig>& config() const { return config_; }
  Log& log() const { return log_; }
  // Returns nullopt if no API server is configured.
  std::optional<ApiClientState> state() const;
  // Returns the counters across all configurations so far.
  const ApiTally& tally() const { return *tally_; }
  // Subscribers with calls or watches of client(). When notified, they must drop these: the client goes away.
  Subscribers& users() { return users_; }

 private:
  EventLoop& loop_;
  Workers& workers_;
  Programs& programs_;
  Log& log_;
  std::shared_ptr<ApiTally> tally_ = std::make_shared<ApiTally>();
  std::optional<ApiServerConfig> config_;
  std::unique_ptr<ApiClient> client_;
  Subscribers users_;
};

}  // namespace plughost
