#include "daemon/telemetry/metrics.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/system/files.hpp"
#include "daemon/status/status.hpp"

namespace plughost {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::initializer_list<std::pair<const char*, std::string>>;

ClientMetric labelled(Labels labels) {
  ClientMetric metric;
  for (const auto& [name, value] : labels) metric.label.push_back({name, value});
  return metric;
}

class Families {
 public:
  // Begins a family, to which the following metrics belong.
  Families& family(const char* name, const char* help, MetricType type) {
    MetricFamily& added = all_.emplace_back();
    added.name = name;
    added.help = help;
    added.type = type;
    return *this;
  }
  Families& gauge(const char* name, const char* help) { return family(name, help, MetricType::Gauge); }
  Families& counter(const char* name, const char* help) { return family(name, help, MetricType::Counter); }

  Families& add(double value, Labels labels = {}) {
    ClientMetric metric = labelled(labels);
    if (all_.back().type == MetricType::Counter)
      metric.counter.value = value;
    else
      metric.gauge.value = value;
    all_.back().metric.push_back(std::move(metric));
    return *this;
  }
  Families& add(std::uint64_t value, Labels labels = {}) { return add(static_cast<double>(value), labels); }

  void durations(const char* name, const char* help, const Durations::Reading& reading) {
    family(name, help, MetricType::Histogram);
    ClientMetric metric;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < reading.counts.size(); ++i) {
      sum += reading.counts[i];
      const double bound =
          i < Durations::kBounds.size() ? Durations::kBounds[i] : std::numeric_limits<double>::infinity();
      metric.histogram.bucket.push_back({sum, bound});
    }
    metric.histogram.sample_count = sum;
    metric.histogram.sample_sum = reading.sum;
    all_.back().metric.push_back(std::move(metric));
  }

  std::string text() const { return prometheus::TextSerializer().Serialize(all_); }

 private:
  std::vector<MetricFamily> all_;
};

