#pragma once
// Kubernetes Events of what happens to devices, on our Node and on the pods that hold them. Loop thread only.

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

// An occurrence, on its way into an Event.
struct HealthNews {
  EventSubject subject;
  EventReason reason = EventReason::kDeviceUnhealthy;
  std::string text;

  bool operator==(const HealthNews&) const = default;
};
// Of the resource's list, which was that one and is this one now: for the node, and for each pod that holds a
// device whose health is another now. before: nullptr for a first list, of which what is Healthy is no news.
// holdings: nullptr where nobody knows.
std::vector<HealthNews> health_news(const std::string& resource, const Inventory* before,
                                    const Inventory& after, const Holdings* holdings);

class NodeEvents {
 public:
  // Who holds what. done runs in the loop, maybe at once.
  using QueryHolders = std::function<void(std::function<void(const PodResources::Answer& answer)> done)>;

  // All outlive it.
  NodeEvents(EventLoop& loop, Log& log, ApiServer& server, QueryHolders query_holders);
  NodeEvents& operator=(NodeEvents&&) = delete;

  // Off at first. What waits when it is turned off is never written.
  void use(bool on);
  // The resource offers this from now on.
  void follow(const ResourceSnapshot& snapshot);
  // Nobody offers it any more.
  void forget(const std::string& resource) { lists_.erase(resource); }
  // A reload was refused.
  void record_refusal(const std::vector<std::string>& errors);
  // What can be written now is, if the limit allows it; done is called later, once.
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
  std::map<std::string, Inventory> lists_;  // by resource: the last that was followed
  EventQueue queue_;
  std::optional<EventDraft> draft_;  // that is being written
  Backoff again_{std::chrono::seconds(1), std::chrono::seconds(60)};
  std::string told_;  // why it goes wrong; empty: it goes well
  Timer due_;
  Timer limit_;
  std::function<void()> finished_;
  Lifetime lifetime_;
  Subscription user_;
  std::unique_ptr<ApiCall> call_;
};

}  // namespace plughost
