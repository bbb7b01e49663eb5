#include "supervisor/scanner.hpp"

#include <algorithm>
#include <set>
#include <variant>

namespace plughost {

namespace {

// With more names than this in one directory, one watch for all of it is cheaper.
constexpr std::size_t kNamesPerDirectory = 8;

std::set<WatchedDirectory> few_watches(std::span<const WatchedDirectory> wanted) {
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

}  // namespace

// What a worker brings back.
struct Scanner::Outcome {
  std::variant<Found, std::string> found;  // or why it could not look
  Clock::duration took{};
};

Scanner::Scanner(Platform& platform, const ResourceConfig& entry, Hooks hooks, ScanSchedule former,
                 std::chrono::milliseconds deadline)
    : platform_(platform),
      source_(entry.source),
      recipe_(entry.recipe),
      hooks_(std::move(hooks)),
      schedule_(former),
      deadline_(deadline),
      timer_(platform.loop, [this] { look(); }),
      watch_(source_->watch(platform.programs, [this] { hint(); })) {
  schedule_.replace(Clock::now());
  look();
}

void Scanner::hint() {
  schedule_.hint(Clock::now());
  arm();
}

void Scanner::arm() {
  const auto due = schedule_.due();
  if (due == ScanSchedule::kNever)
    timer_.cancel();
  else
    timer_.arm_at(due);
}

void Scanner::look() {
  schedule_.begin(Clock::now());
  arm();
  if (watch_)
    watch_->before_scan(lifetime_.bound([this] { look_on_worker(); }));
  else
    look_on_worker();
}

void Scanner::look_on_worker() {
  const auto outcome = std::make_shared<Outcome>();
  platform_.workers.run(
      [outcome, source = source_, recipe = recipe_, host = platform_.host, listed = hooks_.listed()] {
        const auto began = Clock::now();
        try {
          Scan seen = source->look(host, recipe->choice);
          Assembly assembly = assemble(*recipe, std::move(seen.devices), listed);
          outcome->found = Found{std::move(seen), std::move(assembly)};
        } catch (const std::exception& error) {
          outcome->found = std::string(error.what());
        }
        outcome->took = Clock::now() - began;
      },
      lifetime_.bound([this, outcome] { on_ended(*outcome); }), deadline_,
      lifetime_.bound([this] { on_overdue(); }));
}

void Scanner::on_overdue() {
  schedule_.overdue();
  hooks_.stalled();
}

void Scanner::on_ended(Outcome& outcome) {
  platform_.tallies.scans.add(outcome.took);
  const auto now = Clock::now();
  if (const auto* why = std::get_if<std::string>(&outcome.found)) {
    schedule_.fail(now);
    hooks_.failed(*why);
  } else {
    auto& found = std::get<Found>(outcome.found);
    schedule_.succeed(now, found.scan.look_again);
    schedule_.change_at(hooks_.found(found));
    if (follow(found.scan)) schedule_.follow_more(now);
  }
  arm();
}

bool Scanner::follow(const Scan& scan) {
  const std::set<WatchedDirectory> few = few_watches(scan.watch);
  std::erase_if(directories_, [&](const auto& item) { return !few.contains(item.first); });
  bool more = false;
  for (const WatchedDirectory& each : few) {
    if (directories_.contains(each)) continue;
    directories_[each] = platform_.directories.watch(platform_.host.at(each.path), each.name,
                                                     [this](std::string_view) { hint(); });
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
  return more;
}

}  // namespace plughost
