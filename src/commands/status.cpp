// plughost status: the running daemon, its resources, their devices, and who holds them.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "commands/command.hpp"
#include "commands/output.hpp"
#include "commands/table.hpp"
#include "config/config.hpp"
#include "telemetry/control_client.hpp"
#include "telemetry/status_json.hpp"

namespace plughost {

namespace {

// "4s", "12m", "3h", "9d": how long ago, or until then.
std::string age(std::int64_t microseconds) {
  if (microseconds == 0) return "";
  using namespace std::chrono;
  const auto now = duration_cast<std::chrono::microseconds>(system_clock::now().time_since_epoch()).count();
  const std::int64_t seconds = std::abs(now - microseconds) / 1'000'000;
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (seconds < 2 * 3600) return std::to_string(seconds / 60) + "m";
  if (seconds < 2 * 86400) return std::to_string(seconds / 3600) + "h";
  return std::to_string(seconds / 86400) + "d";
}

std::string trouble_of(const v1::Resource& resource) {
  if (resource.trouble().empty()) return "";
  std::string text = resource.trouble() + " (" + age(resource.trouble_at()) + " ago)";
  if (resource.next_try() != 0) text += ", again in " + age(resource.next_try());
  return text;
}

std::string holders_of(const v1::Device& device) {
  std::string text;
  for (const v1::Holder& holder : device.holders()) {
    if (!text.empty()) text += ' ';
    if (device.replicas() > 1) text += holder.id() + '=';
    text += holder.namespace_().empty() ? "pod " + holder.pod() : holder.namespace_() + '/' + holder.pod();
    text += '/' + holder.container();
  }
  return text;
}

void print_head(const v1::Status& status) {
  const v1::Kubelet& kubelet = status.kubelet();
  const v1::Configuration& configuration = status.configuration();
  std::cout << "plughost " << status.version() << ", up " << age(status.started_at()) << '\n'
            << "kubelet: " << (kubelet.present() ? "there" : "not there");
  if (kubelet.since() != 0) std::cout << " for " << age(kubelet.since());
  if (kubelet.process() != 0) std::cout << ", process " << kubelet.process();
  std::cout << ", " << kubelet.directory() << '\n'
            << "configuration: " << joined(configuration.files(), " ") << ", loaded "
            << age(configuration.loaded_at()) << " ago, hash " << configuration.hash() << '\n';
  if (configuration.refused_at() != 0)
    std::cout << "the last reload, " << age(configuration.refused_at())
              << " ago, was refused: `plughost check` says why\n";
  if (!status.holders_unknown().empty())
    std::cout << "which pods hold devices is not known: " << status.holders_unknown() << '\n';
}

void print_resources(const v1::Status& status) {
  print_head(status);
  std::cout << '\n';
  std::vector<TableRow> rows;
  for (const v1::Resource& resource : status.resources()) {
    const DeviceCounts counts = counts_of(resource);
    rows.push_back({resource.name(), stage_name(resource.stage()), age(resource.since()),
                    std::to_string(counts.healthy), std::to_string(counts.unhealthy),
                    status.holders_unknown().empty() ? std::to_string(counts.held) : "?",
                    trouble_of(resource)});
  }
  print_table(std::cout, {"RESOURCE", "STAGE", "SINCE", "HEALTHY", "UNHEALTHY", "HELD", "LAST TROUBLE"},
              rows);
}

void print_devices(const v1::Status& status, const v1::Resource& resource) {
  std::cout << resource.name() << ": " << stage_name(resource.stage()) << " for " << age(resource.since());
  if (const std::string trouble = trouble_of(resource); !trouble.empty())
    std::cout << "\nlast trouble: " << trouble;
  if (!status.holders_unknown().empty())
    std::cout << "\nwhich pods hold devices is not known: " << status.holders_unknown();
  std::cout << "\n\n";
  std::vector<TableRow> rows;
  for (const v1::Device& device : resource.devices()) {
    rows.push_back({id_text(device.id(), device.replicas()), health_text(device.trouble()),
                    age(device.since()), joined(device.numa_nodes(), ","), joined(device.nodes(), " "),
                    holders_of(device)});
  }
  print_table(std::cout, {"DEVICE", "HEALTH", "SINCE", "NUMA", "NODES", "HELD BY"}, rows);
}

// nullptr: there is none of that name.
const v1::Resource* find(const v1::Status& status, const std::string& name) {
  const auto found =
      std::ranges::find_if(status.resources(), [&](const auto& resource) { return resource.name() == name; });
  return found == status.resources().end() ? nullptr : &*found;
}

// Keeps what is asked for. False: there is no such resource.
bool select(v1::Status& status, const std::string& name) {
  if (name.empty()) return true;
  const v1::Resource* const found = find(status, name);
  if (found == nullptr) return false;
  v1::Resource kept = *found;
  status.clear_resources();
  *status.add_resources() = std::move(kept);
  return true;
}

void show(const v1::Status& status, const StatusOptions& options) {
  if (options.format == OutputFormat::kTable) {
    // A terminal is cleared, so that the table stands still.
    if (options.watch && ::isatty(STDOUT_FILENO) == 1) std::cout << "\x1b[H\x1b[2J\x1b[3J";
    if (options.name.empty())
      print_resources(status);
    else
      print_devices(status, status.resources(0));
    if (options.watch) std::cout << '\n';
  } else if (options.watch && options.format == OutputFormat::kJson) {
    std::cout << json_of(status).dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';  // one a line
  } else {
    if (options.watch) std::cout << "---\n";
    print(std::cout, json_of(status), options.format);
  }
  std::cout.flush();
}

}  // namespace

int status(const StatusOptions& options) {
  bool known = true;
  const auto tell = [&](v1::Status status) {
    known = select(status, options.name);
    if (known) show(status, options);
    return known && std::cout.good();
  };
  try {
    ControlClient client(options.control);
    if (options.watch)
      client.watch_status(tell);
    else
      tell(client.status());
    if (known) return 0;
    std::cerr << "there is no resource " << options.name << "; `plughost status` lists those there are\n";
  } catch (const NoAnswer& error) {
    std::cerr << error.what() << '\n';
  }
  return 1;
}

}  // namespace plughost
