#pragma once
// Labels of the node, by feature files.

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

// The directory in which Node Feature Discovery looks for feature files. One thread at a time; whatever it
// does may hang with the file system.
class FeatureDirectory {
 public:
  // What is to be there of this owner's.
  struct Wanted {
    std::map<std::string, Labels::Pairs> labels;  // by entry; without labels there is no file
    std::set<std::string> left;  // entries whose files stay as they are: nobody knows their devices yet

    bool empty() const { return labels.empty() && left.empty(); }
    bool operator==(const Wanted&) const = default;
  };

  // directory: as on the machine; made when it is first needed. Several owners may use it.
  FeatureDirectory(HostRoot host, std::filesystem::path directory, std::string owner);

  // Writes what is another or does not last, and removes what this owner, in this process or a former one,
  // has written beside it. Why that could not be done; empty: it is.
  std::string make(const Wanted& wanted, FeatureTime now) const;

  const std::filesystem::path& path() const { return path_; }
  // Are the files the same?
  bool operator==(const FeatureDirectory& other) const {
    return path_ == other.path_ && owner_ == other.owner_;
  }

 private:
  // They throw std::system_error.
  void put(const std::string& file, const Labels::Pairs& labels, FeatureTime now) const;
  void remove_all_but(const std::set<std::string>& files) const;

  HostRoot host_;
  std::filesystem::path path_;
  std::string owner_;
};

// Has the node's labels follow the lists, by feature files of Node Feature Discovery's. Loop thread only.
class FeatureLabels {
 public:
  // An entry with labels.
  struct Subject {
    std::string entry;  // the name's text
    std::string where;  // in the configuration
    std::span<const LabelSpec> labels;
    std::vector<Inventory> lists;
    bool settled = false;  // else the lists do not count yet
  };

  // loop, workers and log outlive it. The files stay when it ends: a restart changes nothing on the node.
  FeatureLabels(EventLoop& loop, Workers& workers, Log& log, FeatureDirectory directory);

  // The files are there from now on, and no longer where they were; follow() does it.
  void use(FeatureDirectory directory);
  // All of them, as they are now.
  void follow(const std::vector<Subject>& subjects);

 private:
  void remark(const Subject& subject, const std::vector<std::string>& remarks);

  Log& log_;
  FeatureDirectory directory_;
  std::vector<FeatureDirectory> former_;                   // others, of which nothing is to be left
  bool empty_ = false;                                     // there is nothing of ours, and nothing wanted
  std::map<std::string, std::set<std::string>> remarked_;  // by entry
  CoalescingWriter files_;
};

}  // namespace plughost
