#include "daemon/supervisor/parts.hpp"

#include <algorithm>
#include <utility>

namespace plughost {
namespace {

const std::string& stall_text() {
  static const std::string kText = "its device scan has not ended within " +
                                   std::to_string(Scanner::kDeadline.count()) +
                                   " s: a driver or a file system hangs";
  return kText;
}

std::shared_ptr<const DevicesOf> found_by_only_one(const Parts::Lists& lists) {
  DevicesOf devices;
  for (const auto& [resource, list] : lists) {
    for (const Device& device : list.devices()) {
      if (device.gone) continue;
      devices[resource].push_back(device);
      devices[resource].back().reasons.clear();
    }
  }
  return devices.empty() ? nullptr : std::make_shared<const DevicesOf>(std::move(devices));
}

}  // namespace

Part::Part(Platform& platform, PartOwner& owner, ResourceConfig config)
    : platform_(platform), owner_(owner), config_(std::move(config)) {}

void Part::begin(ScanSchedule former) {
  stalled_ = former.stalled();
  scanner_ = std::make_unique<Scanner>(
      platform_, config_,
      Scanner::Hooks{[this] { return owner_.listed(); }, [this] { return owner_.others_of(*this); },
                     [this](const auto& then) { owner_.prepare(then); },
                     [this](Scanner::Found& found) { return on_found(found); },
                     [this](const std::string& why) { on_failed(why); }, [this] { on_stalled(); }},
      former);
}

bool Part::set_devices(std::shared_ptr<const DevicesOf> devices) {
  const bool same = devices_ && devices && *devices_ == *devices;
  devices_ = std::move(devices);
  return !same;
}

std::optional<std::string> Part::stall() const {
  return stalled_ ? std::optional(stall_text()) : std::nullopt;
}

void Part::note(const std::string& trouble) {
  last_trouble_ = trouble;
  last_trouble_at_ = std::chrono::system_clock::now();
}

EntryStatus Part::status() const {
  return {.name = config_.spec->name.text(),
          .where = config_.where,
          .unmatched = {unmatched_.begin(), unmatched_.end()},
          .scans_completed = scans_completed_,
          .scans_failed = scans_failed_,
          .stalled = schedule().stalled(),
          .required = config_.spec->required,
          .trouble = last_trouble_,
          .trouble_at = last_trouble_at_};
}

Part::Clock::time_point Part::on_found(Scanner::Found& found) {
  on_recovered();
  ++scans_completed_;
  scan_trouble_.clear();
  return owner_.found(*this, found);
}

void Part::on_failed(const std::string& why) {
  on_recovered();
  ++scans_failed_;
  has_looked_ = true;
  note("device scan failed: " + why);
  owner_.on_trouble();
  if (std::exchange(scan_trouble_, why) == why) return;
  platform_.log.error("device scan failed: the old list stays",
                      {{"entry", config_.spec->name.text()}, {"why", why}, {"at", config_.where}});
}

void Part::on_stalled() {
  has_looked_ = true;
  stalled_ = true;
  note(stall_text());
  owner_.on_trouble();
  platform_.log.error("device scan takes too long: the old list stays",
                      {{"entry", config_.spec->name.text()},
                       {"seconds", std::to_string(Scanner::kDeadline.count())},
                       {"at", config_.where}});
}

void Part::on_recovered() {
  if (!std::exchange(stalled_, false)) return;
  owner_.on_trouble();
  platform_.log.info("device scan finished", {{"entry", config_.spec->name.text()}});
}

void Part::tell(const Scan& scan, const Assembly& assembly) {
  std::set<std::string> remarks(scan.remarks.begin(), scan.remarks.end());
  remarks.merge(std::set<std::string>(assembly.remarks.begin(), assembly.remarks.end()));
  for (std::string& text : unfinished(scan.unfinished)) remarks.insert(std::move(text));
  for (const std::string& text : remarks) {
    if (!remarked_.contains(text))
      platform_.log.warn(text, {{"entry", config_.spec->name.text()}, {"at", config_.where}});
  }
  remarked_ = std::move(remarks);

  std::set<std::string> unmatched(scan.unmatched.begin(), scan.unmatched.end());
  unmatched.insert(assembly.unmatched.begin(), assembly.unmatched.end());
  for (const std::string& place : unmatched) {
    if (!unmatched_.contains(place))
      platform_.log.info("pattern matches no device on this node",
                         {{"entry", config_.spec->name.text()}, {"pattern", place}, {"at", config_.where}});
  }
  unmatched_ = std::move(unmatched);
}

std::vector<std::string> Part::unfinished(const std::vector<std::string>& names) {
  const auto now = Clock::now();
  auto former = std::exchange(unfinished_, {});
  std::vector<std::string> remarks;
  for (const std::string& name : names) {
    const auto known = former.find(name);
    const auto since = unfinished_[name] = known == former.end() ? now : known->second;
    if (now - since >= kUdevPatience) remarks.push_back(unfinished_text(name));
  }
  return remarks;
}

Parts::Parts(Platform& platform, PartOwner& owner, Configs configs) : platform_(platform), owner_(owner) {
  for (ResourceConfig& config : configs) make(std::move(config));
}

Part* Parts::make(ResourceConfig config) {
  return parts_.emplace_back(std::make_unique<Part>(platform_, owner_, std::move(config))).get();
}

void Parts::begin() {
  for (const auto& part : parts_) part->begin();
}

void Parts::update(Configs configs, const Lists& listed) {
  if (!several() && configs.size() > 1) first().set_devices(found_by_only_one(listed));
  auto former = std::exchange(parts_, {});
  std::vector<Part*> begun;
  for (ResourceConfig& config : configs) {
    const auto same = std::ranges::find_if(
        former, [&](const auto& part) { return part && part->config().content == config.content; });
    if (same == former.end()) {
      begun.push_back(make(std::move(config)));
    } else {
      (*same)->set_where(config.where);
      parts_.push_back(std::move(*same));
    }
  }
  std::erase(former, nullptr);
  std::vector<ScanSchedule> schedules(begun.size());
  if (begun.size() == former.size()) {
    for (std::size_t i = 0; i < begun.size(); ++i) {
      schedules[i] = former[i]->schedule();
      begun[i]->set_devices(former[i]->devices());
    }
  }
  former.clear();
  updated_ = ++version_;
  taken_ = false;
  for (std::size_t i = 0; i < begun.size(); ++i) begun[i]->begin(schedules[i]);
  for (const auto& part : parts_)
    if (std::ranges::find(begun, part.get()) == begun.end()) part->hint();
}

void Parts::set_where(const Configs& configs) {
  for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i]->set_where(configs[i].where);
}

