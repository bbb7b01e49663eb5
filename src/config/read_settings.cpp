#include "config/read_settings.hpp"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/log/log_line.hpp"
#include "base/system/files.hpp"
#include "base/text/network_address.hpp"
#include "base/text/words.hpp"
#include "config/checks.hpp"
#include "model/device/names.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

using Registration = KubeletConfig::Registration;
constexpr Word<Registration> kRegistrations[] = {{"register", Registration::kRegister},
                                                 {"pluginsRegistry", Registration::kPluginsRegistry}};
constexpr std::size_t kLongestNodeName = 253;  // as apimachinery's IsDNS1123Subdomain

}  // namespace

std::string KubeletConfig::files_owner() const {
  if (directory == kKubeletDirectory || !other_directory.empty()) return "plughost";
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "plughost.%016" PRIx64, fnv1a(directory.native()));
  return text.data();
}

void SettingsReader::read_node_file(const Node& root) {
  node_file_ = &root;
  Fields top(root, "", diagnostics_);
  Fields kubelet = top.below("kubelet");
  take_kubelet(kubelet);
  read_cdi(top);
}

void SettingsReader::read_main(Fields& top, const Overrides& overrides) {
  read_kubelet(top, overrides);
  Fields log = top.below("log");
  config_.log.level = log.choice("level", kLogLevels, LogLevel::kInfo);
  config_.log.format = log.choice("format", kLogFormats, LogFormat::kAuto);
  if (overrides.log_format) config_.log.format = *overrides.log_format;
  read_cdi(top);
  Fields labels = top.below("labels");
  config_.features_directory = labels.absolute_path("directory", config_.features_directory.native());
  read_telemetry(top, overrides);
  read_watch(top);
  config_.api_server = api_server_of(top);
  main_has_api_server_ = config_.api_server.has_value();
  config_.events = top.flag("events", false);
  if (const Node* const events = top.node("events")) events_mark_ = events->mark;
  if (top.has("nodeLabels")) config_.node_labels = top.absolute_path("nodeLabels", "/");
}

void SettingsReader::refuse_main_only(const Node& root, Fields& top) {
  for (const std::string_view key : {"kubelet", "log", "cdi", "labels", "listen", "control", "metrics",
                                     "nodeLabels", "watch", "events", "include"}) {
    if (root.find(key))
      top.error(key,
                "this belongs into the main file; an included one has only domain, apiServer and resources");
  }
}

void SettingsReader::check(std::span<const EntryDraft> entries) {
  check_conditions(entries);
  check_api_server(entries);
  const KubeletConfig& kubelet = config_.kubelet;
  if (kubelet.registration == Registration::kPluginsRegistry)
    check_socket_directory(kubelet.plugins_registry, kLongestSocketName, registry_mark_,
                           "kubelet.pluginsRegistry", diagnostics_);
}

void SettingsReader::take_kubelet(Fields& fields) {
  KubeletConfig& kubelet = config_.kubelet;
  kubelet.directory = fields.absolute_path("directory", kubelet.directory.native());
  if (kubelet.directory.extension() == ".sock")
    fields.error("directory",
                 "is a socket; write the directory that has it: " + kubelet.directory.parent_path().string());
  kubelet.plugins_registry = fields.absolute_path("pluginsRegistry", kubelet.plugins_registry.native());
  kubelet.pod_resources = fields.absolute_path("podResources", kubelet.pod_resources.native());
  kubelet.registration = fields.choice("registration", kRegistrations, kubelet.registration);
}

void SettingsReader::read_kubelet(Fields& top, const Overrides& overrides) {
  Fields fields = top.below("kubelet");
  take_kubelet(fields);

  KubeletConfig& kubelet = config_.kubelet;
  const bool ours = kubelet.registration == Registration::kRegister;
  const std::size_t longest_name = ours ? kLongestSocketName : std::string_view("kubelet.sock").size();
  const auto mark_of = [&](std::string_view key) {
    const Node* value = fields.node(key);
    const Node* const found_out = node_file_ ? node_file_->find("kubelet") : nullptr;
    if (!value && found_out) value = found_out->find(key);
    return value ? value->mark : fields.mark();
  };
  check_socket(kubelet.pod_resources, mark_of("podResources"), "kubelet.podResources", diagnostics_);
  if (overrides.plugin_directory.empty()) {
    check_socket_directory(kubelet.directory, longest_name, mark_of("directory"), "kubelet.directory",
                           diagnostics_);
  } else {
    std::error_code failed;
    const std::string path = fs::absolute(overrides.plugin_directory, failed).lexically_normal().native();
    kubelet.directory = path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
    check_socket_directory(kubelet.directory, longest_name, {.file = "--plugin-directory"}, "", diagnostics_);
  }
  const fs::path pods = kubelet.pod_resources.parent_path();
  const fs::path other = pods.parent_path() / "device-plugins";
  if (kubelet.directory == kKubeletDirectory && pods.filename() == "pod-resources" &&
      other != kubelet.directory && other.native().size() + 1 + longest_name <= kLongestSocketPath)
    kubelet.other_directory = other;
  registry_mark_ = mark_of("pluginsRegistry");
}

