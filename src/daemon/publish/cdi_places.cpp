#include "daemon/publish/cdi_places.hpp"

#include <mutex>
#include <system_error>
#include <utility>

#include "base/system/files.hpp"
#include "host/hardware/machine_files.hpp"
#include "model/allocate/cdi.hpp"
#include "model/assume/answer.hpp"

namespace plughost {

// Shared with the worker, which may stall and outlive the writer.
struct CdiWriter::Shared {
  std::mutex mutex;  // after the writer's end, the remaining jobs may start in parallel
  CdiDirectory directory;
};

const std::string& CdiWriter::Outcome::error_of(const std::string& resource) const {
  const auto found = by_resource.find(resource);
  return found == by_resource.end() ? common : found->second;
}

CdiWriter::CdiWriter(Workers& workers, HostRoot host, std::filesystem::path directory, std::string owner,
                     std::chrono::milliseconds deadline)
    : workers_(workers),
      directory_(std::move(directory)),
      owner_(std::move(owner)),
      deadline_(deadline),
      hung_text_("the directory of CDI specifications, " + directory_.string() +
                 ", does not respond: its file system hangs"),
      shared_(new Shared{.mutex = {}, .directory = {std::move(host), directory_, owner_}}) {}

CdiWriter::~CdiWriter() {
  if (!waiting_.empty()) start();
}

void CdiWriter::write(std::vector<CdiFile> files, std::vector<ResourceSnapshot> snapshots, const Done& done) {
  const auto outcome = std::make_shared<Outcome>();
  add({.body =
           [outcome, files = std::move(files), snapshots = std::move(snapshots)](CdiDirectory& directory) {
             for (const CdiFile& file : files)
               if (std::string error = directory.put(file.name, file.text); !error.empty())
                 outcome->common = std::move(error);
             for (const ResourceSnapshot& snapshot : snapshots)
               if (std::string error = directory.specify(snapshot); !error.empty())
                 outcome->by_resource[snapshot.resource] = std::move(error);
           },
       .done = [outcome, done] { done(*outcome); },
       .overdue = [done, why = hung_text_] { done({.common = why, .by_resource = {}}); }});
}

void CdiWriter::remove_others(std::set<std::string> resources) {
  add({.body = [resources =
                    std::move(resources)](CdiDirectory& directory) { directory.remove_others(resources); },
       .done = [] {},
       .overdue = [] {}});
}

void CdiWriter::write_late(std::string name, std::string text,
                           const std::function<void(const std::string& error)>& done) {
  const auto error = std::make_shared<std::string>();
  add({.body = [error, name = std::move(name),
                text = std::move(text)](CdiDirectory& directory) { *error = directory.put_late(name, text); },
       .done = [error, done] { done(*error); },
       .overdue = [done, why = hung_text_] { done(why); }});
}

void CdiWriter::remove_other_late(std::set<std::string> names) {
  add({.body = [names = std::move(names)](CdiDirectory& directory) { directory.remove_other_late(names); },
       .done = [] {},
       .overdue = [] {}});
}

void CdiWriter::add(Work work) {
  if (hung_) return work.overdue();
  waiting_.push_back(std::move(work));
  if (!busy_) start();
}

void CdiWriter::start() {
  busy_ = true;
  struct Batch {
    std::vector<Work> works;
    bool told = false;  // the end or the stall of the batch has been reported
  };
  const auto batch = std::make_shared<Batch>();
  batch->works.swap(waiting_);
  const auto tell = [batch](const std::function<void()> Work::*what) {
    if (std::exchange(batch->told, true)) return;
    for (const Work& work : batch->works) (work.*what)();
  };
  workers_.run(
      [batch, shared = shared_] {
        const std::lock_guard lock(shared->mutex);
        for (const Work& work : batch->works) work.body(shared->directory);
      },
      [tell, end = lifetime_.bound([this] { on_end(); })] {
        end();
        tell(&Work::done);
      },
      deadline_,
      [tell, overdue = lifetime_.bound([this] { on_overdue(); })] {
        overdue();
        tell(&Work::overdue);
      });
}

void CdiWriter::on_end() {
  busy_ = hung_ = false;
  if (!waiting_.empty()) start();
}

void CdiWriter::on_overdue() {
  hung_ = true;
  for (const Work& work : std::exchange(waiting_, {})) work.overdue();
}

namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& file) {
  std::error_code failed;
  return fs::exists(file, failed);
}

// Returns "" if there is no file.
std::string content_of(const fs::path& file) {
  std::error_code failed;
  if (!fs::is_regular_file(file, failed)) return {};
  return file_text(file, std::string::npos).value_or("");
}

