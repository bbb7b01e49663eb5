#include "daemon/supervisor/resource_controller.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace plughost {

ResourceController::ResourceController(const ResourcePublisher::Context& context, const DrainSet& drains,
                                       Configs configs, const Inheritance* inheritance)
    : platform_(context.platform),
      link_(context.link),
      held_(context.held),
      config_(configs.front()),
      checks_(platform_.programs, platform_.log, [this] { request_scan(); }),
      adoption_(platform_, link_, [this] { on_overlay(); }),
      tracker_({&drains, &adoption_.devices(), held_.ledger().get()}),
      publisher_(context, config_, *this),
      group_(platform_, *this, std::move(configs)) {
  if (inheritance) {
    tracker_.inherit(inheritance->flapping);
    faults_ = inheritance->faults;
  }
  config_ = group_.whole();
  group_.begin();
}

ResourceController::~ResourceController() {
  for (const auto& [resource, list] : tracker_.lists()) {
    held_.ledger()->keep(resource);
    held_.list(resource, {});
  }
}

void ResourceController::update(Configs configs) {
  const std::map<std::string, Inventory> listed = tracker_.lists();
  for (const auto& [resource, list] : listed) held_.ledger()->keep(resource);
  adoption_.on_reload(listed);
  group_.update(std::move(configs), listed);
  config_ = group_.whole();
  on_error();
}

void ResourceController::set_where(const Configs& configs) {
  group_.set_where(configs);
  config_.where = configs.front().where;
}

void ResourceController::prepare(const std::function<void(HeldIds held)>& then) {
  const AllocationSpec& spec = *config_.spec;
  adoption_.prepare(!spec.name.literal() || spec.rename_shared, [this, then](HeldIds held) {
    if (held.checkpoint) held_.load_holds(*held.checkpoint, held.reloaded);
    then(std::move(held));
  });
}

void ResourceController::on_kubelet() {
  publisher_.for_each_resource([](Resource& resource) { resource.on_kubelet(); });
}

void ResourceController::on_sockets() {
  publisher_.for_each_resource([](Resource& resource) { resource.on_sockets(); });
}

void ResourceController::specify_anew() {
  std::vector<DeviceTracker::Listing> listings;
  for (const auto& [resource, list] : tracker_.lists()) listings.push_back({resource, list, list});
  publish(std::move(listings));
  request_scan();
}

void ResourceController::forgive(const DrainSet::Name& name) {
  const Inventory& listed = tracker_.listed(name.resource);
  if (const Device* const device = device_of_id(listed.devices(), name.device)) group_.set_fault(*device, {});
}

// Applies the overlay without a scan, since a stalled driver is a reason to drain.
void ResourceController::on_overlay() {
  std::vector<DeviceTracker::Listing> listings = tracker_.reapply_overlays();
  group_.rest_drained(tracker_.lists());
  if (!listings.empty())
    publish(std::move(listings));
  else if (publisher_.idle())
    adoption_.notify();
}

void ResourceController::publish(std::vector<DeviceTracker::Listing> listings, std::vector<CdiFile> files) {
  publisher_.publish({.spec = config_.spec,
                      .by_cdi = group_.names_by_cdi(),
                      .files = std::move(files),
                      .listings = std::move(listings)});
}

void ResourceController::dropped(const std::string& resource) {
  if (!tracker_.listed(resource).empty()) return;  // its devices may have returned
  tracker_.drop(resource);
  held_.list(resource, {});
}

ResourceController::Clock::time_point ResourceController::accept(EntryScan& entry, Scanner::Found& found) {
  std::vector<DeviceTracker::Listing> listings;
  if (group_.counts(entry, found) && !found.scan.undecided) {
    listings = merge(entry, found);
    entry.log_remarks(found.scan, found.assembly);
    remark(std::move(found.joint_remarks));
  }
  publish(std::move(listings), std::move(found.scan.cdi));
  apply_due_update();
  return tracker_.next_change();
}

std::vector<DeviceTracker::Listing> ResourceController::merge(EntryScan& entry, Scanner::Found& found) {
  // A list that was published before is always updated.
  const bool first = group_.several() ? !entry.devices() : publisher_.empty();
  if (first && !found.scan.not_yet.empty()) {
    found.scan.remarks.push_back("nothing is offered yet: " + found.scan.not_yet);
    return {};
  }
  std::optional<DevicesOf> devices = group_.merge(entry, found, tracker_.lists());
  if (!devices) return {};
  adoption_.merge(std::move(found.adoptions));
  std::vector<DeviceTracker::Listing> listings = update_lists(std::move(*devices));
  check_drift(found.others);
  return listings;
}

void ResourceController::on_error() {
  publisher_.set_stalls(group_.stalls());
  apply_due_update();
}

