#include "kubernetes/apiserver/host_lookup.hpp"

#include <netdb.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/document/diagnostics.hpp"
#include "base/text/network_address.hpp"
#include "base/text/text.hpp"
#include "host/programs/program.hpp"

namespace plughost {
namespace {

// Returns the host to which libcurl connects. A proxy's default port is 443 for https, and else 1080.
HostAndPort host_of(const ApiAccess& access) {
  const std::string& url = access.proxy.empty() ? access.server : access.proxy;
  const std::string_view authority = authority_of(url);
  HostAndPort host = host_and_port(authority.substr(authority.rfind('@') + 1));  // npos + 1 is 0
  const std::uint16_t other_port = access.proxy.empty() ? 80 : 1080;
  if (!host.port) host.port = url.starts_with("https://") ? 443 : other_port;
  return host;
}

}  // namespace

std::variant<Addresses, std::string> resolve_host(const std::string& host) {
  const addrinfo hints{.ai_socktype = SOCK_STREAM};
  addrinfo* first = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &first); code != 0) {
    return "the host name " + quote(host) + " cannot be resolved: " +
           (code == EAI_SYSTEM ? std::generic_category().message(errno) : ::gai_strerror(code));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(first, &::freeaddrinfo);
  Addresses addresses;
  for (const addrinfo* each = first; each; each = each->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    ::getnameinfo(each->ai_addr, each->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
    const std::string_view address = text.data();
    addresses.emplace_back(address.substr(0, address.find('%')));  // libcurl refuses fe80::1%eth0
  }
  return addresses;
}

void HostLookup::want(const ApiAccess& access, Ready ready) {
  const HostAndPort parts = host_of(access);
  const bool is_name = !ip_address(parts);
  if (const std::string host = is_name ? parts.host + ':' + std::to_string(*parts.port) : ""; host != host_) {
    host_ = host;
    entry_.clear();
    resolved_at_.reset();
    job_.abandon("the kubeconfig names a different host now");
  }
  if (!is_name || (resolved_at_ && EventLoop::Clock::now() - *resolved_at_ < options_.age)) return ready({});
  job_.run([name = parts.host, resolve = options_.resolve] { return resolve(name); },
           [this](const Addresses& addresses) {
             entry_ = host_ + ':' + joined(addresses, ",");
             resolved_at_ = EventLoop::Clock::now();
           },
           "resolving the host name " + quote(parts.host) + " takes longer than " +
               duration_text(options_.deadline) + ": the name servers of this node do not answer",
           [this, ready = std::move(ready)](const std::string& error) {
             ready(entry_.empty() ? error : std::string());
           });
}

}  // namespace plughost
