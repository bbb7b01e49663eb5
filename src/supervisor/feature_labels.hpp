#pragma once
// Has the node's labels follow the lists, by feature files of Node Feature Discovery's. Loop thread only.

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/latest_write.hpp"
#include "base/log.hpp"
#include "device/inventory.hpp"
#include "device/label.hpp"
#include "supervisor/feature_directory.hpp"

namespace plughost {

class FeatureLabels {
 public:
  // An entry with labels.
  struct Subject {
    std::string entry;  // the name's text
    std::string where;  // in the configuration
    std::span<const LabelRecipe> labels;
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
  LatestWrite files_;
};

}  // namespace plughost
