// plughost setup: writes what this node and its configuration need from systemd.

#include <unistd.h>

#include <array>
#include <filesystem>
#include <iostream>
#include <span>
#include <string_view>

#include "base/text/text.hpp"
#include "config/config.hpp"
#include "tools/commands/command.hpp"
#include "tools/setup/plan.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

// Where the program may be in the root of another machine.
constexpr std::array kPrograms{kPackagedProgram, "/usr/local/bin/plughost", "/opt/bin/plughost"};

std::string program_in(const HostRoot& host, const std::string& root) {
  if (root == "/") {
    std::error_code failed;
    return fs::read_symlink("/proc/self/exe", failed);
  }
  for (const char* const program : kPrograms) {
    if (host.exists(program)) return program;
  }
  return {};
}

bool is_among(std::span<const FileChange> changes, std::string_view path) {
  for (const FileChange& change : changes) {
    if (change.path == path) return true;
  }
  return false;
}

// Returns the commands that put the files into effect; setup runs none of them.
std::string next_step(std::span<const FileChange> changes, bool enabled) {
  if (!is_among(changes, kDropIn) && !is_among(changes, kOwnUnit)) return "systemctl reload plughost";
  std::string steps = is_among(changes, kSysusers) ? "systemd-sysusers && " : "";
  steps += "systemctl daemon-reload && ";
  if (!enabled) steps += "systemctl enable plughost && ";
  return steps + "systemctl restart plughost";
}

void print_plan(const SetupPlan& plan) {
  for (const std::string& found : plan.found) std::cout << printable(found) << '\n';
  for (const Need& need : plan.needs) std::cout << "needs: " << printable(need.what) << '\n';
  for (const std::string& remark : plan.remarks) std::cout << "note: " << printable(remark) << '\n';
}

void print_diff(std::span<const FileChange> changes) {
  for (const FileChange& change : changes) std::cout << change.diff();
}

void tell(std::span<const FileChange> changes) {
  for (const FileChange& change : changes)
    std::cout << (change.after ? "wrote " : "removed ") << change.path << '\n';
}

// Returns the configuration's path on the machine that is set up.
fs::path config_of(const SetupOptions& options) {
  return options.root == "/" ? fs::absolute(options.config).lexically_normal() : fs::path(options.config);
}

struct Words {
  std::string nothing;  // why nothing must be done
  std::string next;     // commands that put the files into effect
};

void finish(const SetupOptions& options, const HostRoot& host, std::span<const FileChange> changes,
            const Words& words) {
  if (changes.empty()) {
    std::cout << "nothing to do: " << words.nothing << '\n';
    return;
  }
  if (options.dry_run) return print_diff(changes);
  make_changes(host, changes);
  tell(changes);
  std::cout << "now: " << words.next << '\n';
}

void undo(const SetupOptions& options, const HostRoot& host) {
  const std::vector<PlannedFile> files = plan_undo(config_of(options));
  const std::vector<FileChange> changes = changes_of(host, files);
  finish(options, host, changes,
         {.nothing = "there is nothing that plughost setup has written",
          .next = is_among(changes, kOwnUnit) ? "systemctl stop plughost && systemctl daemon-reload"
                                              : next_step(changes, true)});
}

void do_setup(const SetupOptions& options, const HostRoot& host) {
  const SetupPlan plan = plan_setup(host, {.config = config_of(options),
                                           .kubernetes = options.kubernetes,
                                           .program = program_in(host, options.root)});
  const std::vector<FileChange> changes = changes_of(host, plan.files);
  print_plan(plan);
  finish(options, host, changes,
         {.nothing = "this node has what plughost needs", .next = next_step(changes, plan.enabled)});
}

}  // namespace

int setup(const SetupOptions& options) {
  if (options.root == "/" && !options.dry_run && ::geteuid() != 0) {
    std::cerr << "this writes files that belong to root: run it as root, or see them with --dry-run\n";
    return 1;
  }
  try {
    const HostRoot host(options.root);
    options.undo ? undo(options, host) : do_setup(options, host);
    return 0;
  } catch (const SetupError& error) {
    std::cerr << error.what() << '\n';
  } catch (const ConfigError& error) {
    std::cerr << error.what() << "\nnothing was changed\n";
  }
  return 1;
}

}  // namespace plughost
