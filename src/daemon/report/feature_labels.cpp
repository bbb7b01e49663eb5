#include "daemon/report/feature_labels.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/system/files.hpp"
#include "host/hardware/machine_files.hpp"

namespace plughost {

FeatureLabels::FeatureLabels(EventLoop& loop, Workers& workers, Log& log, FeatureDirectory directory)
    : log_(log), directory_(std::move(directory)), files_(loop, workers, [this](const std::string& error) {
        const std::string directory = directory_.path();
        if (error.empty())
          log_.info("node labels written", {{"directory", directory}});
        else
          log_.error("cannot write the node's labels: the old ones stay",
                     {{"why", error}, {"directory", directory}});
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
    std::string error = directory.make(wanted, now);
    for (const FeatureDirectory& each : former)
      if (std::string its = each.make({}, now); error.empty()) error = std::move(its);
    return error;
  });
}

void FeatureLabels::remark(const Subject& subject, const std::vector<std::string>& remarks) {
  std::set<std::string> now(remarks.begin(), remarks.end());
  std::set<std::string>& before = remarked_[subject.entry];
  for (const std::string& why : now) {
    if (!before.contains(why))
      log_.warn("label left out", {{"entry", subject.entry}, {"why", why}, {"at", subject.where}});
  }
  before = std::move(now);
}

namespace {

namespace fs = std::filesystem;

std::string advice(const std::error_code& error) {
  if (error == std::errc::read_only_file_system || error == std::errc::permission_denied ||
      error == std::errc::operation_not_permitted)
    return "; plughost's unit needs the drop-in labels.conf";
  return "";
}

}  // namespace

FeatureDirectory::FeatureDirectory(HostRoot host, fs::path directory, std::string owner)
    : host_(std::move(host)), path_(std::move(directory)), owner_(std::move(owner)) {}

std::string FeatureDirectory::make(const Wanted& wanted, FeatureTime now) const {
  try {
    std::set<std::string> files;
    for (const std::string& entry : wanted.left) files.insert(feature_file_name(owner_, entry));
    for (const auto& [entry, labels] : wanted.labels) {
      if (labels.empty()) continue;
      const std::string file = feature_file_name(owner_, entry);
      put(file, labels, now);
      files.insert(file);
    }
    remove_all_but(files);
    return {};
  } catch (const std::system_error& exception) {
    return exception.code().message() + advice(exception.code());
  }
}

void FeatureDirectory::put(const std::string& file, const Labels::Pairs& labels, FeatureTime now) const {
  const fs::path directory = host_.at(path_);
  std::error_code failed;
  if (fs::is_regular_file(directory / file, failed) &&
      is_fresh(file_text(directory / file).value_or(""), labels, now))
    return;
  if (!fs::exists(directory)) {
    fs::create_directories(directory);
    fs::permissions(directory, fs::perms(0755));
  }
  // The temporary name is hidden, because NFD reads every other file.
  replace_file(directory / file, directory / ('.' + file + ".tmp"),
               feature_file_text(labels, now + kFeaturesLast));
}

void FeatureDirectory::remove_all_but(const std::set<std::string>& files) const {
  std::error_code failed;  // an error ends the loop without a report
  std::vector<fs::path> old;
  fs::directory_iterator entry(host_.at(path_), failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    const std::string name = entry->path().filename();
    if (is_feature_file(owner_, name) && !files.contains(name)) old.push_back(entry->path());
  }
  for (const fs::path& path : old) fs::remove(path);
}

}  // namespace plughost
