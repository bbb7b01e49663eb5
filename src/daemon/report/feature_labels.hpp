#pragma once
// Publishes labels of the node through feature files.

#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/log/log.hpp"
#include "base/system/coalescing_writer.hpp"
#include "host/hardware/host_root.hpp"
#include "model/device/inventory.hpp"
#include "model/device/label.hpp"

namespace plughost {

// The directory where Node Feature Discovery looks for feature files. One thread at a time; every call may
// block with the file system.
class FeatureDirectory {
 public:
  // The files that one owner wants.
  struct Wanted {
    std::map<std::string, Labels::Pairs> labels;  // by entry; an entry without labels has no file
    std::set<std::string> left;  // entries whose devices are not known yet: their files stay unchanged

    bool empty() const { return labels.empty() && left.empty(); }
    bool operator==(const Wanted&) const = default;
  };

  // `directory` is the path on the machine, created when first needed. Several owners may use one directory.
  FeatureDirectory(HostRoot host, std::filesystem::path directory, std::string owner);

  // Writes the files that have changed or expire, and removes the owner's other files, including those of a
  // former process. Returns the reason of a failure; empty on success.
  std::string make(const Wanted& wanted, FeatureTime now) const;

  const std::filesystem::path& path() const { return path_; }
  // Equal directories and owners have the same files.
  bool operator==(const FeatureDirectory& other) const {
    return path_ == other.path_ && owner_ == other.owner_;
  }

 private:
  // Throw std::system_error.
  void put(const std::string& file, const Labels::Pairs& labels, FeatureTime now) const;
  void remove_all_but(const std::set<std::string>& files) const;

  HostRoot host_;
  std::filesystem::path path_;
  std::string owner_;
};

// Publishes the entries' labels through feature files for Node Feature Discovery. Loop thread only.
class FeatureLabels {
 public:
  struct Subject {
    std::string entry;
    std::string where;  // the entry's position in the configuration
    std::span<const LabelSpec> labels;
    std::vector<Inventory> lists;
    bool settled = false;  // false: the lists are not complete yet
  };

  // The arguments must outlive this object. The files stay when this object ends, so that a restart changes
  // nothing on the node.
  FeatureLabels(EventLoop& loop, Workers& workers, Log& log, FeatureDirectory directory);

  // Moves the files to `directory` at the next follow().
  void use(FeatureDirectory directory);
  // Replaces the subjects. Pass every entry with labels.
  void follow(const std::vector<Subject>& subjects);

 private:
  void remark(const Subject& subject, const std::vector<std::string>& remarks);

  Log& log_;
  FeatureDirectory directory_;
  std::vector<FeatureDirectory> former_;                   // directories to clear
  bool empty_ = false;                                     // no file exists and none is wanted
  std::map<std::string, std::set<std::string>> remarked_;  // remarks already logged, by entry
  CoalescingWriter files_;
};

}  // namespace plughost
