#pragma once
// Resolves the API server's host, or the proxy's, on a worker. libcurl before 7.87 (Ubuntu 22.04, RHEL 9)
// resolves in a thread, and waits for that thread when a transfer is dropped: 10 to 30 s if no name server
// responds. Newer versions get the addresses from here too, so that there is one code path. Loop thread only.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/system/shared_job.hpp"
#include "kubernetes/apiserver/access.hpp"

namespace plughost {

using Addresses = std::vector<std::string>;

// Returns the addresses of a host name in the order of getaddrinfo(3), or why there are none, as a sentence.
// Thread-safe; blocks.
std::variant<Addresses, std::string> resolve_host(const std::string& host);

class HostLookup {
 public:
  using Ready = SharedJob<Addresses>::Ready;
  struct Options {
    std::function<std::variant<Addresses, std::string>(const std::string& host)> resolve = resolve_host;
    std::chrono::milliseconds age = std::chrono::minutes(1);  // the name is resolved again after this time
    std::chrono::milliseconds deadline = std::chrono::seconds(5);
  };

  // `workers` must outlive this object.
  HostLookup(Workers& workers, Options options)
      : options_(std::move(options)), job_(workers, options_.deadline) {}
  HostLookup& operator=(HostLookup&&) = delete;

  // Calls `ready` when entry() is valid for `access`, immediately if nothing has to be resolved. If a later
  // lookup of the same host fails or stalls, entry() keeps the last addresses: an open connection needs none.
  void want(const ApiAccess& access, Ready ready);

  // Returns "api.example:6443:10.0.0.1,fd00::1", as CURLOPT_RESOLVE expects it; empty if the host is an IP
  // address.
  const std::string& entry() const { return entry_; }

 private:
  Options options_;
  std::string host_;  // "api.example:6443"; empty: an IP address
  std::string entry_;
  std::optional<EventLoop::Clock::time_point> resolved_at_;
  SharedJob<Addresses> job_;
};

}  // namespace plughost
