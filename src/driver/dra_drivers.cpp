#include "driver/dra_drivers.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "kubelet/dra_endpoint.hpp"

namespace plughost {
namespace {

// What the entry lists, and has not seen now, because it is in containers.
DraDrivers::Seen away_of(const DraDrivers::Lists& entry, const DraDrivers::Seen& seen) {
  DraDrivers::Seen away;
  for (const auto& [resource, list] : entry.by_resource) {
    const auto here = seen.find(resource);
    for (const Device& device : list.devices()) {
      const bool is_seen =
          here != seen.end() && std::ranges::find(here->second, device.id, &Device::id) != here->second.end();
      if (device.away && !is_seen) away[resource].push_back(device);
    }
  }
  return away;
}

}  // namespace

DraDrivers::DraDrivers(Platform& platform, Hooks hooks)
    : platform_(platform),
      hooks_(std::move(hooks)),
      zero_counts_(platform.loop, platform.log, platform.api_server, platform.node_watch),
      look_(platform.loop, [this] { look(); }) {
  hooks_.cdi().read_claims(lifetime_.bound([this](const ClaimFiles& files) { on_files(files); }));
}

void DraDrivers::use(Options options) {
  options_ = std::move(options);
  const auto is_of_another_kubelet = [&](const auto& driver) {
    return driver && driver->options().plugins_registry != options_.plugins_registry;
  };
  if (is_of_another_kubelet(driver_)) driver_.reset();  // which asks for its own claims
  std::erase_if(leaving_, is_of_another_kubelet);
  if (driver_ && driver_->options().driver != options_.driver)
    leaving_.push_back(std::exchange(driver_, nullptr));
  if (!driver_ && !options_.driver.empty()) {
    const auto left = std::ranges::find_if(
        leaving_, [&](const auto& driver) { return driver->options().driver == options_.driver; });
    if (left != leaving_.end()) {
      driver_ = std::move(*left);
      leaving_.erase(left);
    } else {
      driver_ = make(options_.driver);
    }
  }
  tell_offers();
}

std::unique_ptr<DraDriver> DraDrivers::make(const std::string& name) {
  return std::make_unique<DraDriver>(
      platform_, DraDriver::Options{.driver = name, .plugins_registry = options_.plugins_registry},
      DraDriver::Hooks{.cdi = hooks_.cdi,
                       .claimed = [this] { on_lists(); },
                       .changed =
                           [this] {
                             if (!leaving_.empty()) on_lists();
                             hooks_.changed();
                           }});
}

void DraDrivers::on_files(const ClaimFiles& files) {
  left_known_ = true;
  if (ending_) return;
  std::set<std::string> names;
  for (const ClaimFiles::File& file : files.files) names.insert(file.driver);
  names.erase("");
  if (driver_) names.erase(driver_->options().driver);
  for (const std::string& name : names) {
    leaving_.push_back(make(name));
    platform_.log.info("claims of a DRA driver are left that no entry has any more: it stays for them",
                       {{"driver", name}});
  }
  if (none()) DraEndpoint::remove_left(platform_.descriptors);
  tell_offers();
  hooks_.loaded();
}

void DraDrivers::on_lists() {
  if (!ending_ && !none() && !look_.armed()) look_.arm({});
}

void DraDrivers::look() {
  std::vector<std::string> ended;
  std::erase_if(leaving_, [&](const auto& driver) {
    const bool over =
        driver->loaded() && driver->claims().empty() && (driver->idle() || !options_.api_server);
    if (over) ended.push_back(driver->options().driver);
    return over;
  });
  for (const std::string& name : ended)
    platform_.log.info("the DRA driver has ended: no entry has it, and no claim needs it any more",
                       {{"driver", name}});
  occupied({}, {});
  hooks_.occupied();
  tell_offers();
}

void DraDrivers::tell_offers() {
  if (ending_) return;
  for (const auto& driver : leaving_) driver->follow({});
  std::vector<DraDriver::Subject> subjects = hooks_.subjects();
  std::set<std::string> pooled;
  for (const DraDriver::Subject& subject : subjects)
    for (const auto& offer : subject.offers) pooled.insert(offer->resource);
  zero_counts_.follow(std::move(pooled));
  if (driver_) driver_->follow(std::move(subjects));
}

void DraDrivers::on_kubelet(bool present) {
  for_each([&](DraDriver& driver) { driver.on_kubelet(present); });
}

void DraDrivers::on_other_cdi() {
  for_each([](DraDriver& driver) { driver.on_other_cdi(); });
}

void DraDrivers::leave_to_successor() {
  ending_ = true;
  look_.cancel();
  for_each([](DraDriver& driver) { driver.leave_to_successor(); });
}

// Claims.

bool DraDrivers::loaded() const {
  bool all = left_known_;
  for_each([&](const DraDriver& driver) { all = all && driver.loaded(); });
  return all;
}

std::vector<PreparedClaim> DraDrivers::left_claims() const {
  std::vector<PreparedClaim> claims;
  for (const auto& driver : leaving_)
    claims.insert(claims.end(), driver->claims().begin(), driver->claims().end());
  return claims;
}

std::vector<const PreparedClaim*> DraDrivers::claims() const {
  std::vector<const PreparedClaim*> claims;
  const auto add = [&](const DraDriver& driver) {
    for (const PreparedClaim& claim : driver.claims()) claims.push_back(&claim);
  };
  for (const auto& driver : leaving_) add(*driver);
  if (driver_) add(*driver_);
  return claims;
}

std::optional<std::set<std::string>> DraDrivers::claimed_names() const {
  if (!loaded()) return std::nullopt;
  std::set<std::string> names;
  for_each([&](const DraDriver& driver) {
    for (const PreparedClaim& claim : driver.claims()) {
      for (const ClaimedDevice& device : claim.devices) {
        if (!device.cdi.empty()) names.insert(device.cdi.front());
      }
    }
  });
  return names;
}

const OccupiedDevices& DraDrivers::occupied() {
  if (none()) occupied_ = {};
  return occupied_;
}

const OccupiedDevices& DraDrivers::occupied(const std::string& entry, const Seen& seen) {
  if (none()) return occupied();
  const std::vector<Lists> entries = hooks_.lists();
  std::vector<DeviceLedger::List> lists;
  Seen away;  // of this entry
  for (const Lists& each : entries) {
    const auto add = [&](const std::string& resource, std::span<const Device> devices) {
      lists.push_back({.resource = resource, .dra = each.dra, .where = each.where, .devices = devices});
    };
    if (each.entry == entry) {
      for (const auto& [resource, devices] : seen) add(resource, devices);
      away = away_of(each, seen);
      for (const auto& [resource, devices] : away) add(resource, devices);
    } else {
      for (const auto& [resource, list] : each.by_resource) add(resource, list.devices());
    }
  }
  const std::span<const PreparedClaim> ours = driver_ ? driver_->claims() : std::span<const PreparedClaim>();
  OccupiedDevices now = ledger_.look(lists, ours, left_claims());
  if (now != occupied_) on_lists();
  occupied_ = std::move(now);
  return occupied_;
}

// What is told of them.

SlicesState DraDrivers::slices() const {
  return driver_ ? driver_->slices() : SlicesState();
}

void DraDrivers::tell(PoolStatus& pool, const SlicesState& slices) const {
  if (driver_) driver_->tell(pool, slices);
}

std::vector<DriverStatus> DraDrivers::status() const {
  std::vector<DriverStatus> told;
  if (driver_) told.push_back(driver_->status());
  for (const auto& driver : leaving_) told.emplace_back(driver->status()).leaving = true;
  return told;
}

}  // namespace plughost
