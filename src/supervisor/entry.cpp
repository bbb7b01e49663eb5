#include "supervisor/entry.hpp"

#include <algorithm>
#include <utility>

namespace plughost {
namespace {

const std::string& stall_text() {
  static const std::string kText = "a look at its devices has not ended within " +
                                   std::to_string(Scanner::kDeadline.count()) +
                                   " s: a driver or a file system hangs";
  return kText;
}

}  // namespace

Entry::Entry(const Publication::Means& means, const Drains& drains, ResourceConfig config)
    : platform_(means.platform),
      link_(means.link),
      held_(means.held),
      config_(std::move(config)),
      checks_(platform_.programs, platform_.log, [this] { hint(); }),
      adopting_(platform_, link_, [this] { on_overlay(); }),
      roster_({&drains, &adopting_.devices(), held_.ledger().get()}),
      publication_(means, config_, *this),
      scanner_(make_scanner({})) {}

Entry::~Entry() {
  for (const auto& [resource, list] : roster_.lists()) {
    held_.ledger()->keep(resource);
    held_.list(resource, {});
  }
}

void Entry::update(ResourceConfig config) {
  const ScanSchedule former = scanner_->schedule();
  scanner_.reset();
  for (const auto& [resource, list] : roster_.lists()) held_.ledger()->keep(resource);
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
                       adopting_.prepare(!recipe.name.literal() || recipe.rename_shared,
                                         [this, then](HeldIds held) {
                                           if (held.checkpoint) held_.learn_first(*held.checkpoint);
                                           then(std::move(held));
                                         });
                     },
                     [this](Scanner::Found& found) { return on_found(found); },
                     [this](const std::string& why) { on_failed(why); }, [this] { on_stalled(); }},
      former);
}

void Entry::on_kubelet() {
  adopting_.on_kubelet();
  publication_.for_each_resource([](Resource& resource) { resource.on_kubelet(); });
}

void Entry::on_sockets() {
  publication_.for_each_resource([](Resource& resource) { resource.on_sockets(); });
}

void Entry::specify_anew() {
  std::vector<Roster::Listing> listings;
  for (const auto& [resource, list] : roster_.lists()) listings.push_back({resource, list, list});
  publish(std::move(listings));
  hint();
}

void Entry::forgive(const Drains::Name& name) {
  const Inventory& listed = roster_.listed(name.resource);
  if (const Device* const device = device_of_id(listed.devices(), name.device)) scanner_->forgive(*device);
}

// Without a look at the machine: a driver that hangs is a reason to drain.
void Entry::on_overlay() {
  std::vector<Roster::Listing> listings = roster_.lay_anew();
  if (!listings.empty())
    publish(std::move(listings));
  else if (publication_.idle())
    adopting_.tell();
}

void Entry::publish(std::vector<Roster::Listing> listings, std::vector<CdiFile> files) {
  publication_.publish(
      {.recipe = config_.recipe, .files = std::move(files), .listings = std::move(listings)});
}

void Entry::dropped(const std::string& resource) {
  if (!roster_.listed(resource).empty()) return;  // they may be back by now
  roster_.drop(resource);
  held_.list(resource, {});
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

Entry::Clock::time_point Entry::on_found(Scanner::Found& found) {
  on_recovered();
  ++scans_completed_;
  scan_trouble_.clear();
  std::vector<Roster::Listing> listings;
  if (!found.scan.undecided) {
    // What is listed already has to be listed on.
    const bool waits = !found.scan.not_yet.empty() && publication_.empty();
    if (waits)
      found.scan.remarks.push_back("nothing is offered yet: " + found.scan.not_yet);
    else {
      adopting_.take(std::move(found.adoptions));
      listings = take(std::move(found.assembly.resources));
      look_for_drift(found.others);
    }
    if (roster_.crowded())
      found.scan.remarks.push_back("the name " + config_.recipe->name.text() + " has given " +
                                   std::to_string(kMostResources) +
                                   " resources that are not forgotten yet: further ones wait; name the "
                                   "resources by something coarser");
    note_unfinished(found.scan);
    remark(found.scan.remarks, found.assembly.remarks);
    tell_unmatched(found.scan.unmatched, found.assembly.unmatched);
  }
  publish(std::move(listings), std::move(found.scan.cdi));
  return roster_.next_change();
}

void Entry::look_for_drift(const std::vector<Scanner::Found::Other>& others) {
  // Of replicas the ledger knows nothing.
  const bool drifts = std::ranges::any_of(others, [this](const Scanner::Found::Other& other) {
    return other.shared || held_.ledger()->held(other.name);
  });
  // A source that says something else each time is looked at twice, and not on and on: the second look has
  // read what was given.
  if (std::exchange(drifts_, drifts) || !drifts) return;
  adopting_.read_anew();
  hint();
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
  publication_.set_stall(stall_text());
  platform_.log.error("looking for devices takes too long: the list stands as it was",
                      {{"entry", config_.recipe->name.text()},
                       {"seconds", std::to_string(Scanner::kDeadline.count())},
                       {"at", config_.where}});
}

void Entry::on_recovered() {
  if (!std::exchange(stall_told_, false)) return;
  publication_.set_stall({});
  platform_.log.info("looking for devices came to an end after all",
                     {{"entry", config_.recipe->name.text()}});
}

std::vector<Roster::Listing> Entry::take(std::map<std::string, std::vector<Device>> resources) {
  checks_.follow(*config_.recipe, resources);
  std::map<std::string, Roster::Seen> seen;
  for (auto& resource : resources) {
    const std::string& name = resource.first;
    checks_.apply(name, roster_.listed(name).devices(), resource.second);
    held_.list(name, resource.second, adopting_.devices().units_elsewhere(name));
    seen[name] = {.devices = std::move(resource.second), .waits_until = checks_.waits_until(name)};
  }
  publication_.for_each_resource([&](const Resource& resource) {
    if (!seen.contains(resource.name()) && resource.has_given()) roster_.note_held(resource.name());
  });
  const Roster::Terms terms{
      .forget_after = config_.recipe->forget_after,
      .held = [this](const std::string& resource, const std::string& id) { return held_.held(resource, id); },
      .named_after_devices = !config_.recipe->name.literal()};
  std::vector<Roster::Listing> listings = roster_.take(std::move(seen), Clock::now(), terms);
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

void Entry::note(const std::string& trouble) {
  last_trouble_ = trouble;
  last_trouble_at_ = std::chrono::system_clock::now();
}

void Entry::note_unfinished(Scan& scan) {
  const auto now = Clock::now();
  auto former = std::exchange(unfinished_, {});
  for (const std::string& name : scan.unfinished) {
    const auto known = former.find(name);
    const auto since = unfinished_[name] = known == former.end() ? now : known->second;
    if (now - since >= kUdevPatience) scan.remarks.push_back(unfinished_text(name));
  }
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

}  // namespace plughost
