#include "daemon/drain/drain_controller.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "base/system/files.hpp"
#include "base/text/text.hpp"
#include "daemon/status/status.hpp"
#include "host/hardware/machine_files.hpp"

namespace plughost {

std::string error_of(const DrainOrder& order) {
  if (!order.terms) return {};
  if (const auto& duration = order.terms->duration;
      duration && (*duration < DrainOrder::kShortest || *duration > DrainOrder::kLongest))
    return "a device is drained for a second to 1000 days";
  return reason_error(order.terms->reason);
}

std::string why_not(const DrainOrder& order, const DrainSet::Name& name, const DrainSet& drains,
                    ResourceSnapshots snapshots) {
  if (std::string error = error_of(order); !error.empty()) return error;
  if (drains.find(name)) return {};  // a drained device may be absent
  if (name.resource.empty())
    return "all drained devices are known: nothing is drained because of a damaged file";
  std::vector<std::string> known;
  const Device* const listed = device_named(snapshots, name.resource, name.device);
  if (!order.terms && listed && listed->lasting) return {};
  if (!order.terms) {
    for (const DrainSet::Name& all :
         {DrainSet::Name{.resource = name.resource, .device = {}}, DrainSet::Name{}}) {
      if (listed && drains.find(all))
        return name.text() + " is drained together with " + (all.resource.empty() ? "" : "every device of ") +
               all.text() + ": drain those that must stay out, then `plughost undrain " +
               (all.resource.empty() ? "--unreadable" : all.resource) + '`';
    }
    for (const auto& [each, drain] : drains.all()) known.push_back(each.text());
    return no_such("drained device", name.text(), known);
  }
  const auto snapshot = std::ranges::find(snapshots, name.resource, &ResourceSnapshot::resource);
  if (snapshot == snapshots.end()) {
    for (const auto& each : snapshots) known.push_back(each->resource);
    std::ranges::sort(known);
    return no_such("resource", name.resource, known);
  }
  if (listed || name.device.empty()) return {};
  for (const Device& device : (*snapshot)->inventory.devices()) known.push_back(device.id);
  return no_such("device of " + name.resource, name.device, known);
}

Json DrainAnswer::json() const {
  if (!error.empty()) return {{"error", error}};
  Json told{{"error", ""}, {"resource", name.resource}, {"device", name.device}};
  told["drained"] = drain.has_value();
  if (drain) {
    told["what"] = drain->text();
    told["reason"] = drain->reason;
    told["since"] = time_json(drain->since);
    told["until"] = time_json(drain->until);
    told["former"] = former;
  }
  told["unsaved"] = unsaved;
  const auto sick = std::ranges::find_if(devices, [](const Device& device) { return !device.healthy(); });
  told["health"] = sick == devices.end() ? "Healthy" : "Unhealthy";
  told["trouble"] = sick == devices.end() ? "" : sick->reason();
  told["holders"] = Json::Array();
  for (const Device& device : devices) {
    const Json holders = holders_json(device, name.resource, holdings.get());
    for (const Json& holder : holders.array()) told["holders"].push_back(holder);
  }
  told["holdersUnknown"] = holders_unknown;
  return told;
}

const Device* device_named(const Inventory& inventory, std::string_view id) {
  if (const Device* const found = inventory.find(id)) return found;
  return device_of_id(inventory.devices(), id);
}

const Device* device_named(ResourceSnapshots snapshots, std::string_view resource, std::string_view id) {
  const auto snapshot = std::ranges::find(snapshots, resource, &ResourceSnapshot::resource);
  return snapshot == snapshots.end() ? nullptr : device_named((*snapshot)->inventory, id);
}

namespace {

// Calls `use` with each listed device that the name means; with none for every device of the node.
template <typename Use>
void for_each_device(const DrainSet::Name& name, ResourceSnapshots snapshots, Use use) {
  const auto snapshot = std::ranges::find(snapshots, name.resource, &ResourceSnapshot::resource);
  if (snapshot == snapshots.end()) return;
  if (name.device.empty())
    std::ranges::for_each((*snapshot)->inventory.devices(), use);
  else if (const Device* const device = device_named((*snapshot)->inventory, name.device))
    use(*device);
}

}  // namespace

DrainController::DrainController(EventLoop& loop, Workers& workers, Log& log, std::shared_ptr<DrainFile> file,
                                 Owner& owner)
    : log_(log),
      owner_(owner),
      file_(std::move(file)),
      latest_(
          loop, workers,
          [&log, path = file_->path().string()](const std::string& error) {
            if (error.empty())
              log.info("drained devices saved", {{"file", path}});
            else
              log.error("cannot save drained devices: a restart loses them", {{"why", error}});
          },
          file_->path().string() + " does not respond: its file system hangs"),
      timer_(loop, [this] { on_time(); }) {
  DrainSet::Parsed parsed = file_->read();
  drains_ = std::move(parsed.drains);
  const Log::Fields what{{"file", file_->path().string()}, {"why", joined(parsed.errors, "; ")}};
  if (parsed.incomplete) {
    log_.error("cannot read which devices are drained: every device is out of service", what);
    drains_.set({},
                {.reason = "the drained devices cannot be read; `plughost undrain --unreadable` ends this",
                 .since = Drain::Clock::now()});
  } else if (!parsed.errors.empty()) {
    log_.error("cannot read the terms of all drains: these devices stay drained", what);
  }
  if (drains_.count() > 0)
    log_.info("devices still drained from before the start", {{"count", std::to_string(drains_.count())}});
  // Saves the valid drains of a broken file, because the file has been set aside.
  if (expire() || !parsed.errors.empty()) save(nullptr);
  arm();
}

void DrainController::carry_out(const DrainOrder& order, Done done) {
  const auto snapshots = owner_.snapshots();
  const Device* const device = device_named(snapshots, order.resource, order.device);
  DrainAnswer answer{.name = {order.resource, device ? device->id : order.device}};
  const DrainSet::Name name = answer.name;
  answer.error = why_not(order, name, drains_, snapshots);
  if (!answer.error.empty()) return done(answer);
  if (order.terms) {
    if (const Drain* const former = drains_.find(name)) answer.former = former->text();
    const auto now = Drain::Clock::now();
    answer.drain = Drain{.reason = order.terms->reason, .since = now};
    if (order.terms->duration) answer.drain->until = now + *order.terms->duration;
  }
  if (!order.terms) {
    for_each_device(name, snapshots, [&](const Device& each) {
      if (each.lasting) owner_.forgive({name.resource, each.id});
    });
  }
  if (!answer.drain && !drains_.find(name)) return this->answer(std::move(answer), done);
  const std::optional<Drain> drain = answer.drain;
  if (drain)
    drains_.set(name, *drain);
  else
    drains_.remove(name);
  change([this, answer = std::move(answer), done = std::move(done)](const std::string& unsaved) mutable {
    answer.unsaved = unsaved;
    this->answer(std::move(answer), done);
  });
  if (drain)
    log_.info("device drained",
              {{"resource", name.resource}, {"device", name.device}, {"why", drain->text()}});
  else
    log_.info("device undrained", {{"resource", name.resource}, {"device", name.device}, {"why", "undrain"}});
}

void DrainController::answer(DrainAnswer answer, const Done& done) {
  owner_.read_holdings([this, answer = std::move(answer), done](const PodResources::Answer& told) mutable {
    const bool whole = answer.name.device.empty();
    bool has_sick = false;
    for_each_device(answer.name, owner_.snapshots(), [&](const Device& listed) {
      // A resource can have 50,000 devices: only those that the answer's JSON shows are copied.
      const bool held = told.holdings && !held_ids(*told.holdings, answer.name.resource, listed).empty();
      if (whole && !held && (has_sick || listed.healthy())) return;
      has_sick = has_sick || !listed.healthy();
      Device& device = answer.devices.emplace_back(listed);
      // The list contains the lasting error until the next scan.
      if (!device.lasting || answer.drain) return;
      device.error.clear();
      std::erase_if(device.reasons, [](const Reason& reason) { return reason.who == Reason::Who::kDrain; });
    });
    answer.holdings = told.holdings;
    answer.holders_unknown = told.why;
    done(answer);
  });
}

bool DrainController::expire() {
  const std::vector<DrainSet::Name> over = drains_.expire(Drain::Clock::now());
  for (const DrainSet::Name& name : over)
    log_.info("device undrained",
              {{"resource", name.resource}, {"device", name.device}, {"why", "its time is over"}});
  return !over.empty();
}

void DrainController::on_time() {
  if (expire()) change(nullptr);
  arm();
}

void DrainController::change(CoalescingWriter::Told saved) {
  save(std::move(saved));
  owner_.on_drains();
  arm();
}

void DrainController::save(CoalescingWriter::Told saved) {
  latest_.write([file = file_, text = drains_.text()] { return file->write(text); }, std::move(saved));
}

void DrainController::arm() {
  const auto end = drains_.next_end();
  if (!end) return timer_.cancel();
  timer_.arm(wait_for(*end, Drain::Clock::now()));
}

Drain::Clock::duration DrainController::wait_for(Drain::Clock::time_point end, Drain::Clock::time_point now) {
  return std::clamp<Drain::Clock::duration>(end - now, Drain::Clock::duration::zero(), kLongestWait);
}

namespace {

namespace fs = std::filesystem;

constexpr int kMostBroken = 100;

}  // namespace

DrainSet::Parsed DrainFile::read() {
  errno = 0;
  const std::optional<std::string> text = file_text(path_, kMostBytes);
  const std::error_code error(errno, std::generic_category());
  if (!text && error == std::errc::no_such_file_or_directory) return {};
  DrainSet::Parsed parsed;
  if (text && text->size() < kMostBytes)
    parsed = DrainSet::parse(*text);
  else
    parsed = {
        .drains = {},
        .errors = {text ? "it is larger than " + std::to_string(kMostBytes >> 20) + " MiB" : error.message()},
        .incomplete = true};
  if (parsed.errors.empty()) return parsed;
  broken_ = true;
  try {
    parsed.errors.push_back("the file is kept as " + set_aside().string());
  } catch (const std::system_error& failure) {
    parsed.errors.push_back("the file cannot be set aside: " + failure.code().message());
  }
  return parsed;
}

fs::path DrainFile::set_aside() {
  fs::path aside = path_.string() + ".broken";
  for (int n = 2; n <= kMostBroken && fs::exists(aside); ++n)
    aside = path_.string() + ".broken-" + std::to_string(n);
  int renamed = ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, aside.c_str(), RENAME_NOREPLACE);
  // Some file systems do not support RENAME_NOREPLACE.
  if (renamed < 0 && errno == EINVAL && !fs::exists(aside)) renamed = ::rename(path_.c_str(), aside.c_str());
  check(renamed, "rename");
  broken_ = false;
  return aside;
}

std::string DrainFile::write(const std::string& text) {
  try {
    if (!fs::exists(path_.parent_path())) {
      fs::create_directories(path_.parent_path());
      fs::permissions(path_.parent_path(), fs::perms(0700));
    }
    if (broken_) set_aside();
    replace_file(path_, path_.string() + ".tmp", text, FileFor::kOurselves);
    return {};
  } catch (const std::system_error& exception) {
    return path_.string() + " cannot be written: " + exception.code().message();
  }
}

}  // namespace plughost
