#pragma once
// Writes Kubernetes Events about devices, on the Node and on the pods that hold them. Loop thread only.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log/log.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/rate.hpp"
#include "kubernetes/apiserver/api_server.hpp"
#include "kubernetes/apiserver/event_queue.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "model/allocate/resource_snapshot.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// A change of health that becomes an Event.
struct HealthNews {
  EventSubject subject;
  EventReason reason = EventReason::kDeviceUnhealthy;
  std::string text;

  bool operator==(const HealthNews&) const = default;
};
// Returns the changes between two lists of the resource: for the node, and for each pod that holds a device
// whose health has changed. `before` is nullptr for a first list, in which Healthy devices are no news.
// `holdings` is nullptr if unknown.
std::vector<HealthNews> health_news(const std::string& resource, const Inventory* before,
                                    const Inventory& after, const Holdings* holdings);

class NodeEvents {
 public:
  // Queries the holders. `done` runs in the loop, possibly from within the call.
  using QueryHolders = std::function<void(std::function<void(const PodResources::Answer& answer)> done)>;

  // The arguments must outlive this object.
  NodeEvents(EventLoop& loop, Log& log, ApiServer& server, QueryHolders query_holders);
  NodeEvents& operator=(NodeEvents&&) = delete;

  // Turns Events on or off; they are off at first. Turning Events off discards waiting Events.
  void use(bool on);
  // Call it when a resource serves a new snapshot.
  void follow(const ResourceSnapshot& snapshot);
  // Call it when a resource is no longer served.
  void forget(const std::string& resource) { lists_.erase(resource); }
  // Writes an Event about a refused reload.
  void record_refusal(const std::vector<std::string>& errors);
  // Writes the Events that are due, within `limit`, and calls `done` later, once.
  void finish(std::chrono::milliseconds limit, std::function<void()> done);

 private:
  void record(const HealthNews& news);
  void go_on();
  void query_pods();
  void on_pod(const ApiAnswer& answer);
  void create(const std::string& uid);
  void on_created(const ApiAnswer& answer);
  void on_refused(const ApiAnswer& answer);
  void give_up(const std::string& why);
  void try_again(const std::string& why);
  void next();
  void end();

  Log& log_;
  ApiServer& server_;
  QueryHolders query_holders_;
  bool on_ = false;
  std::map<std::string, Inventory> lists_;  // the last list of each resource
  EventQueue queue_;
  std::optional<EventDraft> draft_;  // the Event being written
  Backoff again_{std::chrono::seconds(1), std::chrono::seconds(60)};
  std::string told_;  // last error logged; empty: the last write succeeded
  Timer due_;
  Timer limit_;
  std::function<void()> finished_;
  Lifetime lifetime_;
  Subscription user_;
  std::unique_ptr<ApiCall> call_;
};

}  // namespace plughost