std::string advice(const std::error_code& error, const fs::path& directory) {
  if (error == std::errc::read_only_file_system || error == std::errc::permission_denied ||
      error == std::errc::operation_not_permitted)
    return "plughost's unit needs ReadWritePaths=" + directory.string() + ", and the directory to be there";
  if (error == std::errc::no_space_on_device) return "the file system is full";
  return "`cdi: {directory: …}` names a different directory, which the container runtime must read, too";
}

}  // namespace

CdiDirectory::CdiDirectory(HostRoot host, fs::path directory, std::string owner)
    : host_(std::move(host)), path_(std::move(directory)), owner_(std::move(owner)) {}

std::string CdiDirectory::specify(const ResourceSnapshot& snapshot) {
  if (!names_by_cdi(snapshot)) return {};
  const std::string file = cdi_file_name(owner_, snapshot.resource);
  const auto known = specified_.find(snapshot.resource);
  const bool same = known != specified_.end() && known->second.spec == snapshot.spec &&
                    known->second.inventory == snapshot.inventory;
  if (same && is_there(at(file))) return {};
  const std::string text = cdi_specification(snapshot.resource, *snapshot.spec, snapshot.inventory);
  const std::string error = text.empty() ? remove(file) : put(file, text);
  if (error.empty())
    specified_[snapshot.resource] = {snapshot.inventory, snapshot.spec};
  else
    specified_.erase(snapshot.resource);
  return error;
}

std::string CdiDirectory::put(const std::string& file, const std::string& text) {
  try {
    if (content_of(at(file)) != text) replace(file, text);
    return {};
  } catch (const std::system_error& exception) {
    return "the CDI specification " + (path_ / file).string() +
           " cannot be written: " + exception.code().message() + "; " + advice(exception.code(), path_);
  }
}

// The temporary name: hidden, and without the suffix that runtimes search for.
std::string CdiDirectory::unfinished(const std::string& file) const {
  return '.' + owner_ + '-' + file + ".tmp";
}

void CdiDirectory::replace(const std::string& file, const std::string& text) {
  const fs::path directory = host_.at(path_);
  if (!is_there(directory)) {
    fs::create_directories(directory);
    fs::permissions(directory, fs::perms(0755));
  }
  replace_file(directory / file, directory / unfinished(file), text);
}

std::string CdiDirectory::remove(const std::string& file) {
  std::error_code failed;
  fs::remove(at(file), failed);
  if (!failed) return {};
  return "the CDI specification " + (path_ / file).string() + " cannot be removed: " + failed.message() +
         "; " + advice(failed, path_);
}

void CdiDirectory::remove_others(const std::set<std::string>& resources) {
  std::erase_if(specified_, [&](const auto& item) { return !resources.contains(item.first); });
  std::set<std::string> kept;
  for (const std::string& resource : resources) kept.insert(cdi_file_name(owner_, resource));
  const std::string ours = owner_ + '-';
  remove_if([&](const std::string& name) {
    const bool specification = name.starts_with(ours) && name.ends_with(".json");
    return (specification && !kept.contains(name)) || name.starts_with('.' + ours);
  });
}

std::string CdiDirectory::put_late(const std::string& name, const std::string& text) {
  return put(late_file(name), text);
}

void CdiDirectory::remove_other_late(const std::set<std::string>& names) {
  std::set<std::string> kept;
  for (const std::string& name : names) kept.insert(late_file(name));
  const std::string ours = owner_ + '.' + kLateBeginning;
  remove_if([&](const std::string& name) {
    return name.starts_with(ours) && name.ends_with(".json") && !kept.contains(name);
  });
}

void CdiDirectory::remove_if(const std::function<bool(const std::string& name)>& is_old) {
  std::vector<std::string> old;
  std::error_code failed;
  for (fs::directory_iterator entry(host_.at(path_), failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    std::string name = entry->path().filename();
    if (is_old(name)) old.push_back(std::move(name));
  }
  for (const std::string& name : old) remove(name);
}

CdiPlaces::CdiPlaces(Workers& workers, HostRoot host, const std::filesystem::path& directory,
                     const std::string& owner)
    : workers_(workers),
      host_(std::move(host)),
      present_(std::make_unique<CdiWriter>(workers, host_, directory, owner)) {}

void CdiPlaces::move(const std::filesystem::path& directory, const std::string& owner) {
  if (former_ && former_->is_for(directory, owner)) return std::swap(present_, former_);
  end_former();
  former_ = std::exchange(present_, std::make_unique<CdiWriter>(workers_, host_, directory, owner));
}

void CdiPlaces::remove_others(std::set<std::string> resources) {
  present_->remove_others(std::move(resources));
  end_former();
}

void CdiPlaces::end_former() {
  if (!former_) return;
  former_->remove_others({});
  former_->remove_other_late({});
  former_.reset();
}

}  // namespace plughost
