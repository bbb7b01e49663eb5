#pragma once
// The API server, as the configuration in force says that it is reached, and the one client of it: who we
// are, our connections, our requests. Loop thread only.

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

// A request that is under way; who drops it does not want to know any more. Its client outlives it.
class ApiCall {
 public:
  virtual ~ApiCall() = default;
  // Stops and continues an answer that comes in parts: its sender waits. The deadline goes on.
  virtual void pause() = 0;
  virtual void resume() = 0;
};

// For the status and the doctor.
struct ApiClientState {
  std::string server;    // "https://10.0.0.1:6443"; empty: not known yet
  std::string identity;  // where the credentials are from: "/etc/kubernetes/kubelet.conf"
  std::string node;
  std::optional<EventLoop::Clock::time_point> heard;  // its last answer
  std::string error;                  // why it cannot be asked now; empty: it can, or nobody has
  std::vector<std::string> warnings;  // of the credentials: "insecure-skip-tls-verify"
  std::vector<ApiTally::Watched> watches;
};

// One for a daemon, made when something first needs it: it opens libcurl and reads the credentials then. The
// credentials are read again when they are a minute old and somebody asks, and at once after a 401.
class ApiClient {
 public:
  // What stream() tells. None of it comes from within stream(), and any of it may drop the call.
  struct StreamHooks {
    std::function<void()> began;  // a 200: what follows is the stream
    std::function<void(std::string_view bytes)> bytes;
    std::function<void(ApiAnswer)> ended;  // code 200: the server has ended it
  };
  struct Options {
    ApiServerConfig config;
    HostRoot host = HostRoot();
    // How the in-cluster account is told of; as our environment has it.
    std::string service_host;
    std::string service_port;
    std::string library = "libcurl.so.4";
    std::chrono::milliseconds access_age = std::chrono::minutes(1);  // then it is read again
    std::chrono::milliseconds file_deadline = std::chrono::seconds(5);
    std::chrono::milliseconds plugin_deadline = std::chrono::seconds(20);  // of an exec plugin
    HostLookup::Options lookup = {};
    std::chrono::milliseconds idle = std::chrono::seconds(30);    // then the connection is closed
    std::chrono::milliseconds silence = std::chrono::minutes(7);  // then a watch is dead, and made anew
    static Options of(ApiServerConfig config);                    // with our environment
  };

  // All outlive it, and it outlives its calls.
  ApiClient(EventLoop& loop, Workers& workers, Programs& programs, Log& log, std::shared_ptr<ApiTally> tally,
            Options options);
  ApiClient& operator=(ApiClient&&) = delete;

  // done comes later, once, unless the call is dropped before; it may drop it. A 401 has been tried once more
  // with credentials that were read anew; every other answer is handed out.
  std::unique_ptr<ApiCall> send(ApiRequest request, std::function<void(ApiAnswer)> done);
  // An answer that comes in parts, of any length. A watch has no end: it has a connection of its own, and
  // request.deadline is for its beginning.
  std::unique_ptr<ApiCall> stream(ApiRequest request, StreamHooks hooks);

  // Our node's name; empty until the credentials have been read. $NODE_NAME wins over the kubelet's
  // certificate, and what is configured over both.
  const std::string& node() const { return node_; }
  ApiClientState state() const;

  EventLoop& loop() const { return loop_; }
  Workers& workers() const { return workers_; }
  ApiTally& tally() const { return *tally_; }

 private:
  friend class ApiWatch;
  class Call;
  using Ready = std::function<void(const std::string& error)>;

  // When the library is open, the credentials are known and the server's host is resolved; error says why
  // not.
  void prepare(bool anew, Ready ready);
  void open_curl(Ready ready);
  void on_credentials(const AccessKeeper::Credentials& credentials, const std::string& error,
                      const Ready& ready);
  void name_node();
  // Of a request, or of a stream alone. prepare() has called. Throws std::runtime_error.
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
  std::shared_ptr<CurlTransport> transport_;  // of requests
  std::size_t requests_ = 0;                  // that are under way
  Timer idle_;
  std::optional<EventLoop::Clock::time_point> heard_;
  std::string error_;
  bool told_ = false;  // how it is, to the log
  std::set<std::string> told_warnings_;
  Lifetime lifetime_;
};

// The client of the configuration in force.
class ApiServer {
 public:
  // All outlive it.
  ApiServer(EventLoop& loop, Workers& workers, Programs& programs, Log& log);
  ApiServer& operator=(ApiServer&&) = delete;

  // Another one, or none: those who use it are told, and then the former client ends.
  void use(std::optional<ApiServerConfig> config);
  // Made when it is first asked for; nullptr: the configuration names none. Until the next change.
  ApiClient* client();
  const std::optional<ApiServerConfig>& config() const { return config_; }
  Log& log() const { return log_; }
  // nullopt: the configuration names none.
  std::optional<ApiClientState> state() const;
  // Of all that were in force.
  const ApiTally& tally() const { return *tally_; }
  // Who has calls or watches of client(): told when there is another one, and drops them then.
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
