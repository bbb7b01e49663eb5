#pragma once
// The kubelet's side of Dynamic Resource Allocation, without the API server: which drivers are registered,
// and what they are asked. Loop thread only. Names in brackets are the kubelet's (pkg/kubelet/cm/dra).

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/event_loop.hpp"
#include "base/lifetime.hpp"
#include "standin/plugin_client.hpp"
#include "standin/shared_state.hpp"

namespace plughost {

class Drivers {
 public:
  struct Options {
    bool newer = true;  // speaks v1 as well, and reads health
    std::chrono::milliseconds health_retry{};
  };
  struct Actions {
    std::function<std::shared_ptr<PluginClient>(const std::filesystem::path& socket)> make_client;
    std::function<void(const KubeletEvent& event)> tell;
  };
  using Done = std::function<void(const ClaimsAnswer& answer)>;

  // The loop and the state outlive it; its clients are closed by whoever made them.
  Drivers(EventLoop& loop, SharedState& state, Options options, Actions actions);

  // [ValidatePlugin]
  std::string objection(const PluginInfo& info) const;
  // Why it is not registered; empty: it is. [RegisterPlugin, add]
  std::string add(const PluginInfo& info);
  // [DeRegisterPlugin]
  void remove(const std::string& driver, const std::string& endpoint);

  // Of the newest endpoint that is connected, else of the newest one. done is called once, maybe from within;
  // not at all when this is gone.
  void prepare(const std::string& driver, const std::vector<ClaimRef>& claims, const Done& done);
  void unprepare(const std::string& driver, const std::vector<ClaimRef>& claims, const Done& done);

 private:
  struct Endpoint {
    std::string driver;
    std::string path;
    std::string service;
    std::shared_ptr<PluginClient> client;
    std::shared_ptr<ListReader> health;  // nullptr: no stream
    std::unique_ptr<Timer> retry;
  };
  using EndpointPointer = std::shared_ptr<Endpoint>;

  EndpointPointer newest(const std::string& driver) const;
  void read_health(const EndpointPointer& endpoint);
  void on_health(const std::string& driver, const std::vector<ToldHealth>& devices);
  void look_at_connections();
  void show(const std::string& driver);
  template <typename Change>
  void change(const std::string& driver, Change change);

  EventLoop& loop_;
  SharedState& state_;
  const Options options_;
  const Actions actions_;
  Lifetime lifetime_;
  std::map<std::string, std::vector<EndpointPointer>> endpoints_;  // the newest last
  Timer connections_;
};

}  // namespace plughost
