#include "driver/dra_driver.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "device/id.hpp"
#include "dra/held_devices.hpp"
#include "dra/names.hpp"
#include "dra/preparation.hpp"
#include "dra/slice_json.hpp"

namespace plughost {

DraDriver::DraDriver(Platform& platform, Options options, Hooks hooks)
    : platform_(platform),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      first_look_(platform.loop, [this] { publish(); }),
      open_again_(platform.loop, [this] { open(); }),
      publisher_(platform.loop, platform.log, platform.api_server, platform.node_watch,
                 {.known =
                      [this] {
                        preparer_.on_lists();
                        publish();
                        hooks_.changed();
                      },
                  .changed = [this] { hooks_.changed(); }}),
      preparer_(platform.loop, platform.programs, platform.api_server, platform.log, options_.driver,
                {.pools = [this] { return offer_pools(); },
                 .version = [this] { return publisher_.state().version; },
                 .unserved = [this] { publisher_.doubt_version(); },
                 .cdi = hooks_.cdi,
                 .changed = [this] { on_claims(); }}),
      leftovers_(platform.loop, platform.workers, platform.api_server, options_.driver,
                 options_.plugins_registry.parent_path() / kKubeletClaimsName,
                 {.claims = [this] { return preparer_.idle(); },
                  .version = [this] { return publisher_.state().version; },
                  .clear = [this](const ClaimRef& claim) { preparer_.clear(claim); }}) {
  first_look_.arm(kFirstLook);
  publisher_.use(options_.driver);
  open();
}

DraDriver::~DraDriver() = default;

void DraDriver::open() {
  try {
    DraOwner& owner = *this;
    endpoint_ = std::make_unique<DraEndpoint>(
        DraEndpoint::Parts{platform_.loop, platform_.workers, platform_.directories, platform_.descriptors},
        owner, options_.driver, options_.plugins_registry);
    pause_.reset();
    tell_health();
  } catch (const std::runtime_error& error) {
    on_endpoint_trouble(error.what());
    open_again_.arm(pause_.next());
  }
}

void DraDriver::follow(std::vector<Subject> subjects) {
  subjects_ = std::move(subjects);
  followed_ = true;
  std::map<std::string, std::set<std::string>> resources;
  for (const Subject& subject : subjects_) {
    std::set<std::string>& of_entry = resources[subject.entry];
    if (!subject.settled) of_entry = std::move(resources_[subject.entry]);
    for (const auto& offer : subject.offers) of_entry.insert(offer->resource);
  }
  resources_ = std::move(resources);
  publish();
  preparer_.on_lists();
}

void DraDriver::on_kubelet(bool present) {
  if (!present) note_registered(false);
}

void DraDriver::leave_to_successor() {
  if (endpoint_) endpoint_->leave_to_successor();
}

bool DraDriver::idle() const {
  return preparer_.loaded() && claims_.empty() && publisher_.state().nothing_left;
}

void DraDriver::on_claims() {
  claims_ = preparer_.claims();
  leftovers_.changed();
  publish();
  hooks_.claimed();
  hooks_.changed();
}

// Slices.

bool DraDriver::is_decided(std::set<std::string>& undecided) const {
  const bool look_is_over = EventLoop::Clock::now() >= began_ + kFirstLook;
  for (const Subject& subject : subjects_) {
    if (subject.settled) continue;
    std::set<std::string> expected = resources_.at(subject.entry);
    if (!subject.resource.empty()) expected.insert(subject.resource);
    if (expected.empty() && !look_is_over) return false;
    for (const auto& offer : subject.offers) expected.erase(offer->resource);
    for (const std::string& resource : expected) undecided.insert(pool_of_resource(resource));
  }
  return true;
}

void DraDriver::publish() {
  const std::optional<DraFeatures>& features = publisher_.features();
  if (!followed_ || !preparer_.loaded() || publisher_.node().empty() || !features) return;
  std::set<std::string> undecided;
  if (!is_decided(undecided)) return;
  std::map<std::string, DeviceNames> held = held_devices(claims_);
  std::map<std::string, Pool> pools;
  std::set<std::string> resources;
  for (const Subject& subject : subjects_) {
    for (const auto& offer : subject.offers) {
      resources.insert(offer->resource);
      const std::string name = pool_of_resource(offer->resource);
      const auto its = held.find(name);
      const DeviceNames none;
      Pool pool = pool_of(offer, its == held.end() ? none : its->second);
      if (its != held.end()) {
        add_held(pool, its->second, *features);
        held.erase(its);
      }
      pools.emplace(offer->resource, std::move(pool));
    }
  }
  std::erase_if(made_, [&](const auto& item) { return !resources.contains(item.first); });
  std::erase_if(remarks_, [&](const auto& item) { return !resources.contains(item.first); });
  for (const auto& [name, devices] : held) {
    const bool ours = name.starts_with(publisher_.node() + '/');
    if (!ours || undecided.contains(name)) continue;
    Pool left{.name = name, .devices = {}, .counters = {}};
    add_held(left, devices, *features);
    pools.emplace(name, std::move(left));
  }
  publisher_.publish(std::move(pools), std::move(undecided));
  tell_health();
}

const Pool& DraDriver::pool_of(const std::shared_ptr<const Offer>& offer, const DeviceNames& held) {
  const DraFeatures& features = *publisher_.features();
  UncountedReplicas uncounted = replicas_uncounted(*offer, claims_, features.sharing);
  const auto known = made_.find(offer->resource);
  // An offer is another after each look, and most say the same.
  if (known != made_.end() && known->second.offer->recipe == offer->recipe &&
      known->second.offer->inventory == offer->inventory && known->second.features == features &&
      known->second.held == held && known->second.uncounted == uncounted) {
    known->second.offer = offer;
    return known->second.pool;
  }
  AdvertisedPool advertised = advertised_pool(*offer, publisher_.node(), features, held, uncounted);
  std::vector<std::string>& told = remarks_[offer->resource];
  for (const std::string& remark : advertised.remarks) {
    if (std::ranges::find(told, remark) == told.end())
      platform_.log.warn("a device's pool says less than its entry",
                         {{"resource", offer->resource}, {"why", remark}});
  }
  told = std::move(advertised.remarks);
  Made& made = made_[offer->resource];
  // Who has the former one would have another in memory that says the same.
  Pool pool = made.pool == advertised.pool ? std::move(made.pool) : std::move(advertised.pool);
  made = {.offer = offer,
          .features = features,
          .held = held,
          .uncounted = std::move(uncounted),
          .pool = std::move(pool)};
  return made.pool;
}

std::string DraDriver::pool_of_resource(const std::string& resource) const {
  return pool_name(publisher_.node(), resource);
}

// The kubelet asks for what pods hold; of the others it takes no notice.
void DraDriver::tell_health() {
  if (!endpoint_) return;
  std::vector<PoolHealth> all;
  std::map<std::string, DeviceNames> left = held_devices(claims_);
  for (const auto& item : made_) {
    const Made& made = item.second;
    DeviceNames names;
    for (const PoolDevice& device : made.pool.devices) names.insert(device.name);
    PoolHealth& health = all.emplace_back(PoolHealth{.pool = made.pool.name, .devices = {}});
    health.devices.reserve(names.size());
    const auto tell = [&, &its_left = left[made.pool.name]](const Device& device, const std::string& name,
                                                            bool healthy) {
      if (!names.contains(name)) return;
      its_left.erase(name);
      health.devices.push_back(
          {.device = name, .healthy = healthy, .message = healthy ? "" : device.reason()});
    };
    for (const Device& device : made.offer->inventory.devices()) {
      if (made.features.sharing || device.replicas == 1)
        tell(device, device_label(device.id), device.trouble.empty());
      if (made.features.sharing) continue;
      for (unsigned n = 0; n < device.replicas; ++n)
        tell(device, device_label(replica_id(device, n)), device.healthy_share(n));
    }
  }
  for (const auto& [pool, devices] : left) {
    if (devices.empty()) continue;
    PoolHealth& health = all.emplace_back(PoolHealth{.pool = pool, .devices = {}});
    for (const std::string& device : devices)
      health.devices.push_back({.device = device,
                                .healthy = false,
                                .message = "no entry of the configuration offers it any more"});
  }
  endpoint_->set_health(std::move(all));
}

// Claims.

OfferPools DraDriver::offer_pools() const {
  OfferPools pools;
  if (publisher_.node().empty()) return pools;
  for (const Subject& subject : subjects_)
    for (const auto& offer : subject.offers) pools.emplace(pool_of_resource(offer->resource), offer);
  return pools;
}

void DraDriver::prepare(std::vector<ClaimRef> claims, PrepareDone done) {
  preparer_.prepare(claims, [this, done = std::move(done)](Prepared outcomes) {
    for (const auto& [uid, outcome] : outcomes)
      ++(std::holds_alternative<std::string>(outcome) ? tally_.prepare_refused : tally_.prepared);
    done(std::move(outcomes));
    hooks_.changed();
  });
}

void DraDriver::unprepare(std::vector<ClaimRef> claims, UnprepareDone done) {
  preparer_.unprepare(claims, [this, done = std::move(done)](Unprepared outcomes) {
    for (const auto& [uid, trouble] : outcomes)
      ++(trouble.empty() ? tally_.unprepared : tally_.unprepare_refused);
    done(std::move(outcomes));
    hooks_.changed();
  });
}

// The kubelet.

void DraDriver::on_registered() {
  note_registered(true);
  trouble_.clear();
  platform_.log.info("a kubelet has registered the DRA driver", {{"driver", options_.driver}});
  hooks_.changed();
}

void DraDriver::on_registration_refused(const std::string& why) {
  note_registered(false);
  trouble_ = "the kubelet refuses the driver: " + why;
  platform_.log.warn("the kubelet refuses the DRA driver", {{"driver", options_.driver}, {"why", why}});
  hooks_.changed();
}

// Whoever reads knows us; a kubelet that has gone reads no more. Older ones never read.
void DraDriver::on_health_readers(std::size_t count) {
  if (count > 0 || had_readers_) note_registered(count > 0);
  had_readers_ = count > 0;
}

void DraDriver::on_endpoint_trouble(const std::string& what) {
  trouble_ = what;
  platform_.log.warn(what, {{"driver", options_.driver}});
  hooks_.changed();
}

void DraDriver::note_registered(bool registered) {
  if (registered == registered_since_.has_value()) return;
  registered_since_.reset();
  if (registered) registered_since_ = std::chrono::system_clock::now();
  hooks_.changed();
}

// What is told of it.

DriverStatus DraDriver::status() const {
  const SlicesState slices = publisher_.state();
  DriverStatus told{.name = options_.driver,
                    .registered_since = registered_since_,
                    .trouble = trouble_,
                    .api_version = slices.version,
                    .features = publisher_.features(),
                    .claims = claims_,
                    .tally = tally_,
                    .slice_writes = slices.writes};
  if (!slices.trouble.empty()) told.trouble += (told.trouble.empty() ? "" : "; ") + slices.trouble;
  return told;
}

namespace {

// What is said of devices, by their names in the pool, of the devices that these are.
std::map<std::string, std::string> by_id(const std::map<std::string, std::string>& by_name,
                                         const Inventory& inventory) {
  std::map<std::string, std::string> said;
  if (by_name.empty()) return said;
  for (const Device& device : inventory.devices()) {
    auto found = by_name.find(device_label(device.id));
    for (unsigned n = 0; n < device.replicas && found == by_name.end(); ++n)
      found = by_name.find(device_label(replica_id(device, n)));
    if (found != by_name.end()) said.emplace(device.id, found->second);
  }
  return said;
}

}  // namespace

void DraDriver::tell(PoolStatus& pool, const SlicesState& slices) const {
  if (!publisher_.node().empty()) pool.pool = pool_of_resource(pool.offer->resource);
  for (const PublishedPool& each : slices.pools) {
    if (each.pool != pool.pool) continue;
    pool.published = each.published;
    pool.published_at = each.at;
    pool.slices = each.slices;
    pool.generation = each.generation;
    if (!each.trouble.empty()) pool.trouble = each.trouble;
  }
  if (!pool.published && pool.trouble.empty()) pool.trouble = slices.trouble;
  const auto made = made_.find(pool.offer->resource);
  if (made == made_.end()) return;
  std::map<std::string, std::string> taints;
  for (const PoolDevice& device : made->second.pool.devices) {
    if (!device.taints.empty()) taints[device.name] = taint_text(device.taints.front());
  }
  pool.taints = by_id(taints, pool.offer->inventory);
}

}  // namespace plughost
