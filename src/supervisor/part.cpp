#include "supervisor/part.hpp"

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
  return {.name = config_.recipe->name.text(),
          .where = config_.where,
          .unmatched = {unmatched_.begin(), unmatched_.end()},
          .scans_completed = scans_completed_,
          .scans_failed = scans_failed_,
          .stalled = schedule().stalled(),
          .required = config_.recipe->required,
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
                      {{"entry", config_.recipe->name.text()}, {"why", why}, {"at", config_.where}});
}

void Part::on_stalled() {
  has_looked_ = true;
  stalled_ = true;
  note(stall_text());
  owner_.on_trouble();
  platform_.log.error("device scan takes too long: the old list stays",
                      {{"entry", config_.recipe->name.text()},
                       {"seconds", std::to_string(Scanner::kDeadline.count())},
                       {"at", config_.where}});
}

void Part::on_recovered() {
  if (!std::exchange(stalled_, false)) return;
  owner_.on_trouble();
  platform_.log.info("device scan finished", {{"entry", config_.recipe->name.text()}});
}

void Part::tell(const Scan& scan, const Assembly& assembly) {
  std::set<std::string> remarks(scan.remarks.begin(), scan.remarks.end());
  remarks.merge(std::set<std::string>(assembly.remarks.begin(), assembly.remarks.end()));
  for (std::string& text : unfinished(scan.unfinished)) remarks.insert(std::move(text));
  for (const std::string& text : remarks) {
    if (!remarked_.contains(text))
      platform_.log.warn(text, {{"entry", config_.recipe->name.text()}, {"at", config_.where}});
  }
  remarked_ = std::move(remarks);

  std::set<std::string> unmatched(scan.unmatched.begin(), scan.unmatched.end());
  unmatched.insert(assembly.unmatched.begin(), assembly.unmatched.end());
  for (const std::string& place : unmatched) {
    if (!unmatched_.contains(place))
      platform_.log.info("pattern matches no device on this node",
                         {{"entry", config_.recipe->name.text()}, {"pattern", place}, {"at", config_.where}});
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

}  // namespace plughost
