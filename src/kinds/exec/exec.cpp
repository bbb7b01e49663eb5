// `exec: {discover or watch, interval, timeout, triggers, attributes, user}`: a program of the user's own
// says what the devices are.

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "kinds/exec/source.hpp"
#include "programs/program.hpp"

namespace plughost {
namespace {

constexpr std::chrono::seconds kInterval{30};
constexpr std::chrono::seconds kShortestInterval{1};
constexpr std::chrono::seconds kLongestInterval = std::chrono::days(1);
constexpr std::chrono::milliseconds kTimeout{5'000};
constexpr std::chrono::milliseconds kShortestTimeout{100};
constexpr std::chrono::milliseconds kLongestTimeout = std::chrono::minutes(1);
constexpr std::chrono::milliseconds kLongestSilence = std::chrono::days(1);
// What templates may name whatever the kind; a program's attribute cannot take its place.
constexpr std::array<std::string_view, 5> kTaken = {"resource", "resourceEnv", "count", "id", "n"};

std::vector<std::string> read_command(Fields& fields, std::string_view key) {
  std::vector<std::string> command = fields.texts(key);
  if (command.empty()) {
    fields.error(key, "a program and its arguments are expected here, as in " + std::string(key) +
                          ": [/usr/lib/superdisk/list]");
  } else if (const std::string trouble = path_trouble(command[0]); !trouble.empty()) {
    fields.error(key, "the program: " + trouble);
  }
  return command;
}

void read_triggers(Fields& exec, ExecSettings& settings) {
  const Node* const node = exec.node("triggers");
  if (!node) return;
  Fields fields(*node, exec.path_of("triggers"), exec.diagnostics());
  settings.subsystems = fields.texts("subsystems");
  for (const std::string& subsystem : settings.subsystems) {
    if (subsystem.empty() || subsystem.find('/') != std::string::npos)
      fields.error("subsystems", "a subsystem is a name such as tty or block");
  }
  for (std::string& path : fields.texts("paths")) {
    if (const std::string trouble = path_trouble(path); !trouble.empty()) fields.error("paths", trouble);
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    settings.paths.emplace_back(std::move(path));
  }
}

void check_attributes(Fields& fields) {
  for (const std::string& name : fields.texts("attributes")) {
    if (!Template::is_name(name))
      fields.error("attributes", quote(name) + " cannot be a placeholder: letters, digits and _ make one");
    else if (std::ranges::find(kTaken, name) != kTaken.end())
      fields.error("attributes", "{" + name + "} has a meaning already");
  }
}

void read_discovery(Fields& fields, ExecSettings& settings) {
  settings.interval = fields.seconds("interval", kInterval, kShortestInterval, kLongestInterval);
  settings.timeout = fields.duration("timeout", kTimeout, kShortestTimeout, kLongestTimeout);
  read_triggers(fields, settings);
}

void read_watch(Fields& fields, ExecSettings& settings) {
  for (const std::string_view key : {"interval", "triggers"}) {
    if (fields.has(key))
      fields.error(key, "this belongs to discover: what watches says by itself when to look");
  }
  if (fields.has("timeout"))
    settings.timeout = fields.duration("timeout", kLongestSilence, kShortestTimeout, kLongestSilence);
}

std::unique_ptr<const DeviceSource> read_exec(Fields& entry) {
  const Node* const node = entry.node("exec");
  if (!node) return nullptr;
  Fields fields(*node, entry.path_of("exec"), entry.diagnostics());
  ExecSettings settings{.stays = fields.has("watch")};
  if (settings.stays && fields.has("discover"))
    fields.error("watch",
                 "the entry has 'discover' already; one program lists the devices: it is run again "
                 "and again, or it stays");
  const std::vector<std::string> program = read_command(fields, settings.stays ? "watch" : "discover");
  settings.command = words_as(read_user(fields));
  settings.as_user = !settings.command.empty();
  settings.command.insert(settings.command.end(), program.begin(), program.end());
  check_attributes(fields);
  if (settings.stays)
    read_watch(fields, settings);
  else
    read_discovery(fields, settings);
  return exec_source(std::move(settings));
}

std::vector<std::string_view> declared(const Node& value) {
  const Node* const names = value.find("attributes");
  if (!names) return {};
  if (names->kind == Node::Kind::kScalar) return {names->scalar};
  std::vector<std::string_view> attributes;
  for (const Node& name : names->items) attributes.push_back(name.scalar);
  return attributes;
}

}  // namespace

Kind exec_kind() {
  return {.key = "exec", .attributes = {}, .default_id = "", .read = read_exec, .declared = declared};
}

}  // namespace plughost