double seconds(WallTime time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

void write_node(const DaemonStatus& status, Families& families) {
  families
      .gauge("plughost_ready",
             "1: every resource is attached, and every required entry has a Healthy device.")
      .add(problems(status).empty() ? 1.0 : 0.0);
  families.gauge("plughost_kubelet_up", "1: a kubelet is running.").add(status.kubelet.present ? 1.0 : 0.0);
  families.gauge("plughost_resource_attached", "1: the kubelet listens to the resource's list.");
  for (const ResourceStatus& resource : status.resources)
    families.add(resource.stage == Stage::kAttached ? 1.0 : 0.0, {{"resource", resource.name}});
  families.gauge("plughost_kubelet_disagrees", "1: the kubelet counts other devices than it was sent.");
  for (const ResourceStatus& resource : status.resources)
    families.add(resource.disagreement.empty() ? 0.0 : 1.0, {{"resource", resource.name}});
  families.gauge("plughost_drains_unreadable",
                 "1: it is unknown which devices are drained, and every device is out of service.");
  families.add(status.drains.unreadable() ? 1.0 : 0.0);
  families.gauge("plughost_devices", "Devices that are advertised to the kubelet, counting each replica.");
  for (const ResourceStatus& resource : status.resources) {
    const ResourceStatus::Counts counts = resource.counts(nullptr);
    families.add(counts.healthy, {{"resource", resource.name}, {"health", "healthy"}});
    families.add(counts.unhealthy, {{"resource", resource.name}, {"health", "unhealthy"}});
  }
  families.gauge("plughost_devices_drained", "Devices that are drained, each replica counted.");
  for (const ResourceStatus& resource : status.resources)
    families.add(resource.counts(nullptr).drained, {{"resource", resource.name}});
  families.gauge("plughost_devices_adopted",
                 "Devices that pods hold by ids that are not listed, each replica counted.");
  for (const ResourceStatus& resource : status.resources)
    families.add(resource.counts(nullptr).adopted, {{"resource", resource.name}});
  if (!status.holdings) return;
  families.gauge("plughost_devices_held", "Devices that pods hold, each replica counted.");
  for (const ResourceStatus& resource : status.resources)
    families.add(resource.counts(status.holdings.get()).held, {{"resource", resource.name}});
}

// Writes one metric for each device and container that holds it; no metric if the holders are unknown.
void write_devices(const DaemonStatus& status, Families& families) {
  if (!status.device_metrics || !status.holdings) return;
  families.gauge("plughost_device_info", "1. Without a pod: the device is not held.");
  for (const ResourceStatus& resource : status.resources) {
    for (const Device& device : resource.snapshot->inventory.devices()) {
      std::set<Holder> holders = holders_of(device, resource.name, status.holdings.get());
      if (holders.empty()) holders.emplace();
      for (const Holder& holder : holders)
        families.add(1.0, {{"resource", resource.name},
                           {"device", device.id},
                           {"node_path", device.nodes.empty() ? "" : device.nodes.front().host_path},
                           {"namespace", holder.pod_namespace},
                           {"pod", holder.pod},
                           {"container", holder.container}});
    }
  }
}

void write_calls(const DaemonStatus& status, Families& families) {
  families.counter("plughost_allocations_total", "Containers for which the kubelet requested devices.");
  for (const ResourceStatus& resource : status.resources) {
    families.add(resource.calls->allocated.count(), {{"resource", resource.name}, {"result", "answered"}});
    families.add(resource.calls->allocation_refused.count(),
                 {{"resource", resource.name}, {"result", "refused"}});
  }
  families.counter("plughost_container_starts_total", "Starts of containers that preStart prepared.");
  for (const ResourceStatus& resource : status.resources) {
    families.add(resource.calls->started.count(), {{"resource", resource.name}, {"result", "answered"}});
    families.add(resource.calls->start_refused.count(), {{"resource", resource.name}, {"result", "refused"}});
  }
  families.counter("plughost_registrations_total", "Requests to the kubelet to take a resource.");
  for (const ResourceStatus& resource : status.resources) {
    const RegistrationTally& tally = resource.registrations;
    families.add(tally.accepted, {{"resource", resource.name}, {"result", "accepted"}});
    families.add(tally.refused, {{"resource", resource.name}, {"result", "refused"}});
    families.add(tally.unreachable, {{"resource", resource.name}, {"result", "unreachable"}});
  }
  families.counter("plughost_streams_total", "Streams that kubelets opened.");
  for (const ResourceStatus& resource : status.resources)
    families.add(resource.registrations.streams, {{"resource", resource.name}});
}

void write_scans(const DaemonStatus& status, Families& families) {
  // Entries of one name have common metrics.
  std::map<std::string_view, EntryStatus> entries;
  for (const EntryStatus& entry : status.entries) {
    EntryStatus& all = entries[entry.name];
    all.scans_completed += entry.scans_completed;
    all.scans_failed += entry.scans_failed;
    all.stalled = all.stalled || entry.stalled;
  }
  families.counter("plughost_scans_total", "Device scans.");
  for (const auto& [name, entry] : entries) {
    families.add(entry.scans_completed, {{"entry", std::string(name)}, {"result", "completed"}});
    families.add(entry.scans_failed, {{"entry", std::string(name)}, {"result", "failed"}});
  }
  families.gauge("plughost_scan_stalled",
                 "1: a scan has not ended in time, and requests for its devices are refused.");
  for (const auto& [name, entry] : entries)
    families.add(entry.stalled ? 1.0 : 0.0, {{"entry", std::string(name)}});
}

void write_configuration(const DaemonStatus& status, Families& families) {
  // A double holds 53 bits.
  families.gauge("plughost_config_hash", "Changes whenever the configuration changes.")
      .add(status.configuration.hash & 0xffff'ffff'ffffu);
  families.gauge("plughost_config_last_reload_successful", "0: the last reload was refused or rolled back.")
      .add(status.configuration.refused_at || status.configuration.given_up_at ? 0.0 : 1.0);
  families.gauge("plughost_config_on_trial", "1: the configuration is rolled back unless it is confirmed.")
      .add(status.configuration.trial_until ? 1.0 : 0.0);
  families
      .gauge("plughost_config_last_reload_success_timestamp_seconds",
             "Time at which the current configuration was loaded.")
      .add(seconds(status.configuration.loaded_at));
  families.counter("plughost_config_reloads_total", "Reloads of the configuration.")
      .add(status.configuration.reloads_applied, {{"result", "applied"}})
      .add(status.configuration.reloads_refused, {{"result", "refused"}});
}

void write_api_server(const DaemonStatus& status, Families& families) {
  if (!status.api_server) return;
  families.counter("plughost_api_requests_total", "Requests to the API server.");
  for (const ApiTally::Requests& requests : status.api_server->requests)
    families.add(requests.count, {{"verb", requests.verb}, {"code", std::to_string(requests.code)}});
  families.gauge("plughost_api_watch_age_seconds", "Seconds since the API server's last event of a watch.");
  for (const ApiServerStatus::Watch& watch : status.api_server->watches) {
    if (watch.heard_at)
      families.add(std::chrono::duration<double>(std::chrono::system_clock::now() - *watch.heard_at).count(),
                   {{"collection", watch.collection}});
  }
  families.gauge("plughost_api_watch_objects", "Objects that are watched.");
  for (const ApiServerStatus::Watch& watch : status.api_server->watches)
    families.add(watch.objects, {{"collection", watch.collection}});
}

// Writes the metrics under the names of Prometheus' own client libraries.
void write_process(const DaemonStatus& status, Families& families) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto time = [](const timeval& value) {
    return static_cast<double>(value.tv_sec) + static_cast<double>(value.tv_usec) / 1e6;
  };
  families.counter("process_cpu_seconds_total", "User and system time, in seconds.")
      .add(time(usage.ru_utime) + time(usage.ru_stime));
  families.gauge("process_start_time_seconds", "When the process started.").add(seconds(status.started_at));

  std::ifstream statm("/proc/self/statm");  // in pages
  std::uint64_t virtual_pages = 0;
  std::uint64_t resident_pages = 0;
  statm >> virtual_pages >> resident_pages;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  families.gauge("process_virtual_memory_bytes", "Virtual memory.").add(virtual_pages * page);
  families.gauge("process_resident_memory_bytes", "Resident memory.").add(resident_pages * page);

  std::error_code failed;
  const auto entries_of = [&](const char* directory) {
    return static_cast<std::uint64_t>(
        std::distance(std::filesystem::directory_iterator(directory, failed), {}));
  };
  families.gauge("process_open_fds", "Open descriptors.").add(entries_of("/proc/self/fd"));
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  families.gauge("process_max_fds", "The most descriptors that may be open.")
      .add(static_cast<std::uint64_t>(limit.rlim_cur));
  families.gauge("process_threads", "Threads.").add(entries_of("/proc/self/task"));
}

