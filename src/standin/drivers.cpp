#include "standin/drivers.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "standin/protocol_text.hpp"

namespace plughost {

namespace {

constexpr std::chrono::seconds kClaimsTimeout{45};
// The kubelet is told of a connection's end; here it is looked for.
constexpr std::chrono::milliseconds kConnectionsLook{20};

// What the kubelet makes of an answer: the first thing that is wrong with it; empty: nothing.
// [prepareResources, unprepareResources]
std::string objection_to_answer(const std::string& call, const std::vector<ClaimRef>& asked,
                                const CallEnd& end, const PluginClient::Outcomes& outcomes) {
  if (!end.ok()) return call + ": " + rpc_error(end);
  std::map<std::string, std::string> names;
  for (const ClaimRef& claim : asked) names.emplace(claim.uid, claim.name);
  for (const auto& [uid, outcome] : outcomes) {
    const auto name = names.find(uid);
    if (name == names.end()) return call + " returned result for unknown claim UID " + uid;
    if (const auto* error = std::get_if<std::string>(&outcome))
      return call + " failed for ResourceClaim " + name->second + ": " + *error;
  }
  if (outcomes.size() < names.size())
    return call + " skipped " + std::to_string(names.size() - outcomes.size()) + " ResourceClaims";
  return {};
}

std::string not_registered(const std::string& driver) {
  return "DRA driver " + driver + " is not registered";
}

}  // namespace

Drivers::Drivers(EventLoop& loop, SharedState& state, Options options, Actions actions)
    : loop_(loop), state_(state), options_(options), actions_(std::move(actions)), connections_(loop, [this] {
        look_at_connections();
      }) {}

template <typename Change>
void Drivers::change(const std::string& driver, Change change) {
  state_.change([&](KubeletState& state) { change(state.drivers[driver]); });
}

std::string Drivers::objection(const PluginInfo& info) const {
  const bool spoken = std::ranges::any_of(info.versions, [this](const std::string& version) {
    return version == kOlderDraService || (options_.newer && version == kNewerDraService);
  });
  if (spoken) return {};
  const std::string why = "invalid supported gRPC versions of DRA driver plugin " + info.name +
                          " at endpoint " + info.endpoint +
                          ": none of services supported by the plugin are " + "supported by the kubelet";
  state_.change([&](KubeletState& state) { state.drivers[info.name].refusals.push_back(why); });
  return why;
}

std::string Drivers::add(const PluginInfo& info) {
  std::vector<EndpointPointer>& of_driver = endpoints_[info.name];
  for (const EndpointPointer& other : of_driver) {
    if (other->path != info.endpoint) continue;
    std::string why = "endpoint " + info.endpoint + " already registered for DRA driver plugin " + info.name;
    change(info.name, [&](DriverState& state) { state.refusals.push_back(why); });
    return why;
  }
  // The driver's order decides.
  const auto service = std::ranges::find_if(info.versions, [this](const std::string& version) {
    return version == kOlderDraService || (options_.newer && version == kNewerDraService);
  });
  const auto endpoint = std::make_shared<Endpoint>(
      Endpoint{info.name, info.endpoint, *service, actions_.make_client(info.endpoint), nullptr, nullptr});
  of_driver.push_back(endpoint);
  endpoint->client->connected();
  change(info.name, [&](DriverState& state) {
    ++state.registrations;
    state.versions = info.versions;
  });
  show(info.name);
  actions_.tell(
      {.type = KubeletEvent::Type::kDriverRegistered, .resource = info.name, .text = info.endpoint});
  // Unasked: whether the driver's registration names it or not.
  if (options_.newer) read_health(endpoint);
  if (!connections_.armed()) connections_.arm(kConnectionsLook);
  return {};
}

void Drivers::remove(const std::string& driver, const std::string& path) {
  std::vector<EndpointPointer>& of_driver = endpoints_[driver];
  const auto found =
      std::ranges::find_if(of_driver, [&](const EndpointPointer& other) { return other->path == path; });
  if (found == of_driver.end()) return;
  const EndpointPointer endpoint = *found;
  of_driver.erase(found);
  endpoint->retry.reset();
  endpoint->client->close();
  show(driver);
  actions_.tell({.type = KubeletEvent::Type::kDriverGone, .resource = driver, .text = path});
}

Drivers::EndpointPointer Drivers::newest(const std::string& driver) const {
  const auto found = endpoints_.find(driver);
  if (found == endpoints_.end() || found->second.empty()) return nullptr;
  const auto connected = std::find_if(found->second.rbegin(), found->second.rend(),
                                      [](const EndpointPointer& one) { return one->client->connected(); });
  return connected == found->second.rend() ? found->second.back() : *connected;
}

void Drivers::prepare(const std::string& driver, const std::vector<ClaimRef>& claims, const Done& done) {
  const EndpointPointer endpoint = newest(driver);
  if (!endpoint) return done({not_registered(driver), {}});
  endpoint->client->prepare(
      endpoint->service, claims, kClaimsTimeout,
      lifetime_.bound(
          [this, driver, claims, done](const CallEnd& end, const PluginClient::Outcomes& outcomes) {
            const ClaimsAnswer answer{objection_to_answer("NodePrepareResources", claims, end, outcomes),
                                      outcomes};
            state_.change([&](KubeletState& state) {
              for (const ClaimRef& claim : claims) {
                RememberedClaim& remembered = state.claims[claim.uid];
                remembered.ref = claim;
                remembered.driver = driver;
                if (!answer.error.empty()) continue;
                remembered.prepared = true;
                const auto& devices = std::get<std::vector<PreparedDevice>>(outcomes.at(claim.uid));
                remembered.devices.insert(remembered.devices.end(), devices.begin(), devices.end());
              }
            });
            done(answer);
          }));
}

void Drivers::unprepare(const std::string& driver, const std::vector<ClaimRef>& claims, const Done& done) {
  const EndpointPointer endpoint = newest(driver);
  if (!endpoint) return done({not_registered(driver), {}});
  endpoint->client->unprepare(
      endpoint->service, claims, kClaimsTimeout,
      lifetime_.bound([this, claims, done](const CallEnd& end, const PluginClient::Outcomes& outcomes) {
        const ClaimsAnswer answer{objection_to_answer("NodeUnprepareResources", claims, end, outcomes),
                                  outcomes};
        if (answer.error.empty())
          state_.change([&](KubeletState& state) {
            for (const ClaimRef& claim : claims) state.claims.erase(claim.uid);
          });
        done(answer);
      }));
}

// [HandleWatchResourcesStream]
void Drivers::read_health(const EndpointPointer& endpoint) {
  const std::string driver = endpoint->driver;
  change(driver, [](DriverState& state) {
    ++state.health_streams;
    ++state.health_streams_ever;
  });
  endpoint->health = endpoint->client->read_health(
      lifetime_.bound([this, driver](const std::vector<ToldHealth>& devices) { on_health(driver, devices); }),
      lifetime_.bound([this, endpoint](const CallEnd& end) {
        endpoint->health.reset();
        // Whatever another stream has told.
        change(endpoint->driver, [](DriverState& state) {
          --state.health_streams;
          state.health.clear();
        });
        actions_.tell({.type = KubeletEvent::Type::kDriverHealthEnded,
                       .resource = endpoint->driver,
                       .text = end.ok() ? "EOF" : rpc_error(end)});
        const auto& alive = endpoints_[endpoint->driver];
        if (std::ranges::find(alive, endpoint) == alive.end()) return;
        endpoint->retry = std::make_unique<Timer>(loop_, [this, weak = std::weak_ptr(endpoint)] {
          if (const EndpointPointer again = weak.lock()) read_health(again);
        });
        endpoint->retry->arm(options_.health_retry);
      }));
}

void Drivers::on_health(const std::string& driver, const std::vector<ToldHealth>& devices) {
  std::size_t healthy = 0;
  change(driver, [&](DriverState& state) {
    ++state.health_lists;
    for (const ToldHealth& device : devices) {
      state.health[{device.pool, device.device}] = device.health;
      healthy += device.health.healthy ? 1 : 0;
    }
  });
  actions_.tell({.type = KubeletEvent::Type::kDriverHealth,
                 .resource = driver,
                 .text = "",
                 .devices = devices.size(),
                 .healthy = healthy});
}

void Drivers::look_at_connections() {
  for (const auto& [driver, of_driver] : endpoints_) show(driver);
  connections_.arm(kConnectionsLook);
}

void Drivers::show(const std::string& driver) {
  std::vector<DriverState::Endpoint> endpoints;
  for (const EndpointPointer& endpoint : endpoints_[driver])
    endpoints.push_back({endpoint->path, endpoint->service, endpoint->client->connected()});
  change(driver, [&](DriverState& state) { state.endpoints = std::move(endpoints); });
}

}  // namespace plughost
