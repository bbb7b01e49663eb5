#pragma once
// The directory in which Node Feature Discovery looks for feature files. One thread at a time; whatever it
// does may hang with the file system.

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "device/label.hpp"
#include "host/host_root.hpp"

namespace plughost {

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

}  // namespace plughost