void write_own(const DaemonStatus& status, Families& families) {
  families.gauge("plughost_build_info", "Always 1; the label has the version of plughost.")
      .add(1.0, {{"version", status.version}});
  write_node(status, families);
  write_devices(status, families);
  families.counter("plughost_kubelet_restarts_total", "Kubelets that came after the first.")
      .add(status.tallies.kubelets > 0 ? status.tallies.kubelets - 1 : 0);
  write_calls(status, families);
  families.durations("plughost_allocation_duration_seconds", "How long answers to Allocate took.",
                     status.tallies.answers);
  families.durations("plughost_recovery_duration_seconds",
                     "From a kubelet's coming, or a stream's end, to the open stream.",
                     status.tallies.recoveries);
  write_scans(status, families);
  families.durations("plughost_scan_duration_seconds", "Duration of device scans.", status.tallies.scans);
  families.counter("plughost_udev_events_total", "Uevents that concerned an entry.")
      .add(status.tallies.udev_events);
  families.counter("plughost_udev_overflows_total", "Times that the kernel dropped uevents.")
      .add(status.tallies.udev_overflows);
  write_configuration(status, families);
  write_api_server(status, families);
  families.counter("plughost_log_messages_total", "Lines that were logged.")
      .add(status.tallies.warnings, {{"level", "warn"}})
      .add(status.tallies.errors, {{"level", "error"}});
}

std::string removed(const std::string& file) {
  if (::unlink(file.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return {};
  return file + " cannot be removed: " + std::error_code(errno, std::generic_category()).message();
}

std::string written(const std::string& file, const std::string& text) {
  try {
    // The collector reads only *.prom.
    replace_file(file, file + ".tmp", text);
    return {};
  } catch (const std::system_error& exception) {
    const bool refused = exception.code() == std::errc::read_only_file_system;
    return file + " cannot be written: " + exception.code().message() +
           (refused ? "; plughost's unit needs the drop-in textfile.conf" : "");
  }
}

}  // namespace

std::string metrics_text(const DaemonStatus& status) {
  Families families;
  write_own(status, families);
  write_process(status, families);
  return families.text();
}

std::string textfile_text(const DaemonStatus& status) {
  Families families;
  write_own(status, families);
  return families.text();
}

MetricsFile::MetricsFile(EventLoop& loop, Workers& workers, Log& log, StatusRequests& requests)
    : post_(loop.poster()),
      log_(log),
      requests_(requests),
      due_(loop, [this] { ask(); }),
      latest_(loop, workers, [this](const std::string& error) {
        if (error.empty())
          log_.info("metrics file written", {{"file", file_}});
        else
          log_.error("cannot write the metrics file", {{"why", error}, {"file", file_}});
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
  requests_.query_status(WithHolders::kIfToldSoon,
                         [post = post_, hand = lifetime_.bound([this](const std::string& text) {
                           write(text);
                         })](const StatusRequests::SnapshotPointer& snapshot) {
                           post([hand, text = textfile_text(snapshot->status())] { hand(text); });
                         });
}

void MetricsFile::write(const std::string& text) {
  latest_.write([file = file_, former = former_, text] {
    std::string error = file.empty() ? "" : written(file, text);
    for (const std::string& each : former)
      if (std::string its = removed(each); error.empty()) error = std::move(its);
    return error;
  });
}

}  // namespace plughost