ResourceConfig Parts::whole() const {
  ResourceConfig all = parts_.front()->config();
  for (std::size_t i = 1; i < parts_.size(); ++i) {
    const ResourceConfig& other = parts_[i]->config();
    all.labels.insert(all.labels.end(), other.labels.begin(), other.labels.end());
    all.node_resources.insert(all.node_resources.end(), other.node_resources.begin(),
                              other.node_resources.end());
  }
  return all;
}

void Parts::hint() {
  for (const auto& part : parts_) part->hint();
}

void Parts::forgive(const Device& device) {
  for (const auto& part : parts_)
    if (!device.terms || device.terms == part->config().spec) part->forgive(device);
}

void Parts::rest_drained(const Lists& listed) {
  for (const auto& part : parts_) {
    bool some = false;
    const auto out_of_use = [&](const Device& device) {
      if (device.gone || (device.terms && device.terms != part->config().spec)) return true;
      some = true;
      return device.drained();
    };
    const bool all = std::ranges::all_of(
        listed, [&](const auto& item) { return std::ranges::all_of(item.second.devices(), out_of_use); });
    part->rest(some && all);
  }
}

bool Parts::names_by_cdi() const {
  return std::ranges::any_of(parts_,
                             [](const auto& part) { return part->config().spec->cdi != CdiNames::kNone; });
}

std::vector<Stall> Parts::stalls() const {
  std::vector<Stall> stalls;
  for (const auto& part : parts_) {
    if (auto why = part->stall())
      stalls.push_back({.terms = several() ? part->config().spec : nullptr, .why = std::move(*why)});
  }
  return stalls;
}

std::vector<EntryStatus> Parts::status() const {
  std::vector<EntryStatus> all;
  for (const auto& part : parts_) all.push_back(part->status());
  return all;
}

Scanner::Parts Parts::others_of(const Part& part) const {
  if (!several()) return {.found = {}, .version = version_};
  const auto own = std::ranges::find_if(parts_, [&](const auto& each) { return each.get() == &part; });
  return {.found = found(), .own = static_cast<std::size_t>(own - parts_.begin()), .version = version_};
}

std::vector<PartFound> Parts::found() const {
  std::vector<PartFound> found;
  for (const auto& part : parts_) found.push_back({.terms = part->config().spec, .devices = part->devices()});
  return found;
}

bool Parts::all_have_looked() const {
  return std::ranges::all_of(parts_, [](const auto& part) { return part->has_looked(); });
}

bool Parts::counts(Part& part, const Scanner::Found& found) const {
  if (found.version < updated_) return false;
  part.note_look();
  return true;
}

std::optional<DevicesOf> Parts::take(Part& part, Scanner::Found& found, const Lists& listed) {
  if (!several()) return std::move(found.assembly.resources);
  const bool is_stale = found.version != version_;
  if (part.set_devices(std::move(found.own))) ++version_;
  if (!all_have_looked()) return std::nullopt;
  taken_ = true;
  if (!is_stale) return std::move(found.assembly.resources);
  // Another one has found something else meanwhile. Who holds what of that, the next look knows.
  part.hint();
  return join(this->found(), listed).resources;
}

std::optional<DevicesOf> Parts::take_what_is_due(const Lists& listed) {
  if (!is_due()) return std::nullopt;
  taken_ = true;
  if (!several()) {
    // Where others have gone, and its own look may hang.
    const auto devices = first().devices();
    first().set_devices(nullptr);
    return devices ? std::optional(*devices) : std::nullopt;
  }
  Assembly all = join(found(), listed);
  if (all.resources.empty()) return std::nullopt;
  hint();
  return std::move(all.resources);
}

}  // namespace plughost
