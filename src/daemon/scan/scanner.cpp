#include "daemon/scan/scanner.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>
#include <variant>

#include "host/hardware/device_nodes.hpp"

namespace plughost {
namespace {

std::vector<Ledger::Name> others_than(const std::map<std::string, Inventory>& listed,
                                      const DevicesOf& resources) {
  std::vector<Ledger::Name> others;
  for (const auto& [resource, devices] : resources) {
    const auto before = listed.find(resource);
    if (before == listed.end()) continue;
    for_each_pair(before->second.devices(), devices,
                  [&, &name = resource](const Device* old, const Device* now) {
                    const bool has_gone = old && !now && !old->gone;
                    if (has_gone || (old && now && is_elsewhere(*old, *now)))
                      others.push_back({name, old->id});
                  });
  }
  return others;
}

// Adds devices that were listed and are away now: their hardware is present with its driver, but another
// network namespace has the interface or the RDMA device. A device that was only renamed is not away: the
// scan has it under its new name.
void add_away(const HostRoot& host, const std::map<std::string, Inventory>& listed, DevicesOf& resources) {
  const auto is_empty = [&](const std::string& directory) {
    return host.glob(directory + "/*").paths.empty() &&
           host.exists((std::filesystem::path(directory).parent_path() / "driver").string());
  };
  for (auto& [resource, devices] : resources) {
    const auto before = listed.find(resource);
    if (before == listed.end()) continue;
    std::vector<Device> away;
    for_each_pair(before->second.devices(), devices, [&](const Device* old, const Device* now) {
      if (now || std::ranges::none_of(old->hardware->in_namespace, is_empty)) return;
      Device& device = away.emplace_back(*old);
      device.reasons.clear();
      device.gone = false;
      device.away = true;
      device.error = "it, or its interface, is in another network namespace";
    });
    if (away.empty()) continue;
    std::ranges::move(away, std::back_inserter(devices));
    sort_by_id(devices);
  }
}

// Joins the results of all entries of the resource, including this entry's new result.
void join_with(Scanner::Siblings siblings, const std::map<std::string, Inventory>& listed,
               Scanner::Found& found) {
  found.version = siblings.version;
  if (siblings.found.empty()) return;
  found.own = std::make_shared<const DevicesOf>(std::move(found.assembly.resources));
  siblings.found[siblings.own].devices = found.own;
  Assembly joint = join(siblings.found, listed);
  found.assembly.resources = std::move(joint.resources);
  found.joint_remarks = std::move(joint.remarks);
}

}  // namespace

struct Scanner::Outcome {
  std::variant<Found, std::string> found;  // or why the scan failed
  Clock::duration took{};
};

Scanner::Scanner(Platform& platform, const ResourceConfig& entry, Owner& owner, ScanSchedule former,
                 std::chrono::milliseconds deadline)
    : platform_(platform),
      source_(entry.source),
      spec_(entry.spec),
      owner_(owner),
      schedule_(former),
      deadline_(deadline),
      directories_(platform.directories, platform.host, [this] { request_scan(); }),
      timer_(platform.loop, [this] { scan(); }),
      watch_(source_->watch(platform.programs, [this] { request_scan(); })) {
  source_->rest(false);  // a former scanner may have left the source at rest
  schedule_.replace(Clock::now());
  scan();
}

void Scanner::rest(bool at_rest) {
  if (std::exchange(at_rest_, at_rest) == at_rest) return;
  source_->rest(at_rest);
  request_scan();
}

void Scanner::request_scan() {
  schedule_.request_scan(Clock::now());
  arm();
}

void Scanner::arm() {
  const auto due = schedule_.due();
  if (due == ScanSchedule::kNever)
    timer_.cancel();
  else
    timer_.arm_at(due);
}

void Scanner::set_fault(const Device& device, const std::string& fault) {
  source_->set_fault(device, fault);
  request_scan();
}

void Scanner::scan() {
  schedule_.begin(Clock::now());
  arm();
  if (watch_)
    watch_->before_scan(lifetime_.bound([this] { prepare(); }));
  else
    prepare();
}

void Scanner::prepare() {
  owner_.prepare(lifetime_.bound([this](HeldIds held) { scan_on_worker(std::move(held)); }));
}

void Scanner::scan_on_worker(HeldIds held) {
  const auto outcome = std::make_shared<Outcome>();
  platform_.workers.run(
      [outcome, source = source_, spec = spec_, host = platform_.host, listed = owner_.listed(),
       siblings = owner_.siblings(), held = std::move(held)] {
        const auto began = Clock::now();
        try {
          Scan seen = source->scan_chosen(host, *spec);
          const Paths paths{[&](const std::string& path) { return node_behind(host, path); },
                            [&](const std::string& path) { return unit_of(host, path); }};
          const auto was_given_it = [&](const std::string& resource, const std::string& id,
                                        const Device& device) {
            return held.checkpoint ? was_given(*held.checkpoint, resource, id, device, paths)
                                   : GivenBy::kNothing;
          };
          Assembly assembly = assemble(*spec, std::move(seen.devices), listed, was_given_it);
          for (auto& [resource, devices] : assembly.resources) {
            ReasonsToCheck again = check_devices(host, resource, *spec, seen.numbers, devices);
            std::ranges::move(again.directories, std::back_inserter(seen.watch));
            std::ranges::move(again.subsystems, std::back_inserter(seen.subsystems));
            find_units(host, *spec, devices);
          }
          add_away(host, listed, assembly.resources);
          Found found{.scan = std::move(seen), .assembly = std::move(assembly)};
          join_with(siblings, listed, found);
          found.adoptions = adopt(*spec, found.assembly.resources, listed, held, paths);
          found.others = others_than(listed, found.assembly.resources);
          outcome->found = std::move(found);
        } catch (const std::exception& exception) {
          outcome->found = std::string(exception.what());
        }
        outcome->took = Clock::now() - began;
      },
      lifetime_.bound([this, outcome] { on_ended(*outcome); }), deadline_,
      lifetime_.bound([this] { on_overdue(); }));
}

void Scanner::on_overdue() {
  schedule_.overdue();
  owner_.on_stalled();
}

void Scanner::on_ended(Outcome& outcome) {
  platform_.tallies.scans.add(outcome.took);
  const auto now = Clock::now();
  if (const auto* why = std::get_if<std::string>(&outcome.found)) {
    schedule_.fail(now);
    owner_.on_failed(*why);
  } else {
    auto& found = std::get<Found>(outcome.found);
    schedule_.succeed(now, found.scan.rescan_after);
    schedule_.change_at(owner_.on_found(found));
    if (follow(found.scan)) schedule_.follow_more(now);
  }
  arm();
}

bool Scanner::follow(const Scan& scan) {
  directories_.follow(scan.watch);
  bool more = false;
  std::erase_if(subsystems_, [&](const auto& item) {
    return std::ranges::find(scan.subsystems, item.first) == scan.subsystems.end();
  });
  for (const std::string& subsystem : scan.subsystems) {
    std::unique_ptr<UdevWatch>& watch = subsystems_[subsystem];
    if (watch) continue;
    watch = platform_.devices.watch(subsystem, [this] { request_scan(); });
    more = true;
  }
  return more;
}

}  // namespace plughost
