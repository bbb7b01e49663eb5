#include "daemon/report/node_events.hpp"

#include <set>
#include <utility>
#include <variant>

#include "daemon/status/status.hpp"
#include "kubernetes/apiserver/api_request.hpp"
#include "model/device/inventory.hpp"

namespace plughost {
namespace {

using WallClock = std::chrono::system_clock;

constexpr std::string_view kNode = "the node";

std::string name_of(const EventSubject& subject) {
  return subject.pod.empty() ? std::string(kNode) : subject.pod_namespace + '/' + subject.pod;
}

// Returns the changes that merit an Event. A device that has come back counts as Healthy again.
std::vector<DeviceChange> health_changes(const Inventory& before, const Inventory& after) {
  using enum DeviceChange::Kind;
  std::vector<DeviceChange> changes = device_changes(before.devices(), after.devices());
  std::erase_if(changes, [&](DeviceChange& change) {
    if (change.kind != kAppeared) return change.kind == kForgotten;
    change.kind = kHealthy;
    return !device_of_id(before.devices(), change.id) || !device_of_id(after.devices(), change.id)->healthy();
  });
  return changes;
}

void tell(const EventSubject& subject, const std::string& resource, std::span<const DeviceChange> changes,
          std::vector<HealthNews>& news) {
  using enum DeviceChange::Kind;
  const auto add = [&](DeviceChange::Kind kind, EventReason reason, const auto& words) {
    const ChangedGroup group = group_of(changes, kind);
    if (group.count == 0) return;
    news.push_back({.subject = subject,
                    .reason = reason,
                    .text = resource + ": " + group.names + ": " + words(group.why)});
  };
  add(kUnhealthy, EventReason::kDeviceUnhealthy, [](const std::string& why) { return "Unhealthy: " + why; });
  add(kGone, EventReason::kDeviceUnhealthy, [](const std::string& why) { return why; });
  add(kHealthy, EventReason::kDeviceHealthy, [](const std::string&) { return "Healthy again"; });
}

// Returns true if a retry cannot help. A failure of authentication may be corrected later, so it is not
// final.
bool is_final(int code) {
  return code >= 400 && code < 500 && code != ApiAnswer::kUnauthorized &&
         code != ApiAnswer::kRequestTimeout && code != ApiAnswer::kTooManyRequests;
}

}  // namespace

std::vector<HealthNews> health_news(const std::string& resource, const Inventory* before,
                                    const Inventory& after, const Holdings* holdings) {
  const std::vector<DeviceChange> changes =
      before ? health_changes(*before, after) : device_changes_of_first(after.devices());
  std::map<EventSubject, std::vector<DeviceChange>> pods;
  for (const DeviceChange& change : changes) {
    const Device* const device = device_of_id(after.devices(), change.id);
    if (!device) continue;
    std::set<EventSubject> holders;
    for (const Holder& holder : holders_of(*device, resource, holdings)) {
      if (!holder.pod_namespace.empty())  // otherwise the pod's name is not known
        holders.insert({.pod_namespace = holder.pod_namespace, .pod = holder.pod});
    }
    for (const EventSubject& subject : holders) pods[subject].push_back(change);
  }
  std::vector<HealthNews> news;
  tell({}, resource, changes, news);
  for (const auto& [subject, of_pod] : pods) tell(subject, resource, of_pod, news);
  return news;
}

NodeEvents::NodeEvents(EventLoop& loop, Log& log, ApiServer& server, QueryHolders query_holders)
    : log_(log),
      server_(server),
      query_holders_(std::move(query_holders)),
      due_(loop, [this] { go_on(); }),
      limit_(loop, [this] { end(); }),
      user_(server.users(), [this] {
        call_.reset();
        due_.cancel();
        again_.reset();
        go_on();
      }) {}

void NodeEvents::use(bool on) {
  if (std::exchange(on_, on) == on || on) return;
  call_.reset();
  due_.cancel();
  draft_.reset();
  queue_ = {};
  lists_.clear();
  lifetime_.renew();
}

void NodeEvents::follow(const ResourceSnapshot& snapshot) {
  if (!on_) return;
  const auto [known, first] = lists_.try_emplace(snapshot.resource);
  const std::optional<Inventory> before = first ? std::nullopt : std::optional(known->second);
  known->second = snapshot.inventory;
  const auto news = [resource = snapshot.resource, before,
                     after = snapshot.inventory](const Holdings* holdings) {
    return health_news(resource, before ? &*before : nullptr, after, holdings);
  };
  const std::vector<HealthNews> of_node = news(nullptr);
  if (of_node.empty()) return;
  for (const HealthNews& each : of_node) record(each);
  go_on();
  query_holders_(lifetime_.bound([this, news](const PodResources::Answer& answer) {
    for (const HealthNews& each : news(answer.holdings.get())) {
      if (!each.subject.pod.empty()) record(each);
    }
    go_on();
  }));
}

void NodeEvents::record_refusal(const std::vector<std::string>& errors) {
  if (!on_ || errors.empty()) return;
  std::string text = "the configuration was not reloaded: " + errors.front();
  if (errors.size() > 1) text += " (and " + std::to_string(errors.size() - 1) + " more errors)";
  record({.subject = {}, .reason = EventReason::kReloadRefused, .text = std::move(text)});
  go_on();
}

void NodeEvents::record(const HealthNews& news) {
  queue_.record(news.subject, news.reason, news.text, WallClock::now());
}

void NodeEvents::finish(std::chrono::milliseconds limit, std::function<void()> done) {
  finished_ = std::move(done);
  limit_.arm(limit);
  go_on();
}

void NodeEvents::go_on() {
  if (call_ || (draft_ && due_.armed() && !finished_)) return;
  if (!draft_) draft_ = queue_.take(EventQueue::Clock::now());
  ApiClient* const client = draft_ ? server_.client() : nullptr;
  if (!client) {
    if (finished_) return limit_.arm({});  // nothing more can be written now
    if (const auto next = queue_.next_due(); !draft_ && next != EventQueue::kNever) due_.arm_at(next);
    return;
  }
  due_.cancel();
  if (draft_->subject.pod.empty())
    create("");
  else
    query_pods();
}

// Queries the pod's UID, by which kubectl finds Events. A node's account may list only its node's pods.
void NodeEvents::query_pods() {
  call_ = server_.client()->send(
      {.verb = ApiVerb::kList,
       .path =
           [subject = draft_->subject](const std::string& node) {
             return "/api/v1/namespaces/" + url_encoded(subject.pod_namespace) +
                    "/pods?limit=1&fieldSelector=" +
                    url_encoded("metadata.name=" + subject.pod + ",spec.nodeName=" + node);
           }},
      [this](const ApiAnswer& answer) {
        call_.reset();
        on_pod(answer);
      });
}

void NodeEvents::on_pod(const ApiAnswer& answer) {
  if (!answer.ok()) return on_refused(answer);
  const auto parsed = parse_api_json(answer.body);
  if (const auto* const error = std::get_if<std::string>(&parsed))
    return give_up("the API server's answer cannot be read: " + *error);
  const Json::Array& pods = std::get<Json>(parsed)["items"].array();
  if (pods.empty()) return next();  // the pod no longer exists
  create(pods.front()["metadata"]["uid"].text());
}

void NodeEvents::create(const std::string& uid) {
  call_ = server_.client()->send(
      {.verb = ApiVerb::kCreate,
       .path = "/api/v1/namespaces/" +
               (draft_->subject.pod.empty() ? "default" : url_encoded(draft_->subject.pod_namespace)) +
               "/events",
       .body = [draft = *draft_,
                uid](const std::string& node) { return event_json(draft, uid, node).dump(); }},
      [this](const ApiAnswer& answer) {
        call_.reset();
        on_created(answer);
      });
}

void NodeEvents::on_created(const ApiAnswer& answer) {
  if (!answer.ok() && answer.code != ApiAnswer::kConflict) return on_refused(answer);
  if (!std::exchange(told_, "").empty()) log_.info("Kubernetes Events written again");
  if (const std::uint64_t dropped = queue_.take_dropped(); dropped > 0)
    log_.warn("Kubernetes Events dropped: too many waited to be written",
              {{"events", std::to_string(dropped)}});
  next();
}

void NodeEvents::on_refused(const ApiAnswer& answer) {
  if (is_final(answer.code))
    give_up(answer.error);
  else
    try_again(answer.error);
}

// Continues with the next Event, since only this one was refused.
void NodeEvents::give_up(const std::string& why) {
  if (std::exchange(told_, why) != why)
    log_.warn("a Kubernetes Event was refused", {{"object", name_of(draft_->subject)},
                                                 {"reason", std::string(word_of(draft_->reason))},
                                                 {"why", why}});
  next();
}

void NodeEvents::try_again(const std::string& why) {
  if (std::exchange(told_, why).empty())
    log_.warn("cannot write Kubernetes Events: retrying", {{"why", why}});
  due_.arm(again_.next());
}

void NodeEvents::next() {
  again_.reset();
  draft_.reset();
  go_on();
}

void NodeEvents::end() {
  call_.reset();
  due_.cancel();
  if (const auto done = std::exchange(finished_, nullptr)) done();
}

}  // namespace plughost
