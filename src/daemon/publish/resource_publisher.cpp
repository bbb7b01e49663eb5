#include "daemon/publish/resource_publisher.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "model/device/inventory.hpp"

namespace plughost {

const std::string& ResourceNames::claim(const std::string& resource, const std::string& entry) {
  Claim& claim = claims_.try_emplace(resource, Claim{.owner = entry, .refused = {}}).first->second;
  if (claim.owner != entry) claim.refused.insert(entry);
  return claim.owner;
}

void ResourceNames::release(const std::string& resource, const std::string& entry) {
  if (const auto found = claims_.find(resource); found != claims_.end()) release(found, entry);
}

void ResourceNames::release_all(const std::string& entry) {
  for (auto claim = claims_.begin(); claim != claims_.end();) claim = release(claim, entry);
  waiting_.erase(entry);
}

ResourceNames::Claims::iterator ResourceNames::release(Claims::iterator claim, const std::string& entry) {
  claim->second.refused.erase(entry);
  if (claim->second.owner != entry) return std::next(claim);
  waiting_.merge(claim->second.refused);
  return claims_.erase(claim);
}

std::set<std::string> ResourceNames::take_waiting() { return std::exchange(waiting_, {}); }

SharedIds shared_ids(std::span<const ListedIds> lists) {
  SharedIds shared;
  if (lists.size() < 2) return shared;
  std::unordered_map<std::string_view, const ListedIds*> owners;
  std::set<std::string_view> ids;
  for (const ListedIds& list : lists) {
    for (const Device& device : list.snapshot->inventory.devices()) {
      const auto [owner, is_first] = owners.try_emplace(device.id, &list);
      if (is_first || !ids.insert(device.id).second || *ids.begin() != device.id) continue;
      shared.first = device.id;
      shared.one = owner->second;
      shared.other = &list;
    }
  }
  shared.count = ids.size();
  return shared;
}

namespace {

void log_changes(Log& log, const std::string& resource, const std::vector<DeviceChange>& changes) {
  using enum DeviceChange::Kind;
  const auto count = [](const ChangedGroup& group) { return std::to_string(group.count); };
  if (const auto group = group_of(changes, kAppeared); group.count > 0)
    log.info("devices appeared", {{"resource", resource}, {"devices", group.names}, {"count", count(group)}});
  if (const auto group = group_of(changes, kGone); group.count > 0)
    log.warn("devices are gone", {{"resource", resource}, {"devices", group.names}, {"count", count(group)}});
  if (const auto group = group_of(changes, kUnhealthy); group.count > 0)
    log.warn("devices turned Unhealthy",
             {{"resource", resource}, {"devices", group.names}, {"count", count(group)}, {"why", group.why}});
  if (const auto group = group_of(changes, kHealthy); group.count > 0)
    log.info("devices are Healthy again",
             {{"resource", resource}, {"devices", group.names}, {"count", count(group)}});
  if (const auto group = group_of(changes, kForgotten); group.count > 0)
    log.info("devices forgotten",
             {{"resource", resource}, {"devices", group.names}, {"count", count(group)}});
}

void log_specification(Log& log, const std::string& resource, const std::string& before,
                       const std::string& now) {
  if (now == before) return;
  if (now.empty())
    log.info("CDI specification written", {{"resource", resource}});
  else
    log.error("cannot write the CDI specification: Allocate is refused",
              {{"resource", resource}, {"why", now}});
}

}  // namespace

ResourcePublisher::ResourcePublisher(const Context& context, const ResourceConfig& config,
                                     PublisherOwner& controller)
    : context_(context),
      config_(config),
      controller_(controller),
      retry_(context.platform.loop, [this] { controller_.on_incomplete(); }) {}

ResourcePublisher::~ResourcePublisher() {
  for (auto& [name, served] : served_) {
    served.resource.reset();
    if (served.owner.empty()) context_.owner.removed(name, entry_name());
  }
}

void ResourcePublisher::publish(Finding finding) {
  const bool names = finding.by_cdi && !finding.listings.empty();
  if (findings_.empty() && !names && finding.files.empty()) return go_out(finding, {});
  findings_.push_back(std::move(finding));
  if (findings_.size() == 1) specify_next();
}

void ResourcePublisher::specify_next() {
  const Finding& next = findings_.front();
  std::vector<ResourceSnapshot> snapshots;
  for (const DeviceTracker::Listing& listing : next.listings)
    if (claim(served_[listing.resource], listing.resource)) snapshots.push_back(snapshot_of(next, listing));
  context_.cdi.present().write(next.files, std::move(snapshots),
                               lifetime_.bound([this](const CdiWriter::Outcome& outcome) {
                                 const Finding specified = std::move(findings_.front());
                                 findings_.pop_front();
                                 go_out(specified, outcome);
                                 if (!findings_.empty()) specify_next();
                               }));
}

void ResourcePublisher::go_out(const Finding& finding, const CdiWriter::Outcome& specified) {
  for (const DeviceTracker::Listing& listing : finding.listings)
    go_out(listing, snapshot_of(finding, listing), specified.error_of(listing.resource));
  if (findings_.empty()) controller_.all_published();
  arm_retry();
  context_.owner.changed();
}

ResourceSnapshot ResourcePublisher::snapshot_of(const Finding& finding,
                                                const DeviceTracker::Listing& listing) const {
  return {.resource = listing.resource,
          .inventory = listing.now,
          .spec = finding.spec,
          .near = neighbours_,
          .given = given_,
          .joined = joined_,
          .ledger = context_.held.ledger(),
          .free = finding.spec->shares == SharesOf::kAny ? nullptr : free_};
}

void ResourcePublisher::go_out(const DeviceTracker::Listing& listing, ResourceSnapshot snapshot,
                               const std::string& cdi_error) {
  Served& served = served_[listing.resource];
  const bool ends = listing.now.empty() && !config_.spec->name.literal();
  if (!claim(served, listing.resource)) {
    if (ends) drop(listing.resource);
    return;
  }
  const std::string former_error = std::exchange(served.cdi_error, cdi_error);
  snapshot.stalls = stalls(served);
  const SharedSnapshot before = served.resource ? served.resource->snapshot() : nullptr;
  serve(served, std::move(snapshot));
  log_specification(context_.platform.log, listing.resource, former_error, served.cdi_error);
  // The size of the first list is logged when the resource has attached.
  const auto now = listing.now.devices();
  log_changes(context_.platform.log, listing.resource,
              before ? device_changes(listing.before.devices(), now) : device_changes_of_first(now));
  if (served.resource) context_.owner.published(*served.resource->snapshot());
  if (!ends) return;
  if (before && !before->inventory.empty()) context_.owner.emptied(*before);
  drop(listing.resource);
}

void ResourcePublisher::arm_retry() {
  const auto serves = [](const auto& item) { return item.second.resource || !item.second.owner.empty(); };
  const auto specified = [](const auto& item) { return item.second.cdi_error.empty(); };
  if (!std::ranges::all_of(served_, serves)) return retry_.arm(serve_again_.next());
  serve_again_.reset();
  if (std::ranges::all_of(served_, specified))
    retry_.cancel();
  else
    retry_.arm(kCdiRetry);
}

bool ResourcePublisher::claim(Served& served, const std::string& name) {
  std::string owner = context_.owner.claim(name, entry_name());
  if (owner == served.owner) return owner.empty();
  served.owner = std::move(owner);
  if (served.owner.empty()) return true;
  controller_.record_error(name + ": " + served.owner);
  context_.platform.log.error(
      "two entries name the same resource: the first one serves it",
      {{"resource", name}, {"entry", entry_name()}, {"at", config_.where}, {"other", served.owner}});
  return false;
}

void ResourcePublisher::serve(Served& served, ResourceSnapshot snapshot) {
  if (served.resource) return served.resource->publish(std::move(snapshot));
  const std::string name = snapshot.resource;
  try {
    served.resource =
        std::make_unique<Resource>(context_.platform, context_.link, context_.assuming, std::move(snapshot),
                                   std::max(context_.owner.not_before(name), context_.link.not_before()),
                                   [this] { context_.owner.changed(); });
    served.serve_error.clear();
  } catch (const std::runtime_error& exception) {
    if (std::exchange(served.serve_error, exception.what()) == exception.what()) return;
    context_.platform.log.error("cannot serve the resource", {{"resource", name}, {"why", exception.what()}});
  }
}

void ResourcePublisher::drop(const std::string& name) {
  const bool was_served = served_.at(name).owner.empty();
  served_.erase(name);
  controller_.dropped(name);
  context_.owner.removed(name, entry_name());
  if (was_served) context_.platform.log.info("resource removed with its last device", {{"resource", name}});
}

void ResourcePublisher::set_stalls(std::vector<Stall> stalls) {
  if (stalls == stalls_) return;
  stalls_ = std::move(stalls);
  republish();
}

void ResourcePublisher::set_neighbours(Neighbours neighbours) {
  if (neighbours == neighbours_) return;
  neighbours_ = std::move(neighbours);
  republish();
}

void ResourcePublisher::set_joined(std::shared_ptr<GivenCards> joined) {
  if (joined == joined_) return;
  joined_ = std::move(joined);
  republish();
}

std::vector<Stall> ResourcePublisher::stalls(const Served& served) const {
  std::vector<Stall> all = stalls_;
  if (!served.cdi_error.empty()) all.push_back({.terms = nullptr, .why = served.cdi_error});
  return all;
}

void ResourcePublisher::republish() {
  for (auto& [name, served] : served_) {
    if (!served.resource) continue;
    ResourceSnapshot snapshot = *served.resource->snapshot();
    snapshot.near = neighbours_;
    snapshot.joined = joined_;
    snapshot.stalls = stalls(served);
    served.resource->publish(std::move(snapshot));
  }
}

}  // namespace plughost
