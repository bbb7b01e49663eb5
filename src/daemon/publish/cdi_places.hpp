#pragma once
// Where the CDI specifications are, and where they were: a container that starts while they move finds its
// own in the one place or the other. Loop thread only.

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

// The CDI specifications that container runtimes read: they say what names of CDI devices stand for. One
// thread at a time; every call may hang with the file system.
class CdiDirectory {
 public:
  // directory: as on the machine; made when it is first needed. Several plughosts may use it, each with an
  // owner of its own, by which the files' names begin.
  CdiDirectory(HostRoot host, std::filesystem::path directory, std::string owner);

  // The specification of the snapshot's resource says what the snapshot does. Nothing to do for a resource
  // without one, and for the same devices as the last time, unless somebody removed the file. Why it could
  // not be written, as a sentence that says what to do; empty: it is there, whole.
  std::string specify(const ResourceSnapshot& snapshot);
  // The same for a specification that another program made.
  std::string put(const std::string& file, const std::string& text);
  // Removes what this owner, in this process or a former one, has written for resources that are not among
  // these.
  void remove_others(const std::set<std::string>& resources);
  // The same for a name whose meaning is decided when its container starts, in a file of its own:
  // remove_others() leaves it alone.
  std::string put_late(const std::string& name, const std::string& text);
  // Removes those of all other names.
  void remove_other_late(const std::set<std::string>& names);

 private:
  struct Specified {
    Inventory inventory;
    std::shared_ptr<const AllocationSpec> spec;
  };

  std::string late_file(const std::string& name) const { return owner_ + '.' + name + ".json"; }
  std::string remove(const std::string& file);
  // Of files that are to go.
  void remove_if(const std::function<bool(const std::string& name)>& is_old);
  void replace(const std::string& file, const std::string& text);
  std::string unfinished(const std::string& file) const;
  std::filesystem::path at(const std::string& file) const { return host_.at(path_) / file; }

  HostRoot host_;
  std::filesystem::path path_;
  std::string owner_;
  std::map<std::string, Specified> specified_;  // by resource; those whose file was written
};

// What is written for container runtimes, off the loop and in order. Loop thread only.
class CdiWriter {
 public:
  // A directory that takes longer hangs: until it answers nothing is asked of it.
  static constexpr std::chrono::seconds kDeadline{2};

  // What is not there, and why, as sentences that say what to do.
  struct Outcome {
    std::string common;                              // for every resource of the entry
    std::map<std::string, std::string> by_resource;  // for these alone

    // Empty: what the resource's names stand for is there.
    const std::string& error_of(const std::string& resource) const;
  };
  using Done = std::function<void(const Outcome& outcome)>;

  // See CdiDirectory. workers outlive it.
  CdiWriter(Workers& workers, HostRoot host, std::filesystem::path directory, std::string owner,
            std::chrono::milliseconds deadline = kDeadline);
  // What it has been told is still done, and told of.
  ~CdiWriter();
  CdiWriter& operator=(CdiWriter&&) = delete;

  // Does it write there, in that owner's name?
  bool is_for(const std::filesystem::path& directory, const std::string& owner) const {
    return directory == directory_ && owner == owner_;
  }
  // The files that another program made, then the specifications of the snapshots. done runs in the loop,
  // once; maybe at once.
  void write(std::vector<CdiFile> files, std::vector<ResourceSnapshot> snapshots, const Done& done);
  // Removes the specifications of all other resources.
  void remove_others(std::set<std::string> resources);
  // See CdiDirectory. done as of write(), with why it is not written; empty: it is.
  void write_late(std::string name, std::string text,
                  const std::function<void(const std::string& error)>& done);
  void remove_other_late(std::set<std::string> names);

 private:
  struct Shared;
  struct Work {
    std::function<void(CdiDirectory& directory)> body;  // on a worker
    std::function<void()> done;
    std::function<void()> overdue;  // then there is no done
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
  // See CdiDirectory. workers outlive it. What is written stays when it ends: containers that are started
  // again meanwhile need it.
  CdiPlaces(Workers& workers, HostRoot host, const std::filesystem::path& directory,
            const std::string& owner);

  CdiWriter& present() { return *present_; }
  // They are written there from now on; what is in the former place stays until remove_others().
  void move(const std::filesystem::path& directory, const std::string& owner);
  // Those of all other resources go, and the former place is left empty.
  void remove_others(std::set<std::string> resources);
  // Nothing is left in the former place.
  void end_former();

 private:
  Workers& workers_;
  const HostRoot host_;
  std::unique_ptr<CdiWriter> present_;
  std::unique_ptr<CdiWriter> former_;  // nullptr: all that it has written is written by the present one
};

}  // namespace plughost
