#include "supervisor/feature_labels.hpp"

#include <algorithm>
#include <utility>

namespace plughost {

FeatureLabels::FeatureLabels(EventLoop& loop, Workers& workers, Log& log, FeatureDirectory directory)
    : log_(log), directory_(std::move(directory)), files_(loop, workers, [this](const std::string& trouble) {
        const std::string directory = directory_.path();
        if (trouble.empty())
          log_.info("the node's labels are written after all", {{"directory", directory}});
        else
          log_.error("the node's labels are not written: they stay as they were",
                     {{"why", trouble}, {"directory", directory}});
      }) {}

void FeatureLabels::use(FeatureDirectory directory) {
  if (directory == directory_) return;
  former_.push_back(std::exchange(directory_, std::move(directory)));
  std::erase(former_, directory_);
  empty_ = false;
}

void FeatureLabels::follow(const std::vector<Subject>& subjects) {
  FeatureDirectory::Wanted wanted;
  std::erase_if(remarked_, [&](const auto& item) {
    return std::ranges::find(subjects, item.first, &Subject::entry) == subjects.end();
  });
  for (const Subject& subject : subjects) {
    if (!subject.settled) {
      wanted.left.insert(subject.entry);
      continue;
    }
    Labels labels = labels_of(subject.labels, subject.lists);
    remark(subject, labels.remarks);
    wanted.labels[subject.entry] = std::move(labels.pairs);
  }
  if (std::exchange(empty_, wanted.empty()) && empty_) return;
  files_.write([directory = directory_, former = former_, wanted = std::move(wanted)] {
    const auto now = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
    std::string trouble = directory.make(wanted, now);
    for (const FeatureDirectory& each : former)
      if (std::string its = each.make({}, now); trouble.empty()) trouble = std::move(its);
    return trouble;
  });
}

void FeatureLabels::remark(const Subject& subject, const std::vector<std::string>& remarks) {
  std::set<std::string> now(remarks.begin(), remarks.end());
  std::set<std::string>& before = remarked_[subject.entry];
  for (const std::string& why : now) {
    if (!before.contains(why))
      log_.warn("a label is left out", {{"entry", subject.entry}, {"why", why}, {"at", subject.where}});
  }
  before = std::move(now);
}

}  // namespace plughost