void ResourceController::apply_due_update() {
  if (!group_.is_due()) return;
  if (auto devices = group_.merge_due(tracker_.lists())) publish(update_lists(std::move(*devices)));
}

void ResourceController::check_drift(const std::vector<Ledger::Name>& others) {
  const bool drifts =
      std::ranges::any_of(others, [this](const Ledger::Name& other) { return held_.ledger()->held(other); });
  // A device that differs at every scan must not cause endless scans: after a scan with differences, the next
  // scan has already read the checkpoint again.
  if (std::exchange(drifts_, drifts) || !drifts) return;
  adoption_.read_anew();
  request_scan();
}

std::vector<DeviceTracker::Listing> ResourceController::update_lists(DevicesOf resources) {
  checks_.follow(*config_.spec, resources);
  std::map<std::string, DeviceTracker::Seen> seen;
  for (auto& resource : resources) {
    const std::string& name = resource.first;
    apply_faults(name, resource.second);
    checks_.apply(name, tracker_.listed(name).devices(), resource.second);
    held_.list(name, resource.second, adoption_.devices().units_elsewhere(name));
    seen[name] = {.devices = std::move(resource.second), .waits_until = checks_.waits_until(name)};
  }
  publisher_.for_each_resource([&](const Resource& resource) {
    if (!seen.contains(resource.name()) && resource.has_given()) tracker_.record_held(resource.name());
  });
  const DeviceTracker::Terms terms{
      .forget_after = config_.spec->forget_after,
      .held = [this](const std::string& resource, const std::string& id) { return held_.held(resource, id); },
      .named_after_devices = !config_.spec->name.literal()};
  std::vector<DeviceTracker::Listing> listings = tracker_.update(std::move(seen), Clock::now(), terms);
  group_.rest_drained(tracker_.lists());
  query_holders();
  return listings;
}

void ResourceController::apply_faults(const std::string& resource, std::vector<Device>& devices) {
  const auto faults = faults_.extract(resource);
  if (!faults) return;
  for (Device& device : devices) {
    const auto fault = faults.mapped().find(device.id);
    if (fault == faults.mapped().end() || !device.healthy()) continue;
    group_.set_fault(device, fault->second);
    device.error = fault->second;
    device.lasting = true;
  }
}

void ResourceController::add_to(Inheritance& told) const {
  told.flapping.merge(tracker_.flapping());
  publisher_.for_each_resource([&](const Resource& resource) {
    if (resource.stage() == Stage::kAttached)
      told.resources.emplace(resource.name(), config_.spec->name.text());
    for (const Device& device : resource.snapshot()->inventory.devices())
      if (device.lasting && !device.error.empty()) told.faults[resource.name()][device.id] = device.error;
  });
}

void ResourceController::query_holders() {
  const auto since = tracker_.question();
  if (!since) return;
  tracker_.begin_query();
  link_.holdings().read(*since, lifetime_.bound([this](const PodResources::Answer& answer) {
    tracker_.record_holders(answer, Clock::now());
    request_scan();
    link_.record_answer(answer);
  }));
}

void ResourceController::remark(std::vector<std::string> texts) {
  if (tracker_.crowded())
    texts.push_back("the name " + config_.spec->name.text() + " has given " + std::to_string(kMostResources) +
                    " resources that are not forgotten yet: further ones wait; name the resources by "
                    "something coarser");
  std::set<std::string> now(texts.begin(), texts.end());
  for (const std::string& text : now) {
    if (!remarked_.contains(text))
      platform_.log.warn(text, {{"entry", config_.spec->name.text()}, {"at", config_.where}});
  }
  remarked_ = std::move(now);
}

using Clock = EventLoop::Clock;

ResourceControllers::ResourceControllers(Platform& platform, CdiPlaces& cdi, Assuming& assuming,
                                         HeldDevices& held, const DrainSet& drains, NodeReporter& reporter,
                                         std::function<void()> changed)
    : platform_(platform),
      cdi_(cdi),
      assuming_(assuming),
      held_(held),
      drains_(drains),
      reporter_(reporter),
      changed_(std::move(changed)) {}

void ResourceControllers::add(ResourceController::Configs entry, KubeletLink& link,
                              const Inheritance* inheritance) {
  const std::shared_ptr<const AllocationSpec> spec = entry.front().spec;
  const Template& name = spec->name;
  // A literal name is claimed before the first scan.
  if (name.literal() && !spec->rename_shared) names_.claim(name.text(), name.text());
  controllers_[name.text()] =
      std::make_unique<ResourceController>(ResourcePublisher::Context{.platform = platform_,
                                                                      .link = link,
                                                                      .cdi = cdi_,
                                                                      .assuming = assuming_,
                                                                      .held = held_,
                                                                      .owner = *this},
                                           drains_, std::move(entry), inheritance);
}

void ResourceControllers::end(const std::string& name) {
  controllers_.erase(name);
  names_.release_all(name);
}

