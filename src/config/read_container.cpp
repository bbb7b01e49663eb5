#include "config/read_entry.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "host/programs/program.hpp"

namespace plughost {
namespace {

constexpr std::chrono::milliseconds kShortestInterval = std::chrono::seconds(1);
constexpr std::chrono::milliseconds kLongestInterval = std::chrono::days(1);
constexpr std::chrono::milliseconds kShortestTimeout{100};
constexpr std::chrono::milliseconds kLongestTimeout = std::chrono::minutes(10);
// The kubelet waits 30 s, part of which is spent on the way.
constexpr std::chrono::milliseconds kPreStart = std::chrono::seconds(20);
constexpr std::chrono::milliseconds kLongestPreStart = std::chrono::seconds(25);
// The default and the maximum: the kubelet admits no other pod until it has the response.
constexpr std::chrono::milliseconds kAllocate = std::chrono::seconds(2);
constexpr std::chrono::milliseconds kOnRemove = std::chrono::seconds(5);
constexpr std::chrono::milliseconds kWhenUnhealthy = std::chrono::seconds(30);
constexpr std::chrono::milliseconds kLongestAfter = std::chrono::days(1);

// Reads a map from text to text, with all pairs of the document in its order.
AllocationSpec::Pairs read_pairs(Fields& entry, std::string_view key, const Words& known) {
  AllocationSpec::Pairs pairs;
  for (const auto& [name, value] : entry.members(key, "values")) {
    const std::string path = entry.path_of(key) + '.' + name.scalar;
    if (name.scalar.empty()) entry.diagnostics().error(name.mark, entry.path_of(key), "a name is empty");
    refuse_what_is_no_text(value, path, entry.diagnostics());
    pairs.emplace_back(read_template(name.scalar, known, name.mark, path, entry.diagnostics()),
                       read_template(value.scalar, known, value.mark, path, entry.diagnostics()));
  }
  return pairs;
}

AllocationSpec::Pairs read_env(Fields& entry, const Words& known) {
  AllocationSpec::Pairs env = read_pairs(entry, "env", known);
  for (std::size_t i = 0; i < env.size(); ++i) {
    const Node& name = entry.node("env")->members[i].first;
    const std::string& value = env[i].second.text();
    const bool is_helms = value.starts_with("{{ ") || value.starts_with("{{.") || value == "{{id}}";
    if (value.find("$(") != std::string::npos || value.find("${") != std::string::npos || is_helms)
      entry.diagnostics().warning(
          name.mark, entry.path_of("env") + '.' + name.scalar,
          quote(value) + " is no placeholder as it stands; a device's id is \"{id}\"");
    if (sample(env[i].first).find('=') == std::string::npos) continue;
    entry.diagnostics().error(name.mark, entry.path_of("env") + '.' + name.scalar,
                              "the name of an environment variable cannot have '='");
  }
  return env;
}

// Reads a template of an absolute path. If the key is absent, returns *fallback or reports an error.
Template read_path(Fields& fields, std::string_view key, const Template* fallback, const Words& known) {
  if (!fields.has(key)) {
    if (fallback) return *fallback;
    fields.error(key, "the key '" + std::string(key) + "' is missing");
    return {};
  }
  Template path = fields.pattern(key, "", known);
  // An attribute in front, as in {path}, may contain the '/'.
  const std::string& text = path.text();
  const bool attribute_first =
      text.starts_with('{') && !text.starts_with("{{") &&
      std::ranges::find(kCommonNames, path.placeholders()[0]) == std::end(kCommonNames);
  if (const std::string error = path_error(attribute_first ? '/' + text : text); !error.empty())
    fields.error(key, error);
  return path;
}

// Reads the maps of a list by read(fields, item).
template <class Item, class Read>
std::vector<Item> read_each(Fields& entry, const std::string& key, Read read) {
  std::vector<Item> read_items;
  for (std::size_t i = 0; const Node& item : entry.items(key)) {
    Fields fields(item, entry.path_of(key) + '[' + std::to_string(i++) + ']', entry.diagnostics());
    read(fields, read_items.emplace_back());
  }
  return read_items;
}

std::vector<MountSpec> read_mounts(Fields& entry, const Words& known) {
  return read_each<MountSpec>(entry, "mounts", [&](Fields& fields, MountSpec& mount) {
    mount.host_path = read_path(fields, "hostPath", nullptr, known);
    mount.container_path = read_path(fields, "containerPath", &mount.host_path, known);
    mount.read_only = fields.flag("readOnly", false);
  });
}

std::vector<NodeSpec> read_nodes(Fields& entry, const Words& known) {
  return read_each<NodeSpec>(entry, "nodes", [&](Fields& fields, NodeSpec& node) {
    node.host_path = read_path(fields, "hostPath", nullptr, known);
    node.container_path = read_path(fields, "containerPath", &node.host_path, known);
    node.permissions = fields.permissions();
  });
}

// Reads `exec` and `user`: the command to run. The program is the same for every device.
std::vector<Template> read_command(Fields& fields, const Words& known) {
  if (!fields.has("exec")) {
    fields.has("user");  // marks the key as known
    fields.error("exec", "the key 'exec' is missing, as in exec: [/usr/lib/superdisk/check]");
    return {};
  }
  const std::vector<std::string> words = fields.texts("exec");
  if (words.empty())
    fields.error("exec", "must be a list of a program and its arguments");
  else
    check_program(fields, "exec", words);
  std::vector<Template> command;
  for (const std::string& word : words_as(read_user(fields))) command.emplace_back(Template::escape(word));
  const std::size_t program = command.size();
  for (const std::string& word : words) {
    command.push_back(
        read_template(word, known, fields.node("exec")->mark, fields.path_of("exec"), fields.diagnostics()));
  }
  if (command.size() > program && !command[program].literal())
    fields.error("exec", "the program's path has no placeholders; its arguments may have some");
  return command;
}

std::optional<HealthCheckSpec> read_health(Fields& entry, const Words& known) {
  if (!entry.has("health")) return std::nullopt;
  Fields fields = entry.below("health");
  HealthCheckSpec health;
  health.command = read_command(fields, known);
  health.interval = fields.duration("interval", health.interval, kShortestInterval, kLongestInterval);
  health.timeout = fields.duration("timeout", health.timeout, kShortestTimeout, kLongestTimeout);
  return health;
}

// Reads `preStart`, `allocate` or `onRemove`.
std::optional<ProgramSpec> read_program(Fields& entry, std::string_view key, const Words& known,
                                        std::chrono::milliseconds usual, std::chrono::milliseconds longest) {
  if (!entry.has(key)) return std::nullopt;
  Fields fields = entry.below(key);
  std::vector<Template> command = read_command(fields, known);
  return ProgramSpec{.command = std::move(command),
                     .timeout = fields.duration("timeout", usual, kShortestTimeout, longest)};
}

std::optional<UnhealthyProgramSpec> read_when_unhealthy(Fields& entry, const Words& known) {
  if (!entry.has("whenUnhealthy")) return std::nullopt;
  Fields fields = entry.below("whenUnhealthy");
  UnhealthyProgramSpec spec;
  spec.after = fields.duration("after", spec.after, std::chrono::milliseconds(0), kLongestAfter);
  spec.program.command = read_command(fields, known);
  spec.program.timeout = fields.duration("timeout", kWhenUnhealthy, kShortestTimeout, kLongestTimeout);
  return spec;
}

}  // namespace

std::string sample(const Template& pattern) {
  return *pattern.expand([](std::string_view) { return std::optional<std::string>("x"); });
}

void refuse_what_is_no_text(const Node& value, const std::string& path, Diagnostics& diagnostics) {
  if (value.kind == Node::Kind::kNull)
    diagnostics.error(value.mark, path, "the key has no value; write \"\" for an empty text");
  else if (value.kind != Node::Kind::kScalar)
    diagnostics.error(value.mark, path, not_a_scalar(value));
}

void read_programs(Fields& entry, const Words& of_device, AllocationSpec& spec) {
  spec.health = read_health(entry, of_device);
  spec.pre_start = read_program(entry, "preStart", of_device, kPreStart, kLongestPreStart);
  spec.allocate = read_program(entry, "allocate", {"resource"}, kAllocate, kAllocate);
  spec.on_remove = read_program(entry, "onRemove", of_device, kOnRemove, kLongestTimeout);
  spec.when_unhealthy = read_when_unhealthy(entry, of_device);
}

void read_container(Fields& entry, const Words& known, AllocationSpec& spec) {
  spec.env = read_env(entry, known);
  spec.annotations = read_pairs(entry, "annotations", known);
  spec.mounts = read_mounts(entry, known);
  spec.nodes = read_nodes(entry, known);
}

}  // namespace plughost
