#include "supervisor/entry.hpp"

#include <algorithm>

namespace plughost {
namespace {

const std::string& stall_text() {
  static const std::string kText = "a look at its devices has not ended within " +
                                   std::to_string(Scanner::kDeadline.count()) +
                                   " s: a driver or a file system hangs";
  return kText;
}

}  // namespace

Entry::Entry(Platform& platform, KubeletLink& link, ResourceConfig config, Hooks hooks)
    : platform_(platform),
      link_(link),
      config_(std::move(config)),
      hooks_(std::move(hooks)),
      checks_(platform.programs, platform.log, [this] { hint(); }),
      adopting_(platform, link, [this] { on_other_terms(); }),
      retry_(platform.loop, [this] { hint(); }),
      scanner_(make_scanner({})) {}

Entry::~Entry() {
  for (auto& [name, served] : served_) {
    served.resource.reset();
    if (served.owner.empty()) hooks_.removed(name);
  }
}

void Entry::update(ResourceConfig config) {
  const ScanSchedule former = scanner_->schedule();
  scanner_.reset();
  adopting_.on_reload(roster_.lists());
  config_ = std::move(config);
  unmatched_.clear();
  scanner_ = make_scanner(former);
}

std::unique_ptr<Scanner> Entry::make_scanner(ScanSchedule former) {
  return std::make_unique<Scanner>(
      platform_, config_,
      Scanner::Hooks{[this] { return roster_.lists(); },
                     [this](const auto& then) {
                       const Recipe& recipe = *config_.recipe;
                       adopting_.prepare(!recipe.name.literal() || recipe.rename_shared, then);
                     },
                     [this](Scanner::Found& found) { return on_found(found); },
                     [this](const std::string& why) { on_failed(why); }, [this] { on_stalled(); }},
      former);
}

void Entry::on_kubelet() {
  adopting_.on_kubelet();
  for_each_resource([](Resource& resource) { resource.on_kubelet(); });
}

void Entry::on_sockets() {
  for_each_resource([](Resource& resource) { resource.on_sockets(); });
}

void Entry::specify_anew() {
  std::vector<Roster::Listing> listings;
  for (const auto& [resource, list] : roster_.lists()) listings.push_back({resource, list, list});
  specify({.recipe = config_.recipe, .files = {}, .listings = std::move(listings)});
  hint();
}

void Entry::forgive(const Drains::Name& name) {
  const Inventory& listed = roster_.listed(name.resource);
  if (const Device* const device = device_of_id(listed.devices(), name.device)) scanner_->forgive(*device);
}

// Without a look at the machine: a driver that hangs is a reason to drain.
void Entry::on_other_terms() {
  std::vector<Roster::Listing> listings = roster_.take(hooks_.drains(), adopting_.devices());
  if (!listings.empty())
    specify({.recipe = config_.recipe, .files = {}, .listings = std::move(listings)});
  else if (findings_.empty())
    adopting_.tell();
}

void Entry::set_neighbours(Neighbours neighbours) {
  if (neighbours == neighbours_) return;
  neighbours_ = std::move(neighbours);
  offer_anew();
}

void Entry::set_joined(std::shared_ptr<GivenCards> joined) {
  if (joined == joined_) return;
  joined_ = std::move(joined);
  offer_anew();
}

EntryStatus Entry::status() const {
  return {.name = config_.recipe->name.text(),
          .where = config_.where,
          .unmatched = {unmatched_.begin(), unmatched_.end()},
          .scans_completed = scans_completed_,
          .scans_failed = scans_failed_,
          .stalled = scanner_->schedule().stalled(),
          .required = config_.recipe->required,
          .trouble = last_trouble_,
          .trouble_at = last_trouble_at_};
}

// What the scanner tells.

Entry::Clock::time_point Entry::on_found(Scanner::Found& found) {
  on_recovered();
  ++scans_completed_;
  scan_trouble_.clear();
  Finding finding{.recipe = config_.recipe, .files = std::move(found.scan.cdi), .listings = {}};
  if (!found.scan.undecided) {
    // What is listed already has to be listed on.
    const bool waits = !found.scan.not_yet.empty() && served_.empty();
    if (waits)
      found.scan.remarks.push_back("nothing is offered yet: " + found.scan.not_yet);
    else {
      adopting_.take(std::move(found.adoptions));
      finding.listings = take(std::move(found.assembly.resources));
    }
    if (roster_.crowded())
      found.scan.remarks.push_back("the name " + config_.recipe->name.text() + " has given " +
                                   std::to_string(kMostResources) +
                                   " resources that are not forgotten yet: further ones wait; name the "
                                   "resources by something coarser");
    remark(found.scan.remarks, found.assembly.remarks);
    tell_unmatched(found.scan.unmatched, found.assembly.unmatched);
  }
  specify(std::move(finding));
  return roster_.next_change();
}

void Entry::on_failed(const std::string& why) {
  on_recovered();
  ++scans_failed_;
  note("cannot look for devices: " + why);
  if (std::exchange(scan_trouble_, why) == why) return;
  platform_.log.error("cannot look for devices: the list stands as it was",
                      {{"entry", config_.recipe->name.text()}, {"why", why}, {"at", config_.where}});
}

void Entry::on_stalled() {
  stall_told_ = true;
  note(stall_text());
  offer_anew();
  platform_.log.error("looking for devices takes too long: the list stands as it was",
                      {{"entry", config_.recipe->name.text()},
                       {"seconds", std::to_string(Scanner::kDeadline.count())},
                       {"at", config_.where}});
}

void Entry::on_recovered() {
  if (!std::exchange(stall_told_, false)) return;
  offer_anew();
  platform_.log.info("looking for devices came to an end after all",
                     {{"entry", config_.recipe->name.text()}});
}

std::vector<Roster::Listing> Entry::take(std::map<std::string, std::vector<Device>> resources) {
  checks_.follow(*config_.recipe, resources);
  std::map<std::string, Roster::Seen> seen;
  for (auto& resource : resources) {
    const std::string& name = resource.first;
    checks_.apply(name, roster_.listed(name).devices(), resource.second);
    seen[name] = {.devices = std::move(resource.second), .waits_until = checks_.waits_until(name)};
  }
  for (const auto& [name, served] : served_) {
    if (!seen.contains(name) && served.resource && served.resource->has_given()) roster_.note_held(name);
  }
  const Roster::Terms terms{.forget_after = config_.recipe->forget_after,
                            .named_after_devices = !config_.recipe->name.literal()};
  std::vector<Roster::Listing> listings =
      roster_.take(std::move(seen), Clock::now(), terms, hooks_.drains(), adopting_.devices());
  ask_for_holders();
  return listings;
}

void Entry::ask_for_holders() {
  const auto since = roster_.question();
  if (!since) return;
  roster_.ask();
  link_.pod_resources().ask(*since, lifetime_.bound([this](const PodResources::Answer& answer) {
    roster_.learn(answer.holdings.get(), answer.asked, Clock::now());
    hint();
    link_.note_answer(answer);
  }));
}

// What the kubelet is told.

void Entry::specify(Finding finding) {
  const bool names = finding.recipe->cdi != CdiNames::kNone && !finding.listings.empty();
  if (findings_.empty() && !names && finding.files.empty()) return publish(finding, {});
  findings_.push_back(std::move(finding));
  if (findings_.size() == 1) specify_next();
}

void Entry::specify_next() {
  const Finding& next = findings_.front();
  std::vector<Offer> offers;
  for (const Roster::Listing& listing : next.listings)
    if (claim(served_[listing.resource], listing.resource)) offers.push_back(offer_of(next, listing));
  hooks_.cdi().write(next.files, std::move(offers),
                     lifetime_.bound([this](const CdiWriter::Outcome& outcome) {
                       const Finding specified = std::move(findings_.front());
                       findings_.pop_front();
                       publish(specified, outcome);
                       if (!findings_.empty()) specify_next();
                     }));
}

void Entry::publish(const Finding& finding, const CdiWriter::Outcome& specified) {
  for (const Roster::Listing& listing : finding.listings)
    publish(listing, offer_of(finding, listing), specified.trouble_of(listing.resource));
  if (findings_.empty()) adopting_.tell();
  arm_retry();
  hooks_.changed();
}

Offer Entry::offer_of(const Finding& finding, const Roster::Listing& listing) const {
  return {.resource = listing.resource,
          .inventory = listing.now,
          .recipe = finding.recipe,
          .near = neighbours_,
          .given = given_,
          .joined = joined_,
          .free = finding.recipe->shares == SharesOf::kAny ? nullptr : free_};
}

void Entry::publish(const Roster::Listing& listing, Offer offer, const std::string& cdi_trouble) {
  Served& served = served_[listing.resource];
  const bool ends = listing.now.empty() && !config_.recipe->name.literal();
  if (!claim(served, listing.resource)) {
    if (ends) drop(listing.resource);
    return;
  }
  const std::string former_trouble = std::exchange(served.cdi_trouble, cdi_trouble);
  offer.stall = stall_of(served);
  const std::shared_ptr<const Offer> before = served.resource ? served.resource->offer() : nullptr;
  serve(served, std::move(offer));
  tell_specification(listing.resource, former_trouble, served.cdi_trouble);
  // Its first list is told with the resource's attachment.
  const auto now = listing.now.devices();
  tell_changes(listing.resource,
               before ? device_changes(listing.before.devices(), now) : device_changes_of_first(now));
  if (served.resource) hooks_.offered(*served.resource->offer());
  if (!ends) return;
  if (before && !before->inventory.empty()) hooks_.emptied(*before);
  drop(listing.resource);
}

void Entry::arm_retry() {
  const auto serves = [](const auto& item) { return item.second.resource || !item.second.owner.empty(); };
  const auto specified = [](const auto& item) { return item.second.cdi_trouble.empty(); };
  if (!std::ranges::all_of(served_, serves)) return retry_.arm(serve_again_.next());
  serve_again_.reset();
  if (std::ranges::all_of(served_, specified))
    retry_.cancel();
  else
    retry_.arm(kCdiRetry);
}

bool Entry::claim(Served& served, const std::string& name) {
  std::string owner = hooks_.claim(name);
  if (owner == served.owner) return owner.empty();
  served.owner = std::move(owner);
  if (served.owner.empty()) return true;
  note(name + ": " + served.owner);
  platform_.log.error("two entries would serve one resource: the first one does",
                      {{"resource", name},
                       {"entry", config_.recipe->name.text()},
                       {"at", config_.where},
                       {"other", served.owner}});
  return false;
}

void Entry::serve(Served& served, Offer offer) {
  if (served.resource) return served.resource->publish(std::move(offer));
  const std::string name = offer.resource;
  try {
    served.resource =
        std::make_unique<Resource>(platform_, link_, hooks_.assuming(), std::move(offer),
                                   options_of(*config_.recipe), hooks_.not_before(name), hooks_.changed);
    served.serve_trouble.clear();
  } catch (const std::runtime_error& error) {
    if (std::exchange(served.serve_trouble, error.what()) == error.what()) return;
    platform_.log.error("cannot serve the resource", {{"resource", name}, {"why", error.what()}});
  }
}

void Entry::drop(const std::string& name) {
  const bool was_served = served_.at(name).owner.empty();
  served_.erase(name);
  if (roster_.listed(name).empty()) roster_.drop(name);  // they may be back by now
  hooks_.removed(name);
  if (was_served) platform_.log.info("resource removed with its last device", {{"resource", name}});
}

void Entry::offer_anew() {
  for (auto& [name, served] : served_) {
    if (!served.resource) continue;
    Offer offer = *served.resource->offer();
    offer.near = neighbours_;
    offer.joined = joined_;
    offer.stall = stall_of(served);
    served.resource->publish(std::move(offer));
  }
}

std::string Entry::stall_of(const Served& served) const {
  return scanner_->schedule().stalled() ? stall_text() : served.cdi_trouble;
}

// What the log is told.

void Entry::note(const std::string& trouble) {
  last_trouble_ = trouble;
  last_trouble_at_ = std::chrono::system_clock::now();
}

void Entry::remark(const std::vector<std::string>& of_scan, const std::vector<std::string>& of_devices) {
  std::set<std::string> now(of_scan.begin(), of_scan.end());
  now.insert(of_devices.begin(), of_devices.end());
  for (const std::string& text : now) {
    if (!remarked_.contains(text))
      platform_.log.warn(text, {{"entry", config_.recipe->name.text()}, {"at", config_.where}});
  }
  remarked_ = std::move(now);
}

void Entry::tell_unmatched(const std::vector<std::string>& of_choice,
                           const std::vector<std::string>& of_replicas) {
  std::set<std::string> now(of_choice.begin(), of_choice.end());
  now.insert(of_replicas.begin(), of_replicas.end());
  for (const std::string& place : now) {
    if (!unmatched_.contains(place))
      platform_.log.info("a pattern matches no device that is here now",
                         {{"entry", config_.recipe->name.text()}, {"pattern", place}, {"at", config_.where}});
  }
  unmatched_ = std::move(now);
}

void Entry::tell_changes(const std::string& resource, std::span<const DeviceChange> changes) {
  using enum DeviceChange::Kind;
  Log& log = platform_.log;
  const auto count = [](const ChangedGroup& group) { return std::to_string(group.count); };
  if (const auto group = group_of(changes, kAppeared); group.count > 0)
    log.info("devices have appeared",
             {{"resource", resource}, {"devices", group.names}, {"count", count(group)}});
  if (const auto group = group_of(changes, kGone); group.count > 0)
    log.warn("devices are gone", {{"resource", resource}, {"devices", group.names}, {"count", count(group)}});
  if (const auto group = group_of(changes, kUnhealthy); group.count > 0)
    log.warn("devices turned Unhealthy",
             {{"resource", resource}, {"devices", group.names}, {"count", count(group)}, {"why", group.why}});
  if (const auto group = group_of(changes, kHealthy); group.count > 0)
    log.info("devices are Healthy again",
             {{"resource", resource}, {"devices", group.names}, {"count", count(group)}});
  if (const auto group = group_of(changes, kForgotten); group.count > 0)
    log.info("devices that were gone are forgotten",
             {{"resource", resource}, {"devices", group.names}, {"count", count(group)}});
}

void Entry::tell_specification(const std::string& resource, const std::string& before,
                               const std::string& now) {
  if (now == before) return;
  if (now.empty())
    platform_.log.info("the CDI specification is written after all", {{"resource", resource}});
  else
    platform_.log.error("no container can get the devices", {{"resource", resource}, {"why", now}});
}

}  // namespace plughost