void SettingsReader::read_watch(Fields& top) {
  const Node* const node = top.node("watch");
  const bool is_map = node && node->kind == Node::Kind::kMap;
  config_.watch = is_map || top.flag("watch", false);
  if (!is_map) return;
  Fields fields = top.below("watch");
  if (fields.has("confirm"))
    config_.confirm = fields.seconds("confirm", kShortestTrial, kShortestTrial, kLongestTrial);
}

std::optional<ApiServerConfig> SettingsReader::api_server_of(Fields& top) {
  const Node* const node = top.node("apiServer");
  if (!node) return std::nullopt;
  Fields fields = top.below("apiServer");
  ApiServerConfig server;
  server.where = node->mark;
  if (fields.text("kubeconfig", server.kubeconfig) != server.kubeconfig)
    server.kubeconfig = fields.absolute_path("kubeconfig", server.kubeconfig);
  server.node = fields.text("node", "");
  if (fields.has("node") && (server.node.size() > kLongestNodeName || !is_domain(server.node)))
    fields.error("node", quote(server.node) +
                             " is not a name of a node: at most 253 lower-case letters, digits, '-' and '.', "
                             "as `kubectl get nodes` shows it");
  return server;
}

void SettingsReader::read_cdi(Fields& top) {
  Fields fields = top.below("cdi");
  config_.cdi_directory = fields.absolute_path("directory", config_.cdi_directory.native());
}

void SettingsReader::read_telemetry(Fields& top, const Overrides& overrides) {
  TelemetryConfig& telemetry = config_.telemetry;
  telemetry.listen = top.text("listen", "");
  if (top.has("listen")) {
    const auto address = listen_address(telemetry.listen);
    if (const auto* const error = std::get_if<std::string>(&address))
      top.error("listen", quote(telemetry.listen) + " is not an address to listen on; " + *error);
    else if (!std::get<SocketAddress>(address).loopback)
      top.warning("listen", "everyone who can reach this machine can read the status page and the metrics");
  }
  telemetry.control = top.absolute_path("control", telemetry.control.native());
  const auto mark_of = [&](std::string_view key) {
    const Node* const value = top.node(key);
    return value ? value->mark : top.mark();
  };
  check_socket(telemetry.control, mark_of("control"), "control", diagnostics_);
  telemetry.listen_where = mark_of("listen").text();
  telemetry.control_where = mark_of("control").text();
  if (!overrides.control.empty()) {
    telemetry.control = overrides.control;
    telemetry.control_where = "--control";
  }
  Fields metrics = top.below("metrics");
  telemetry.metrics = {.devices = metrics.flag("devices", false),
                       .textfile = metrics.absolute_path("textfile", "")};
}

// The main file's `apiServer` takes precedence. Included files, which may be ready-made, must agree.
void SettingsReader::read_included(Fields& top) {
  std::optional<ApiServerConfig> server = api_server_of(top);
  if (!server || main_has_api_server_) return;
  if (config_.api_server && *config_.api_server != *server)
    return top.error("apiServer", "a different access to the API server is configured at " +
                                      config_.api_server->where.text() + "; choose one in the main file");
  if (!config_.api_server) config_.api_server = std::move(server);
}

// Reports conditions on the node's labels if no source of the labels is configured.
void SettingsReader::check_conditions(std::span<const EntryDraft> entries) {
  if (!config_.node_labels.empty() || config_.api_server) return;
  std::set<const Condition*> reported;  // the condition of an `include` belongs to many entries
  for (const EntryDraft& entry : entries) {
    for (const auto& condition : entry.config.when) {
      if (!condition->names_labels() || !reported.insert(condition.get()).second) continue;
      diagnostics_.error(condition->mark(), condition->path() + ".label",
                         "the node's labels are unknown; set `nodeLabels: FILE` in the main file, or "
                         "`apiServer: {}` to read them from the API server");
    }
  }
}

// Reports settings that need the API server if it is not configured.
void SettingsReader::check_api_server(std::span<const EntryDraft> entries) {
  if (config_.api_server) return;
  if (config_.events)
    diagnostics_.error(events_mark_, "events",
                       "events are written to the API server; configure access to it: `apiServer: {}`");
  for (const EntryDraft& entry : entries) {
    if (entry.config.spec->assume)
      diagnostics_.error(entry.document->find("assume")->mark, entry.path + ".assume",
                         "the pod's annotations in the API server name its card, and plughost marks the pod "
                         "there; configure access to the API server: `apiServer: {}`");
    const Node* const counts = entry.document->find("nodeResources");
    if (counts && !entry.config.node_resources.empty())
      diagnostics_.error(counts->mark, entry.path + ".nodeResources",
                         "these are written to the API server; configure access to it in the main file: "
                         "`apiServer: {}`");
  }
}

}  // namespace plughost
