#include "telemetry/metrics_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/files.hpp"
#include "telemetry/metrics.hpp"

namespace plughost {
namespace {

std::string removed(const std::string& file) {
  if (::unlink(file.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return {};
  return file + " cannot be removed: " + std::error_code(errno, std::generic_category()).message();
}

std::string written(const std::string& file, const std::string& text) {
  try {
    // The collector reads *.prom.
    replace_file(file, file + ".tmp", text);
    return {};
  } catch (const std::system_error& error) {
    const bool refused = error.code() == std::errc::read_only_file_system;
    return file + " cannot be written: " + error.code().message() +
           (refused ? "; plughost's unit needs the drop-in textfile.conf" : "");
  }
}

}  // namespace

MetricsFile::MetricsFile(EventLoop& loop, Workers& workers, Log& log, StatusRequests& requests)
    : post_(loop.poster()),
      log_(log),
      requests_(requests),
      due_(loop, [this] { ask(); }),
      latest_(loop, workers, [this](const std::string& trouble) {
        if (trouble.empty())
          log_.info("metrics file written", {{"file", file_}});
        else
          log_.error("cannot write the metrics file", {{"why", trouble}, {"file", file_}});
      }) {}

void MetricsFile::use(const std::string& directory) {
  const std::string file = directory.empty() ? "" : directory + '/' + kName;
  if (file == file_) return;
  if (!file_.empty()) former_.insert(file_);
  file_ = file;
  former_.erase(file_);
  if (file_.empty()) {
    due_.cancel();
    soon_ = false;
    return write({});
  }
  ask();
}

void MetricsFile::changed() {
  if (file_.empty() || std::exchange(soon_, true)) return;
  due_.arm(kTogether);
}

void MetricsFile::finish(std::function<void()> done) {
  use({});
  latest_.finish(std::move(done));
}

void MetricsFile::ask() {
  soon_ = false;
  due_.arm(kInterval);
  requests_.ask_status(WithHolders::kIfToldSoon,
                       [post = post_, hand = lifetime_.bound([this](const std::string& text) {
                         write(text);
                       })](const StatusRequests::SnapshotPointer& snapshot) {
                         post([hand, text = textfile_text(snapshot->status())] { hand(text); });
                       });
}

void MetricsFile::write(const std::string& text) {
  latest_.write([file = file_, former = former_, text] {
    std::string trouble = file.empty() ? "" : written(file, text);
    for (const std::string& each : former)
      if (std::string its = removed(each); trouble.empty()) trouble = std::move(its);
    return trouble;
  });
}

}  // namespace plughost
