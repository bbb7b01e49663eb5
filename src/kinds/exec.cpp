// `exec: {discover, interval, timeout, triggers, attributes, user}`: a program of the user's own says what
// the devices are.

#include <pwd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <regex>
#include <stdexcept>
#include <utility>

#include "base/program_run.hpp"
#include "device/output_line.hpp"
#include "kinds/exec_document.hpp"
#include "kinds/kind.hpp"
#include "kinds/program_answer.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kShortestInterval = std::chrono::seconds(1);
constexpr std::chrono::milliseconds kLongestInterval = std::chrono::days(1);
constexpr std::chrono::milliseconds kShortestTimeout{100};
constexpr std::chrono::milliseconds kLongestTimeout = std::chrono::minutes(1);
// What templates may name whatever the kind; a program's attribute cannot take its place.
constexpr std::array<std::string_view, 5> kTaken = {"resource", "resourceEnv", "count", "id", "n"};

struct Discovery {
  std::vector<std::string> command;
  std::string user;  // empty: ours
  std::chrono::seconds interval{30};
  std::chrono::milliseconds timeout{5'000};
  std::vector<std::string> subsystems;
  std::vector<fs::path> paths;
};

// The command that runs another as the user. posix_spawn cannot change who a child is, and a fork in a
// process with threads could do nothing safely.
std::vector<std::string> command_as(const std::string& user, const std::vector<std::string>& command) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 16384> buffer{};
  ::getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) throw std::runtime_error("there is no user " + user + " on this machine");
  std::vector<std::string> all{"/usr/bin/setpriv", "--reuid=" + std::to_string(entry.pw_uid),
                               "--regid=" + std::to_string(entry.pw_gid), "--init-groups", "--"};
  std::ranges::copy(command, std::back_inserter(all));
  return all;
}

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
    const Program program{.command = discovery_.user.empty()
                                         ? discovery_.command
                                         : command_as(discovery_.user, discovery_.command),
                          .errors = Program::Errors::kApart,
                          .most_output = kMostAnswer,
                          .excess = Program::Excess::kFatal};
    const ProgramRun::Outcome outcome = run_.run(program, discovery_.timeout);
    if (const std::string why = why_no_answer(outcome, discovery_.timeout); !why.empty())
      throw std::runtime_error(why);
    try {
      return read_exec_document(outcome.result.output);
    } catch (const DocumentError& error) {
      throw std::runtime_error("what the program printed cannot be used: " + std::string(error.what()) +
                               after_colon(last_line(outcome.result.errors)));
    }
  }

  Discovery discovery_;
  mutable ProgramRun run_;
};

std::vector<std::string> read_command(Fields& fields) {
  std::vector<std::string> command = fields.texts("discover");
  if (command.empty()) {
    fields.error("discover",
                 "a program and its arguments are expected here, as in "
                 "discover: [/usr/lib/superdisk/list]");
  } else if (const std::string trouble = path_trouble(command[0]); !trouble.empty()) {
    fields.error("discover", "the program: " + trouble);
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

std::chrono::milliseconds read_duration(Fields& fields, std::string_view key,
                                        std::chrono::milliseconds fallback, std::chrono::milliseconds least,
                                        std::chrono::milliseconds most, const std::string& range) {
  const auto duration = fields.duration(key, fallback);
  if (duration < least || duration > most) fields.error(key, "the range is from " + range);
  return duration;
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

std::unique_ptr<const DeviceSource> read(Fields& entry) {
  const Node* const node = entry.node("exec");
  if (!node) return nullptr;
  Fields fields(*node, entry.path_of("exec"), entry.diagnostics());
  Discovery discovery;
  discovery.command = read_command(fields);
  const auto interval =
      read_duration(fields, "interval", discovery.interval, kShortestInterval, kLongestInterval, "1s to 1d");
  discovery.interval = std::chrono::duration_cast<std::chrono::seconds>(interval);
  if (interval != discovery.interval) fields.error("interval", "whole seconds are expected here, as in 30s");
  discovery.timeout =
      read_duration(fields, "timeout", discovery.timeout, kShortestTimeout, kLongestTimeout, "100ms to 1m");
  discovery.user = fields.text("user", "");
  read_triggers(fields, discovery);
  check_attributes(fields);
  return std::make_unique<Exec>(std::move(discovery));
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
