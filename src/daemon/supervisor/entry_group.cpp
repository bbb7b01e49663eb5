#include "daemon/supervisor/entry_group.hpp"

#include <algorithm>
#include <utility>

#include "base/text/text.hpp"

namespace plughost {
namespace {

const std::string& stall_text() {
  static const std::string kText = "its device scan has not ended within " +
                                   std::to_string(Scanner::kDeadline.count()) +
                                   " s: a driver or a file system hangs";
  return kText;
}

std::shared_ptr<const DevicesOf> found_by_only_one(const EntryGroup::Lists& lists) {
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

EntryScan::EntryScan(Platform& platform, EntryScanOwner& owner, ResourceConfig config)
    : platform_(platform), owner_(owner), config_(std::move(config)) {}

void EntryScan::begin(ScanSchedule former) {
  stalled_ = former.stalled();
  Scanner::Owner& owner = *this;  // make_unique cannot convert to a private base
  scanner_ = std::make_unique<Scanner>(platform_, config_, owner, former);
}

bool EntryScan::set_devices(std::shared_ptr<const DevicesOf> devices) {
  const bool same = devices_ && devices && *devices_ == *devices;
  devices_ = std::move(devices);
  return !same;
}

std::optional<std::string> EntryScan::stall() const {
  return stalled_ ? std::optional(stall_text()) : std::nullopt;
}

void EntryScan::record_error(const std::string& error) {
  last_error_ = error;
  last_error_at_ = std::chrono::system_clock::now();
}

EntryStatus EntryScan::status() const {
  return {.name = config_.spec->name.text(),
          .where = config_.where,
          .unmatched = {unmatched_.begin(), unmatched_.end()},
          .no_devices = no_devices_,
          .scans_completed = scans_completed_,
          .scans_failed = scans_failed_,
          .stalled = schedule().stalled(),
          .required = config_.spec->required,
          .error = last_error_,
          .error_at = last_error_at_};
}

EntryScan::Clock::time_point EntryScan::on_found(Scanner::Found& found) {
  on_recovered();
  ++scans_completed_;
  scan_error_.clear();
  record_funnels(found);
  return owner_.accept(*this, found);
}

void EntryScan::record_funnels(const Scanner::Found& found) {
  if (found.scan.undecided) return;
  const DevicesOf& own = found.own ? *found.own : found.assembly.resources;
  const bool none = std::ranges::all_of(own, [](const auto& item) { return item.second.empty(); });
  no_devices_ = none ? why_no_devices(found.scan.funnels) : "";
  std::set<std::string> funnels;
  for (const Funnel& funnel : found.scan.funnels)
    funnels.insert(funnel.selector + ": " + joined(funnel.lines(), "; "));
  for (const std::string& text : funnels) {
    if (!funnels_.contains(text))
      platform_.log.debug("device scan",
                          {{"entry", config_.spec->name.text()}, {"found", text}, {"at", config_.where}});
  }
  funnels_ = std::move(funnels);
}

void EntryScan::on_failed(const std::string& why) {
  on_recovered();
  ++scans_failed_;
  has_scanned_ = true;
  record_error("device scan failed: " + why);
  owner_.on_error();
  if (std::exchange(scan_error_, why) == why) return;
  platform_.log.error("device scan failed: the old list stays",
                      {{"entry", config_.spec->name.text()}, {"why", why}, {"at", config_.where}});
}

void EntryScan::on_stalled() {
  has_scanned_ = true;
  stalled_ = true;
  record_error(stall_text());
  owner_.on_error();
  platform_.log.error("device scan takes too long: the old list stays",
                      {{"entry", config_.spec->name.text()},
                       {"seconds", std::to_string(Scanner::kDeadline.count())},
                       {"at", config_.where}});
}

void EntryScan::on_recovered() {
  if (!std::exchange(stalled_, false)) return;
  owner_.on_error();
  platform_.log.info("device scan finished", {{"entry", config_.spec->name.text()}});
}

void EntryScan::log_remarks(const Scan& scan, const Assembly& assembly) {
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

std::vector<std::string> EntryScan::unfinished(const std::vector<std::string>& names) {
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

EntryGroup::EntryGroup(Platform& platform, EntryScanOwner& owner, Configs configs)
    : platform_(platform), owner_(owner) {
  for (ResourceConfig& config : configs) make(std::move(config));
}

EntryScan* EntryGroup::make(ResourceConfig config) {
  return entries_.emplace_back(std::make_unique<EntryScan>(platform_, owner_, std::move(config))).get();
}

void EntryGroup::begin() {
  for (const auto& entry : entries_) entry->begin();
}

void EntryGroup::update(Configs configs, const Lists& listed) {
  if (!several() && configs.size() > 1) first().set_devices(found_by_only_one(listed));
  auto former = std::exchange(entries_, {});
  std::vector<EntryScan*> begun;
  for (ResourceConfig& config : configs) {
    const auto same = std::ranges::find_if(
        former, [&](const auto& entry) { return entry && entry->config().content == config.content; });
    if (same == former.end()) {
      begun.push_back(make(std::move(config)));
    } else {
      (*same)->set_where(config.where);
      entries_.push_back(std::move(*same));
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
  for (const auto& entry : entries_)
    if (std::ranges::find(begun, entry.get()) == begun.end()) entry->request_scan();
}

void EntryGroup::set_where(const Configs& configs) {
  for (std::size_t i = 0; i < entries_.size(); ++i) entries_[i]->set_where(configs[i].where);
}

ResourceConfig EntryGroup::whole() const {
  ResourceConfig all = entries_.front()->config();
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    const ResourceConfig& other = entries_[i]->config();
    all.labels.insert(all.labels.end(), other.labels.begin(), other.labels.end());
    all.node_resources.insert(all.node_resources.end(), other.node_resources.begin(),
                              other.node_resources.end());
  }
  return all;
}

void EntryGroup::request_scan() {
  for (const auto& entry : entries_) entry->request_scan();
}

void EntryGroup::set_fault(const Device& device, const std::string& fault) {
  for (const auto& entry : entries_)
    if (!device.terms || device.terms == entry->config().spec) entry->set_fault(device, fault);
}

void EntryGroup::rest_drained(const Lists& listed) {
  for (const auto& entry : entries_) {
    bool some = false;
    const auto out_of_use = [&](const Device& device) {
      if (device.gone || (device.terms && device.terms != entry->config().spec)) return true;
      some = true;
      return device.drained();
    };
    const bool all = std::ranges::all_of(
        listed, [&](const auto& item) { return std::ranges::all_of(item.second.devices(), out_of_use); });
    entry->rest(some && all);
  }
}

bool EntryGroup::names_by_cdi() const {
  return std::ranges::any_of(entries_,
                             [](const auto& entry) { return entry->config().spec->cdi != CdiNames::kNone; });
}

std::vector<Stall> EntryGroup::stalls() const {
  std::vector<Stall> stalls;
  for (const auto& entry : entries_) {
    if (auto why = entry->stall())
      stalls.push_back({.terms = several() ? entry->config().spec : nullptr, .why = std::move(*why)});
  }
  return stalls;
}

std::vector<EntryStatus> EntryGroup::status() const {
  std::vector<EntryStatus> all;
  for (const auto& entry : entries_) all.push_back(entry->status());
  return all;
}

Scanner::Siblings EntryGroup::siblings_of(const EntryScan& entry) const {
  if (!several()) return {.found = {}, .version = version_};
  const auto own = std::ranges::find_if(entries_, [&](const auto& each) { return each.get() == &entry; });
  return {.found = found(), .own = static_cast<std::size_t>(own - entries_.begin()), .version = version_};
}

std::vector<EntryFound> EntryGroup::found() const {
  std::vector<EntryFound> found;
  for (const auto& entry : entries_)
    found.push_back({.terms = entry->config().spec, .devices = entry->devices()});
  return found;
}

bool EntryGroup::all_have_scanned() const {
  return std::ranges::all_of(entries_, [](const auto& entry) { return entry->has_scanned(); });
}

bool EntryGroup::counts(EntryScan& entry, const Scanner::Found& found) const {
  if (found.version < updated_) return false;
  entry.mark_scanned();
  return true;
}

std::optional<DevicesOf> EntryGroup::merge(EntryScan& entry, Scanner::Found& found, const Lists& listed) {
  if (!several()) return std::move(found.assembly.resources);
  const bool is_stale = found.version != version_;
  if (entry.set_devices(std::move(found.own))) ++version_;
  if (!all_have_scanned()) return std::nullopt;
  taken_ = true;
  if (!is_stale) return std::move(found.assembly.resources);
  // Another entry's result has changed during the scan. A further scan finds the holders of that result.
  entry.request_scan();
  return join(this->found(), listed).resources;
}

std::optional<DevicesOf> EntryGroup::merge_due(const Lists& listed) {
  if (!is_due()) return std::nullopt;
  taken_ = true;
  if (!several()) {
    // The other entries were removed. This entry's next scan may stall, so its last result is used.
    const auto devices = first().devices();
    first().set_devices(nullptr);
    return devices ? std::optional(*devices) : std::nullopt;
  }
  Assembly all = join(found(), listed);
  if (all.resources.empty()) return std::nullopt;
  request_scan();
  return std::move(all.resources);
}

}  // namespace plughost
