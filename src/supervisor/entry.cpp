#include "supervisor/entry.hpp"

#include <algorithm>
#include <iterator>
#include <variant>

#include "device/health_changes.hpp"
#include "supervisor/survey.hpp"

namespace plughost {

namespace {

// With more names than this in one directory, one watch for all of it is cheaper.
constexpr std::size_t kNamesPerDirectory = 8;

std::set<WatchedDirectory> few_watches(const std::vector<WatchedDirectory>& wanted) {
  std::map<std::filesystem::path, std::set<std::string>> by_path;
  for (const WatchedDirectory& each : wanted) by_path[each.path].insert(each.name);
  std::set<WatchedDirectory> few;
  for (const auto& [path, names] : by_path) {
    if (names.size() > kNamesPerDirectory || names.contains("*"))
      few.insert({path, "*"});
    else
      for (const std::string& name : names) few.insert({path, name});
  }
  return few;
}

// Of the resource's Unhealthy devices, those that a pod holds.
std::set<std::string> held_devices(const Resource* resource, const std::string& name,
                                   const Holdings& holdings) {
  std::set<std::string> held;
  const auto ids = holdings.find(name);
  if (!resource || ids == holdings.end()) return held;
  const std::shared_ptr<const Offer> offer = resource->offer();
  for (const auto& [id, holder] : ids->second) {
    const Device* device = offer->inventory.find(id);
    if (device && !device->healthy()) held.insert(device->id);
  }
  return held;
}

}  // namespace

// What a worker brings back.
struct Entry::Outcome {
  std::shared_ptr<const DeviceSource> source;  // a reload may have brought another since
  std::shared_ptr<const Recipe> recipe;
  std::variant<Look, std::string> found;  // or why it could not look
  Clock::duration took{};
};

PluginOptions options_of(const Recipe& recipe) {
  return {.pre_start_required = recipe.pre_start.has_value(),
          .preferred_allocation_available = recipe.policy != AllocationPolicy::kNone || !recipe.near.empty()};
}

Entry::Entry(Platform& platform, NodeLink& link, ResourceConfig config, Hooks hooks)
    : platform_(platform),
      link_(link),
      config_(std::move(config)),
      hooks_(std::move(hooks)),
      checks_(platform.loop, [this] { hint(); }),
      hint_timer_(platform.loop, [this] { scan(); }),
      later_(platform.loop, [this] { hint(); }),
      poll_(platform.loop, [this] { hint(); }),
      watch_(watch_source()) {
  scan();
}

Entry::~Entry() {
  config_.source->abandon();
  for (auto& [name, live] : live_) {
    live.resource.reset();
    hooks_.removed(name);
  }
}

void Entry::update(ResourceConfig config) {
  config_.source->abandon();
  watch_.reset();
  config_ = std::move(config);
  watch_ = watch_source();
  if (scanning_)
    hinted_while_scanning_ = true;
  else
    scan();
}

std::unique_ptr<SourceWatch> Entry::watch_source() {
  return config_.source->watch(platform_.loop, [this] { hint(); });
}

void Entry::on_kubelet() {
  for (auto& [name, live] : live_) {
    if (live.resource) live.resource->on_kubelet();
  }
}

void Entry::on_sockets() {
  for (auto& [name, live] : live_) {
    if (live.resource) live.resource->on_sockets();
  }
}

void Entry::set_neighbours(Neighbours neighbours) {
  if (neighbours == neighbours_) return;
  neighbours_ = std::move(neighbours);
  for (auto& [name, live] : live_) {
    if (!live.resource) continue;
    Offer offer = *live.resource->offer();
    offer.near = neighbours_;
    live.resource->publish(std::move(offer));
  }
}

EntryStatus Entry::status() const {
  return {.name = config_.recipe->name.text(),
          .scans_completed = scans_completed_,
          .scans_failed = scans_failed_,
          .stalled = stalled_,
          .trouble = last_trouble_,
          .trouble_at = last_trouble_at_};
}

void Entry::hint() {
  if (scanning_) {
    hinted_while_scanning_ = true;
    return;
  }
  const auto now = Clock::now();
  if (!hint_timer_.armed()) {
    if (now - last_scan_ >= kQuiet) return scan();
    first_hint_ = now;
  }
  hint_timer_.arm_at(std::min(now + kQuiet, first_hint_ + kLongestWait));
}

void Entry::scan() {
  hint_timer_.cancel();
  scanning_ = true;
  hinted_while_scanning_ = false;
  last_scan_ = Clock::now();
  const auto outcome = std::make_shared<Outcome>();
  outcome->source = config_.source;
  outcome->recipe = config_.recipe;
  platform_.workers.run(
      [outcome, host = platform_.host] {
        const auto began = Clock::now();
        try {
          outcome->found = look(*outcome->source, *outcome->recipe, host);
        } catch (const std::exception& error) {
          outcome->found = std::string(error.what());
        }
        outcome->took = Clock::now() - began;
      },
      [this, outcome, alive = std::weak_ptr(alive_)] {
        if (!alive.expired()) on_scanned(*outcome);
      },
      kScanDeadline,
      [this, alive = std::weak_ptr(alive_)] {
        if (!alive.expired()) on_overdue();
      });
}

void Entry::on_overdue() {
  if (config_.source->ends_by_itself()) return;  // and says then what was wrong
  stalled_ = true;
  platform_.log.error("looking for devices takes too long: the list stands as it was",
                      {{"entry", config_.recipe->name.text()},
                       {"seconds", std::to_string(kScanDeadline.count())},
                       {"at", config_.where}});
  const std::string why = "a look at its devices has not ended within " +
                          std::to_string(kScanDeadline.count()) + " s: a driver or a file system hangs";
  note(why);
  set_stall(why);
}

void Entry::note(const std::string& trouble) {
  last_trouble_ = trouble;
  last_trouble_at_ = std::chrono::system_clock::now();
}

void Entry::set_stall(const std::string& why) {
  for (auto& [name, live] : live_) {
    if (!live.resource) continue;
    Offer offer = *live.resource->offer();
    offer.stall = why.empty() ? live.cdi_trouble : why;
    live.resource->publish(std::move(offer));
  }
}

void Entry::on_scanned(Outcome& outcome) {
  scanning_ = false;
  platform_.tallies.scans.add(outcome.took);
  if (std::exchange(stalled_, false)) {
    set_stall("");
    platform_.log.info("looking for devices came to an end after all",
                       {{"entry", config_.recipe->name.text()}});
  }
  if (outcome.source != config_.source) return scan();
  if (const auto* why = std::get_if<std::string>(&outcome.found)) return on_scan_failed(*why);

  ++scans_completed_;
  scan_trouble_.clear();
  scan_failed_.reset();
  auto& found = std::get<Look>(outcome.found);
  write(found.scan.cdi);
  if (!found.scan.undecided) take_in(found.scan.not_yet, std::move(found.assembly));
  const bool hinted = std::exchange(hinted_while_scanning_, false);
  // What changed before a watch was placed nobody has seen: look again, now that it would be told.
  if (follow(found.scan))
    scan();
  else if (hinted)
    hint();
}

void Entry::take_in(const std::string& not_yet, Assembly assembly) {
  // What is listed already has to be listed on.
  const bool waits = !not_yet.empty() && live_.empty();
  if (waits) assembly.remarks.push_back("nothing is offered yet: " + not_yet);
  remark(std::move(assembly.remarks));
  if (!waits) take(std::move(assembly.resources));
}

void Entry::on_scan_failed(const std::string& why) {
  ++scans_failed_;
  note("cannot look for devices: " + why);
  if (scan_trouble_ != why)
    platform_.log.error("cannot look for devices: the list stands as it was",
                        {{"entry", config_.recipe->name.text()}, {"why", why}, {"at", config_.where}});
  scan_trouble_ = why;
  later_.arm(scan_failed_.next());
}

void Entry::remark(std::vector<std::string> remarks) {
  std::set<std::string> now(std::make_move_iterator(remarks.begin()), std::make_move_iterator(remarks.end()));
  for (const std::string& text : now) {
    if (!remarked_.contains(text))
      platform_.log.warn(text, {{"entry", config_.recipe->name.text()}, {"at", config_.where}});
  }
  remarked_ = std::move(now);
}

void Entry::take(std::map<std::string, std::vector<Device>> resources) {
  checks_.follow(*config_.recipe, resources);
  for (auto& [name, live] : live_) resources.try_emplace(name);  // devices that are remembered, but not there
  must_ask_ = false;
  settled_ = true;
  auto later = Clock::time_point::max();
  for (auto& [name, devices] : resources) {
    const auto waits_until = checks_.waits_until(name);
    later = std::min(later, waits_until);
    // A resource begins with all of its devices, or the kubelet would take those of running pods away.
    if (waits_until != Clock::time_point::max() && !live_.contains(name)) {
      settled_ = false;
      continue;
    }
    Live& live = live_[name];
    later = std::min(later, settle(name, live, devices));
    publish(name, live, std::move(devices));
    if (!live.cdi_trouble.empty()) later = std::min(later, Clock::now() + kCdiRetry);
  }
  drop_empty_resources();
  if (must_ask_ && !asking_) ask_for_holders();
  if (later == Clock::time_point::max())
    later_.cancel();
  else
    later_.arm_at(later);
  hooks_.changed();
}

Entry::Clock::time_point Entry::settle(const std::string& name, Live& live, std::vector<Device>& devices) {
  const std::shared_ptr<const Offer> offer = live.resource ? live.resource->offer() : nullptr;
  const auto before = offer ? offer->inventory.devices() : std::span<const Device>();
  const auto now = Clock::now();
  checks_.apply(name, before, devices);
  bool some_stay = false;
  devices = live.remembered.merge(before, std::move(devices), now, config_.recipe->forget_after,
                                  [&](const Device& device, Clock::time_point due) {
                                    const bool stay = stays(live, device, due);
                                    some_stay = some_stay || stay;
                                    return stay;
                                  });
  live.damping.apply(before, devices, now);
  tell(name, before, devices);
  auto later = std::min(live.remembered.next_forgetting(), live.damping.next_release());
  if (some_stay && !must_ask_) later = std::min(later, ask_again_);
  return later;
}

void Entry::drop_empty_resources() {
  // A resource that was named after its devices goes with the last of them.
  if (config_.recipe->name.literal()) return;
  for (auto item = live_.begin(); item != live_.end();) {
    auto& [name, live] = *item;
    if (live.resource && !live.resource->offer()->inventory.empty()) {
      ++item;
      continue;
    }
    live.resource.reset();
    hooks_.removed(name);
    platform_.log.info("resource removed with its last device", {{"resource", name}});
    item = live_.erase(item);
  }
}

bool Entry::stays(const Live& live, const Device& device, Clock::time_point due) {
  if (holders_asked_ >= due && Clock::now() < ask_again_) return live.held.contains(device.id);
  must_ask_ = true;  // and until the answer is there, nothing is forgotten
  return true;
}

void Entry::ask_for_holders() {
  asking_ = true;
  link_.pod_resources().ask(
      [this, asked = Clock::now(), alive = std::weak_ptr(alive_)](const PodResources::Answer& answer) {
        if (!alive.expired()) on_holders(answer, asked);
      });
}

void Entry::on_holders(const PodResources::Answer& answer, Clock::time_point asked) {
  asking_ = false;
  holders_asked_ = asked;
  link_.note_answer(answer);
  bool some_held = false;
  for (auto& [name, live] : live_) {
    // A kubelet that does not tell now may have told before who holds what.
    if (answer.holdings) live.held = held_devices(live.resource.get(), name, *answer.holdings);
    some_held = some_held || !live.held.empty();
  }
  if (!some_held) held_.reset();
  ask_again_ = some_held ? Clock::now() + held_.next() : Clock::time_point::max();
  hint();
}

void Entry::tell(const std::string& name, std::span<const Device> before, std::span<const Device> after) {
  const HealthChanges changes = health_changes(before, after);
  const auto count = [](const HealthChanges::Group& group) { return std::to_string(group.count); };
  if (const auto& group = changes.unhealthy; group.count > 0)
    platform_.log.warn(
        "devices turned Unhealthy",
        {{"resource", name}, {"devices", group.names}, {"count", count(group)}, {"why", group.why}});
  if (const auto& group = changes.healthy; group.count > 0)
    platform_.log.info("devices are Healthy again",
                       {{"resource", name}, {"devices", group.names}, {"count", count(group)}});
  if (const auto& group = changes.forgotten; group.count > 0)
    platform_.log.info("devices that were gone are forgotten",
                       {{"resource", name}, {"devices", group.names}, {"count", count(group)}});
}

void Entry::publish(const std::string& name, Live& live, std::vector<Device> devices) {
  Offer offer{name, Inventory(std::move(devices)), config_.recipe};
  offer.near = neighbours_;
  offer.given = given_;
  specify(live, offer);
  if (live.resource) {
    const std::shared_ptr<const Offer> before = live.resource->offer();
    const bool emptied = offer.inventory.empty() && !before->inventory.empty();
    live.resource->publish(std::move(offer));
    if (emptied && !config_.recipe->name.literal()) hooks_.emptied(*before);
    return;
  }
  try {
    live.resource =
        std::make_unique<Resource>(platform_, link_, std::move(offer), options_of(*config_.recipe),
                                   hooks_.not_before(name), hooks_.changed);
  } catch (const std::runtime_error& error) {
    platform_.log.error("cannot serve the resource", {{"resource", name}, {"why", error.what()}});
    hinted_while_scanning_ = true;  // with the next scan again
  }
}

void Entry::write(const std::vector<CdiFile>& files) {
  cdi_trouble_.clear();
  for (const CdiFile& file : files) {
    if (std::string trouble = hooks_.cdi().put(file.name, file.text); !trouble.empty())
      cdi_trouble_ = std::move(trouble);
  }
}

void Entry::specify(Live& live, Offer& offer) {
  offer.stall = hooks_.cdi().specify(offer);
  if (offer.stall.empty()) offer.stall = cdi_trouble_;
  if (offer.stall == live.cdi_trouble) return;
  if (offer.stall.empty())
    platform_.log.info("the CDI specification is written after all", {{"resource", offer.resource}});
  else
    platform_.log.error("no container can get the devices",
                        {{"resource", offer.resource}, {"why", offer.stall}});
  live.cdi_trouble = offer.stall;
}

bool Entry::follow(const Scan& scan) {
  const std::set<WatchedDirectory> few = few_watches(scan.watch);
  std::erase_if(directories_, [&](const auto& item) { return !few.contains(item.first); });
  bool more = false;
  for (const WatchedDirectory& each : few) {
    if (directories_.contains(each)) continue;
    directories_[each] = platform_.directories.watch(platform_.host.at(each.path), each.name,
                                                     [this](std::string_view) { hint(); });
    more = true;
  }
  std::erase_if(subsystems_, [&](const auto& item) {
    return std::ranges::find(scan.subsystems, item.first) == scan.subsystems.end();
  });
  for (const std::string& subsystem : scan.subsystems) {
    std::unique_ptr<UdevWatch>& watch = subsystems_[subsystem];
    if (watch) continue;
    watch = platform_.devices.watch(subsystem, [this] { hint(); });
    more = true;
  }
  if (scan.look_again > scan.look_again.zero())
    poll_.arm(scan.look_again);
  else
    poll_.cancel();
  return more;
}

}  // namespace plughost
