#pragma once
// The directory of our CDI specifications, and during a move also the former directory: a container that
// starts meanwhile finds its specification in one of the two. Loop thread only.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/system/workers.hpp"
#include "host/hardware/host_root.hpp"
#include "kinds/kind.hpp"
#include "model/allocate/resource_snapshot.hpp"

namespace plughost {

// The CDI specifications, by which container runtimes resolve device names. One thread at a time; every call
// may block on the file system.
class CdiDirectory {
 public:
  // `directory` is the path on the host; it is created on first use. Several plughosts may share it, each
  // with its own `owner`, which is the prefix of file names.
  CdiDirectory(HostRoot host, std::filesystem::path directory, std::string owner);

  // Writes the specification of the snapshot's resource, if the resource needs one and its devices have
  // changed or the file is missing. Returns why it failed and what to do, as a sentence; empty: the file is
  // complete.
  std::string specify(const ResourceSnapshot& snapshot);
  // Writes a specification from another program. Returns an error as specify() does.
  std::string put(const std::string& file, const std::string& text);
  // Removes this owner's specifications for all resources but these, including files of a former process.
  void remove_others(const std::set<std::string>& resources);
  // Writes the specification of a late name to a file of its own, which remove_others() ignores.
  std::string put_late(const std::string& name, const std::string& text);
  // Removes the files of all late names but these.
  void remove_other_late(const std::set<std::string>& names);

 private:
  struct Specified {
    Inventory inventory;
    std::shared_ptr<const AllocationSpec> spec;
  };

  std::string late_file(const std::string& name) const { return owner_ + '.' + name + ".json"; }
  std::string remove(const std::string& file);
  // Removes the files for which is_old returns true.
  void remove_if(const std::function<bool(const std::string& name)>& is_old);
  void replace(const std::string& file, const std::string& text);
  std::string unfinished(const std::string& file) const;
  std::filesystem::path at(const std::string& file) const { return host_.at(path_) / file; }

  HostRoot host_;
  std::filesystem::path path_;
  std::string owner_;
  std::map<std::string, Specified> specified_;  // by resource: specifications that were written
};

// Writes the specifications on a worker, in order. Loop thread only.
class CdiWriter {
 public:
  // A directory that takes longer counts as stalled, and is not used until it responds.
  static constexpr std::chrono::seconds kDeadline{2};

  // Why specifications are missing, as sentences that say what to do.
  struct Outcome {
    std::string common;                              // for all resources of the entry
    std::map<std::string, std::string> by_resource;  // for single resources

    // Returns the error of the resource; empty if its names can be resolved.
    const std::string& error_of(const std::string& resource) const;
  };
  using Done = std::function<void(const Outcome& outcome)>;

  // `workers` must outlive this object.
  CdiWriter(Workers& workers, HostRoot host, std::filesystem::path directory, std::string owner,
            std::chrono::milliseconds deadline = kDeadline);
  // Completes and reports the requested writes.
  ~CdiWriter();
  CdiWriter& operator=(CdiWriter&&) = delete;

  // Returns true if this object writes to that directory for that owner.
  bool is_for(const std::filesystem::path& directory, const std::string& owner) const {
    return directory == directory_ && owner == owner_;
  }
  // Writes the files of other programs, then the specifications of the snapshots. Calls `done` once, in the
  // loop, possibly at once.
  void write(std::vector<CdiFile> files, std::vector<ResourceSnapshot> snapshots, const Done& done);
  // Removes the specifications of all resources but these.
  void remove_others(std::set<std::string> resources);
  // See CdiDirectory::put_late(). Calls `done` like write(), with the error, which is empty on success.
  void write_late(std::string name, std::string text,
                  const std::function<void(const std::string& error)>& done);
  void remove_other_late(std::set<std::string> names);

 private:
  struct Shared;
  struct Work {
    std::function<void(CdiDirectory& directory)> body;  // on a worker
    std::function<void()> done;
    std::function<void()> overdue;  // called instead of done
  };

  void add(Work work);
  void start();
  void on_end();
  void on_overdue();

  Workers& workers_;
  const std::filesystem::path directory_;
  const std::string owner_;
  const std::chrono::milliseconds deadline_;
  const std::string hung_text_;
  std::shared_ptr<Shared> shared_;
  std::vector<Work> waiting_;
  bool busy_ = false;
  bool hung_ = false;
  Lifetime lifetime_;
};

class CdiPlaces {
 public:
  // `workers` must outlive this object. The files remain when this object ends, because containers that are
  // restarted meanwhile need them.
  CdiPlaces(Workers& workers, HostRoot host, const std::filesystem::path& directory,
            const std::string& owner);

  CdiWriter& present() { return *present_; }
  // Writes to another directory from now on. The former directory keeps its files until remove_others().
  void move(const std::filesystem::path& directory, const std::string& owner);
  // Removes the specifications of all resources but these, and empties the former directory.
  void remove_others(std::set<std::string> resources);
  // Empties the former directory.
  void end_former();

 private:
  Workers& workers_;
  const HostRoot host_;
  std::unique_ptr<CdiWriter> present_;
  std::unique_ptr<CdiWriter> former_;  // nullptr if everything has been written again to present_
};

}  // namespace plughost
