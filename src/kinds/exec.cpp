// `exec: {discover or watch, interval, timeout, triggers, attributes, user}`: a program of the user's own
// says what the devices are.

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <stdexcept>
#include <utility>

#include "base/program_run.hpp"
#include "kinds/exec_document.hpp"
#include "kinds/exec_program.hpp"
#include "kinds/exec_watch.hpp"
#include "kinds/kind.hpp"
#include "kinds/program_answer.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kShortestInterval{1};
constexpr std::chrono::seconds kLongestInterval = std::chrono::days(1);
constexpr std::chrono::milliseconds kShortestTimeout{100};
constexpr std::chrono::milliseconds kLongestTimeout = std::chrono::minutes(1);
constexpr std::chrono::milliseconds kLongestSilence = std::chrono::days(1);
// What templates may name whatever the kind; a program's attribute cannot take its place.
constexpr std::array<std::string_view, 5> kTaken = {"resource", "resourceEnv", "count", "id", "n"};

struct Discovery {
  ExecProgram program;
  std::chrono::seconds interval{30};
  std::chrono::milliseconds timeout{5'000};
  std::vector<std::string> subsystems;
  std::vector<fs::path> paths;
};

class Exec final : public DeviceSource {
 public:
  explicit Exec(Discovery discovery) : discovery_(std::move(discovery)) {}

  Scan scan(const HostRoot& host) const override {
    Scan scan;
    scan.look_again = discovery_.interval;
    scan.subsystems = discovery_.subsystems;
    for (const fs::path& path : discovery_.paths) {
      scan.watch.push_back({.path = path.parent_path(), .name = path.filename()});
      std::error_code none;
      if (fs::is_directory(host.at(path), none)) scan.watch.push_back({.path = path});
    }
    scan.devices = ask();
    return scan;
  }

  bool ends_by_itself() const override { return true; }
  void abandon() const override { run_.stop(); }

 private:
  std::vector<Device> ask() const {
    const ProgramRun::Outcome outcome = run_.run(discovery_.program.program(), discovery_.timeout);
    if (const std::string why = why_no_answer(outcome, discovery_.timeout); !why.empty())
      throw std::runtime_error(why);
    try {
      return read_exec_document(outcome.result.output);
    } catch (const DocumentError& error) {
      throw std::runtime_error("what the program printed cannot be used: " + std::string(error.what()) +
                               last_words(outcome.result.errors));
    }
  }

  Discovery discovery_;
  mutable ProgramRun run_;
};

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

void read_triggers(Fields& exec, Discovery& discovery) {
  const Node* const node = exec.node("triggers");
  if (!node) return;
  Fields fields(*node, exec.path_of("triggers"), exec.diagnostics());
  discovery.subsystems = fields.texts("subsystems");
  for (const std::string& subsystem : discovery.subsystems) {
    if (subsystem.empty() || subsystem.find('/') != std::string::npos)
      fields.error("subsystems", "a subsystem is a name such as tty or block");
  }
  for (std::string& path : fields.texts("paths")) {
    if (const std::string trouble = path_trouble(path); !trouble.empty()) fields.error("paths", trouble);
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    discovery.paths.emplace_back(std::move(path));
  }
}

void check_attributes(Fields& fields) {
  static const std::regex kName("[A-Za-z][A-Za-z0-9_]*");
  for (const std::string& name : fields.texts("attributes")) {
    if (!std::regex_match(name, kName))
      fields.error("attributes", quote(name) + " cannot be a placeholder: letters, digits and _ make one");
    else if (std::ranges::find(kTaken, name) != kTaken.end())
      fields.error("attributes", "{" + name + "} has a meaning already");
  }
}

std::unique_ptr<const DeviceSource> read_discovery(Fields& fields, ExecProgram program) {
  Discovery discovery{.program = std::move(program)};
  discovery.interval = fields.seconds("interval", discovery.interval, kShortestInterval, kLongestInterval);
  discovery.timeout = fields.duration("timeout", discovery.timeout, kShortestTimeout, kLongestTimeout);
  read_triggers(fields, discovery);
  return std::make_unique<Exec>(std::move(discovery));
}

std::unique_ptr<const DeviceSource> read_watch(Fields& fields, ExecProgram program) {
  for (const std::string_view key : {"interval", "triggers"}) {
    if (fields.has(key))
      fields.error(key, "this belongs to discover: what watches says by itself when to look");
  }
  std::optional<std::chrono::milliseconds> timeout;
  if (fields.has("timeout"))
    timeout = fields.duration("timeout", kLongestSilence, kShortestTimeout, kLongestSilence);
  return exec_watch(std::move(program), timeout);
}

std::unique_ptr<const DeviceSource> read(Fields& entry) {
  const Node* const node = entry.node("exec");
  if (!node) return nullptr;
  Fields fields(*node, entry.path_of("exec"), entry.diagnostics());
  const bool watches = fields.has("watch");
  if (watches && fields.has("discover"))
    fields.error("watch",
                 "the entry has 'discover' already; one program lists the devices: it is run again "
                 "and again, or it stays");
  ExecProgram program{.command = read_command(fields, watches ? "watch" : "discover"),
                      .user = read_user(fields)};
  check_attributes(fields);
  return watches ? read_watch(fields, std::move(program)) : read_discovery(fields, std::move(program));
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
  return {.key = "exec", .attributes = {}, .default_id = "", .read = read, .declared = declared};
}

}  // namespace plughost