void ResourceControllers::retire(const std::string& name) {
  std::vector<SharedSnapshot> snapshots;
  at(name).publisher().for_each_resource([&](Resource& resource) {
    snapshots.push_back(resource.snapshot());
    resource.end_for_good();
  });
  end(name);
  for (const auto& snapshot : snapshots) reporter_.end(*snapshot);
}

void ResourceControllers::retire_all() {
  while (!controllers_.empty()) retire(std::string(controllers_.begin()->first));
}

void ResourceControllers::end_all() {
  while (!controllers_.empty()) end(std::string(controllers_.begin()->first));
}

void ResourceControllers::retry_waiting() {
  for (const std::string& name : names_.take_waiting()) at(name).request_scan();
}

// Does nothing until every entry has been scanned: the set of resources is unknown before.
void ResourceControllers::forget_specifications() {
  std::set<std::string> specified;
  bool late = false;
  for (const auto& [name, controller] : controllers_) {
    if (!controller->names_by_cdi()) continue;
    const AllocationSpec& spec = *controller->config().spec;
    if (!controller->settled()) return;
    controller->publisher().for_each_resource(
        [&](const Resource& resource) { specified.insert(resource.name()); });
    late = late || (spec.assume && spec.assume->late());
  }
  if (!late) cdi_.present().remove_other_late({});  // otherwise Assuming removes unused files
  cdi_.remove_others(std::move(specified));
}

void ResourceControllers::forget_ended() {
  std::erase_if(ended_,
                [](const auto& item) { return item.second + KubeletLink::kForgetting < Clock::now(); });
}

ResourceController* ResourceControllers::find(const std::string& name) const {
  const auto found = controllers_.find(name);
  return found == controllers_.end() ? nullptr : found->second.get();
}

std::vector<SharedSnapshot> ResourceControllers::snapshots() const {
  std::vector<SharedSnapshot> snapshots;
  for_each_resource(
      [&](const Resource& resource, const ResourceController&) { snapshots.push_back(resource.snapshot()); });
  return snapshots;
}

NodeReporter::Subjects ResourceControllers::subjects() const {
  NodeReporter::Subjects subjects;
  for (const auto& [name, controller] : controllers_) {
    const ResourceConfig& config = controller->config();
    if (config.labels.empty() && config.node_resources.empty()) continue;
    std::vector<Inventory> lists;
    controller->publisher().for_each_resource(
        [&](const Resource& resource) { lists.push_back(resource.snapshot()->inventory); });
    if (!config.labels.empty())
      subjects.labels.push_back({.entry = name,
                                 .where = config.where,
                                 .labels = config.labels,
                                 .lists = lists,
                                 .settled = controller->settled()});
    if (!config.node_resources.empty())
      subjects.counts.push_back(
          {.counts = config.node_resources, .lists = lists, .settled = controller->settled()});
  }
  return subjects;
}

void ResourceControllers::by_chosen_card(const PodResources::Answer& answer,
                                         HoldingsReader::Done done) const {
  std::vector<std::pair<std::string, AssumedCards::HoldersByCard>> chosen;
  for_each_resource([&](const Resource& resource, const ResourceController&) {
    if (const AssumedCards* const cards = resource.assumed_cards())
      chosen.emplace_back(resource.name(), cards->by_annotation(resource.snapshot()->inventory));
  });
  if (!answer.holdings || chosen.empty()) return done(answer);
  const auto known = std::make_shared<Holdings>(*answer.holdings);
  const auto open = std::make_shared<HoldingsReader::Done>(std::move(done));
  platform_.computations.run(
      [chosen = std::move(chosen), known] {
        for (const auto& [resource, by_card] : chosen) {
          const auto held = known->find(resource);
          if (held != known->end()) held->second = by_card(held->second);
        }
      },
      lifetime_.bound([answer, known, open] {
        PodResources::Answer told = answer;
        told.holdings = known;
        if (const auto done = std::exchange(*open, nullptr)) done(told);
      }),
      HoldingsReader::kMergeDeadline,
      lifetime_.bound([open] { std::exchange(*open, nullptr)(HoldingsReader::too_late()); }));
}

std::string ResourceControllers::claim(const std::string& resource, const std::string& entry) {
  const std::string& owner = names_.claim(resource, entry);
  if (owner == entry) return {};
  return owner + " (" + at(owner).config().where + ") serves it already";
}

Clock::time_point ResourceControllers::not_before(const std::string& resource) const {
  const auto found = ended_.find(resource);
  return found == ended_.end() ? Clock::time_point{} : found->second + KubeletLink::kForgetting;
}

void ResourceControllers::removed(const std::string& resource, const std::string& entry) {
  ended_[resource] = Clock::now();
  names_.release(resource, entry);
}

}  // namespace plughost
