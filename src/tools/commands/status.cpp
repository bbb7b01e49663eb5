// plughost status: prints the running daemon's resources, their devices and their holders.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/system/unix_socket.hpp"
#include "base/text/text.hpp"
#include "daemon/status/status.hpp"
#include "daemon/telemetry/control_client.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/given.hpp"

namespace plughost {
namespace {

// Returns the time since or until `time` as "4s", "12m", "3h" or "9d". `time` is in the form of time_json().
std::string age(const Json& time) {
  const std::optional<std::int64_t> microseconds = microseconds_of(time.text());
  if (!microseconds) return "";
  using namespace std::chrono;
  const auto now = duration_cast<std::chrono::microseconds>(system_clock::now().time_since_epoch()).count();
  const std::int64_t seconds = std::abs(now - *microseconds) / 1'000'000;
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (seconds < 2 * 3600) return std::to_string(seconds / 60) + "m";
  if (seconds < 2 * 86400) return std::to_string(seconds / 3600) + "h";
  return std::to_string(seconds / 86400) + "d";
}

std::string joined_words(const Json& words, const char* between) {
  std::string text;
  for (const Json& word : words.array()) {
    if (!text.empty()) text += between;
    text += word.text();
  }
  return text;
}

std::string joined_numbers(const Json& numbers) {
  std::vector<std::int64_t> all;
  for (const Json& number : numbers.array()) all.push_back(number.number());
  return joined(all, ",");
}

std::string error_of(const Json& resource) {
  if (!resource["disagreement"].text().empty())
    return "the kubelet disagrees: " + resource["disagreement"].text();
  if (resource["trouble"].text().empty()) return "";
  std::string text = resource["trouble"].text() + " (" + age(resource["troubleAt"]) + " ago)";
  if (!resource["nextTry"].is_null()) text += ", again in " + age(resource["nextTry"]);
  return text;
}

std::string holders_of(const Json& device) {
  std::string text;
  for (const Json& holder : device["holders"].array()) {
    if (!text.empty()) text += ' ';
    if (device["replicas"].number() > 1) text += holder["id"].text() + '=';
    const std::string& name_space = holder["namespace"].text();
    text += (name_space.empty() ? "pod " : name_space + '/') + holder["pod"].text();
    text += '/' + holder["container"].text();
  }
  return text;
}

// A Healthy device has a reason if some of its shares are Unhealthy.
std::string health_of(const Json& device) {
  const std::string& reason = device["reason"].text();
  if (device["health"].text() == "Healthy" && !reason.empty()) return "Healthy; " + reason;
  return health_text(reason);
}

void print_api_server(const Json& server) {
  if (server.is_null()) return;
  std::cout << "API server: "
            << (server["server"].text().empty() ? "not queried yet" : printable(server["server"].text()));
  if (!server["identity"].text().empty()) std::cout << " as " << printable(server["identity"].text());
  if (!server["node"].text().empty()) std::cout << ", node " << printable(server["node"].text());
  if (!server["heardAt"].is_null()) std::cout << ", last contact " << age(server["heardAt"]) << " ago";
  if (!server["trouble"].text().empty()) std::cout << ": " << printable(server["trouble"].text());
  std::cout << '\n';
  for (const Json& watch : server["watches"].array()) {
    if (!watch["trouble"].text().empty())
      std::cout << "API server: " << printable(watch["collection"].text()) << ": "
                << printable(watch["trouble"].text()) << '\n';
  }
  for (const Json& warning : server["warnings"].array())
    std::cout << "API server: " << printable(warning.text()) << '\n';
}

void print_head(const Json& status) {
  const Json& kubelet = status["kubelet"];
  const Json& configuration = status["configuration"];
  std::cout << "plughost " << status["version"].text() << " on " << printable(status["node"].text())
            << ", up " << age(status["startedAt"]) << '\n'
            << "kubelet: " << (kubelet["present"].truth() ? "running" : "not running");
  if (!kubelet["since"].is_null()) std::cout << " for " << age(kubelet["since"]);
  if (!kubelet["process"].is_null()) std::cout << ", process " << kubelet["process"].number();
  std::cout << ", " << kubelet["directory"].text() << '\n';
  print_api_server(status["apiServer"]);
  std::cout << "configuration: " << joined_words(configuration["files"], " ") << ", loaded "
            << age(configuration["loadedAt"]) << " ago, hash " << configuration["hash"].text() << '\n';
  if (!configuration["refusedAt"].is_null())
    std::cout << "the last reload, " << age(configuration["refusedAt"])
              << " ago, was refused; the former configuration is in use\n";
  if (!configuration["trialUntil"].is_null())
    std::cout << "on trial: rolls back in " << age(configuration["trialUntil"])
              << " unless confirmed by `plughost reload --keep`\n";
  if (!configuration["givenUpAt"].is_null())
    std::cout << "a configuration was rolled back " << age(configuration["givenUpAt"])
              << " ago: " << configuration["givenUpWhy"].text() << '\n';
  for (const Json& error : configuration["errors"].array()) std::cout << "error: " << error.text() << '\n';
  for (const Json& other : configuration["notHere"].array())
    std::cout << "not here: " << other["entry"].text() << " (" << other["where"].text()
              << "): " << other["why"].text() << '\n';
  for (const Json& pattern : status["unmatched"].array())
    std::cout << "no device matches: " << pattern["pattern"].text() << " of " << pattern["entry"].text()
              << " (" << pattern["where"].text() << ")\n";
  if (!status["holdersUnknown"].text().empty())
    std::cout << "cannot determine which pods hold devices: " << status["holdersUnknown"].text() << '\n';
  if (!status["problems"].array().empty()) std::cout << "not ready: " << readiness_of(status).line << '\n';
  for (const Json& drain : status["drains"].array()) {
    const DrainSet::Name name{.resource = drain["resource"].text(), .device = drain["device"].text()};
    std::cout << printable(name.text()) << " has been drained for " << age(drain["since"]);
    if (!drain["until"].is_null()) std::cout << ", ends in " << age(drain["until"]);
    if (!drain["reason"].text().empty()) std::cout << ": " << printable(drain["reason"].text());
    std::cout << '\n';
  }
  if (!kubelet["unverified"].text().empty())
    std::cout << "cannot verify the kubelet's device count: " << kubelet["unverified"].text() << '\n';
}

// Returns the column's text: the last error, or else why the first Unhealthy device is Unhealthy.
std::string trouble_of(const Json& resource) {
  std::string error = error_of(resource);
  if (!error.empty()) return error;
  const Json::Array& devices = resource["list"].array();
  const auto found = std::ranges::find_if(
      devices, [](const Json& device) { return device["health"].text() == "Unhealthy"; });
  return found == devices.end() ? "" : (*found)["id"].text() + ": " + (*found)["reason"].text();
}

std::string holders_of_all(const Json& resource) {
  std::vector<std::string> holders;
  for (const Json& device : resource["list"].array())
    if (std::string text = holders_of(device); !text.empty()) holders.push_back(std::move(text));
  return joined(holders, " ");
}

void print_resources(const Json& status, bool wide) {
  print_head(status);
  std::cout << '\n';
  std::vector<TableRow> rows;
  TableRow head{"RESOURCE", "STAGE", "SINCE", "HEALTHY", "UNHEALTHY", "HELD"};
  if (wide) head.insert(head.end(), {"ENTRY", "HELD BY"});
  head.emplace_back("LAST ERROR");
  for (const Json& resource : status["resources"].array()) {
    const Json& counts = resource["devices"];
    rows.push_back({resource["name"].text(), resource["stage"].text(), age(resource["since"]),
                    std::to_string(counts["healthy"].number()), std::to_string(counts["unhealthy"].number()),
                    status["holdersUnknown"].text().empty() ? std::to_string(counts["held"].number()) : "?"});
    if (wide) {
      rows.back().push_back(resource["entry"].text());
      rows.back().push_back(holders_of_all(resource));
    }
    rows.back().push_back(trouble_of(resource));
  }
  print_table(std::cout, head, rows, &colour_of);
}

void print_devices(const Json& status, const Json& resource) {
  std::cout << resource["name"].text() << ": " << resource["stage"].text() << " for "
            << age(resource["since"]);
  if (const std::string error = error_of(resource); !error.empty()) std::cout << "\nlast error: " << error;
  if (!status["holdersUnknown"].text().empty())
    std::cout << "\ncannot determine which pods hold devices: " << status["holdersUnknown"].text();
  for (const Json& entry : status["noDevices"].array()) {
    if (entry["entry"].text() == resource["entry"].text())
      std::cout << "\nno devices: " << printable(entry["why"].text()) << " (" << entry["where"].text() << ')';
  }
  std::cout << "\n\n";
  std::vector<TableRow> rows;
  for (const Json& device : resource["list"].array()) {
    rows.push_back({id_text(device["id"].text(), static_cast<unsigned>(device["replicas"].number())),
                    health_of(device), age(device["since"]), joined_numbers(device["numa"]),
                    joined_words(device["nodes"], " "), holders_of(device)});
  }
  print_table(std::cout, {"DEVICE", "HEALTH", "SINCE", "NUMA", "NODES", "HELD BY"}, rows, &colour_of);
}

// Removes all resources except `name`. Throws std::runtime_error if no resource has the name.
void select(Json& status, const std::string& name) {
  if (name.empty()) return;
  const std::vector<std::string> known = names_of(status);
  const std::string whole = full_name(name, known);
  const Json::Array& resources = std::as_const(status)["resources"].array();
  const auto found =
      std::ranges::find_if(resources, [&](const Json& resource) { return resource["name"].text() == whole; });
  if (found == resources.end()) throw std::runtime_error(no_such("resource", name, known));
  status["resources"] = Json::Array{*found};
}

// Prints the resources' names, or with `devices` NAME=ID of each device, as drain takes it.
void print_names(const Json& status, bool devices) {
  for (const Json& resource : status["resources"].array()) {
    if (!devices) std::cout << resource["name"].text() << '\n';
    for (const Json& device : devices ? resource["list"].array() : Json::Array())
      std::cout << resource["name"].text() << '=' << device["id"].text() << '\n';
  }
}

void show(const Json& status, const StatusOptions& options) {
  if (options.format == OutputFormat::kName) {
    print_names(status, !options.name.empty());
  } else if (is_table(options.format)) {
    // Clears a terminal, so that the table stays in place.
    constexpr std::string_view kClear = "\x1b[H\x1b[2J\x1b[3J";
    if (options.watch && ::isatty(STDOUT_FILENO) == 1)
      (void)!::write(STDOUT_FILENO, kClear.data(), kClear.size());
    if (options.name.empty())
      print_resources(status, options.format == OutputFormat::kWide);
    else
      print_devices(status, status["resources"].array().front());
    if (options.watch) std::cout << '\n';
  } else if (options.watch && options.format == OutputFormat::kJson) {
    std::cout << status.dump() << '\n';  // one per line
  } else {
    if (options.watch) std::cout << "---\n";
    print(std::cout, status, options.format);
  }
  std::cout.flush();
}

// Less than the default 5 s limit of node-problem-detector's custom plugins.
constexpr std::chrono::seconds kCheckDeadline{4};

int check_node(const std::string& socket, OutputFormat format) {
  Readiness check;
  try {
    check = readiness_of(ControlClient(socket).status(kCheckDeadline));
  } catch (const NotThere&) {
    check = {Readiness::Verdict::kProblem, "plughost does not run"};
  } catch (const NoAnswer& exception) {
    check = unknown_readiness(exception.what());
  }
  const int code = static_cast<int>(check.verdict);
  if (format == OutputFormat::kTable)
    std::cout << check.line << '\n';
  else
    print(std::cout, {{"ready", code == 0}, {"exitCode", code}, {"line", check.line}}, format);
  return code;
}

}  // namespace

int status(const StatusOptions& options) {
  const std::string socket = control_socket(options.control);
  if (options.here && listening_process(socket) == 0)
    throw NoAnswer("the plughost of another container answers on " + socket);
  if (options.check) return check_node(socket, options.format);
  const auto tell = [&](Json status) {
    select(status, options.name);
    show(status, options);
    return std::cout.good();
  };
  const ControlClient client(socket);
  if (options.watch)
    client.watch_status(tell);
  else
    tell(client.status());
  return 0;
}

}  // namespace plughost
