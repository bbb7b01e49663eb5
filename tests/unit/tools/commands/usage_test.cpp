// Tests the messages about wrong command lines, `help`, `version`, and the environment's defaults.

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "unit/temp_dir.hpp"
#include "unit/tools/commands/run_plughost.hpp"

using namespace plughost::test;

namespace {

// Sets an environment variable while it lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Environment() { ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

}  // namespace

TEST_CASE("usage: each mistake of a command line is named with its command, and has exit code 2") {
  const std::pair<std::vector<std::string>, std::string> mistakes[] = {
      {{"chek"}, "plughost: unknown command 'chek' (did you mean 'check'?)"},
      {{"foo", "pods"}, "plughost: unknown command 'foo'"},
      {{"get", "pods"},
       "plughost: unknown command 'get'; `plughost discover` prints what a configuration finds on this node, "
       "and "
       "`plughost status` what the daemon offers"},
      {{"status", "--config", "x"},
       "status: unknown option '--config': the daemon answers, by its own configuration; for a file use "
       "check or "
       "discover"},
      {{"describe", "a"}, "plughost: unknown command 'describe'; `plughost status NAME` prints a resource"},
      {{"restart"},
       "plughost: unknown command 'restart'; systemd restarts the daemon: systemctl restart plughost"},
      {{"apply", "-f", "x"},
       "plughost: unknown command 'apply'; `plughost check` validates a file, and `plughost reload` makes "
       "the "
       "daemon read its configuration again"},
      {{"check", "-f", "x"}, "check: unknown option '-f'; the configuration is given with --config"},
      {{"status", "-f", "x"}, "status: unknown option '-f'"},
      {{"check", "--config", "a", "b"}, "check: --config takes one value"},
      {{"reload", "a.yaml"},
       "reload: unexpected argument 'a.yaml'; the daemon reads its own configuration again"},
      {{"--confg", "x"}, "plughost: unknown option '--confg'"},
      {{"--config", "x", "check"}, "plughost: the option '--config' belongs after the command"},
      {{"status", "-o", "wid"},
       "status: unknown output format 'wid' (did you mean 'wide'?); use table, json, yaml, name or wide"},
      {{"status", "-o", "1"}, "status: unknown output format '1'; use table, json, yaml, name or wide"},
      {{"plan", "c", "--facts", "d", "-o", "name"},
       "plan: unknown output format 'name'; use table, json or yaml"},
      {{"run", "--log-level", "3"}, "run: unknown log level '3'; use debug, info, warn or error"},
      {{"run", "--log-format", "jsn"},
       "run: unknown log format 'jsn' (did you mean 'json'?); use auto or json"},
      {{"preset", "0"}, "preset: unknown action '0'; use list, show, enable or disable"},
      {{"preset", "enable"}, "preset: the name of a preset is missing"},
      {{"preset", "list", "kvm"}, "preset: list takes no names"},
      {{"preset", "show", "kvm", "--here"}, "preset: --here belongs to list"},
      {{"simulate"}, "simulate: NAME[=N] is missing"},
      {{"drain"}, "drain: NAME[=ID] is missing"},
      {{"undrain"}, "undrain: NAME[=ID] or --unreadable is missing"},
      {{"convert"}, "convert: FILE or --args is missing"},
      {{"plan", "c"}, "plan: --facts is missing"},
      {{"plan", "--facts", "d"}, "plan: the configuration FILE is missing"},
      {{"check", "--config"}, "check: --config needs a value"},
      {{"discover", "a", "--config", "b"}, "discover: --config cannot be used together with FILE"},
      {{"status", "--check", "-w"}, "status: --watch cannot be used together with --check"},
      {{"reload", "--confrm", "5m"}, "reload: unknown option '--confrm' (did you mean '--confirm'?)"},
      {{"reload", "--trie=5m"}, "reload: unknown option '--trie' (did you mean '--try'?)"},
      {{"doctor", "a", "b"}, "doctor: unexpected argument 'b'"},
      {{"check", "-z"}, "check: unknown option '-z'"},
      {{"events", "-n", "x"}, "events: --limit x is not a number from 1 to 500"},
      {{"events", "-n", "0"}, "events: --limit 0 is not a number from 1 to 500"},
      {{"events", "-n", "501"}, "events: --limit 501 is not a number from 1 to 500"},
      {{"events", "--since", "soon"}, "events: --since soon is not a duration; write it as 90s, 10m or 2h"},
      {{"setup", "--root", "/no/such"}, "setup: --root: there is no directory /no/such"},
      {{"help", "statu"}, "help: unknown command 'statu' (did you mean 'status'?)"},
  };
  for (const auto& mistake : mistakes) {
    const std::string& message = mistake.second;
    CAPTURE(message);
    const CommandResult result = run_plughost(mistake.first);
    CHECK(result.exit_code == 2);
    CHECK(result.printed.empty());
    CHECK(result.errors.substr(0, result.errors.find('\n')) == message);
  }
}

TEST_CASE("usage: a message is followed by the help that has more") {
  CHECK(has(run_plughost({"chek"}), "\n`plughost --help` lists the commands\n"));
  CHECK(has(run_plughost({"check", "-z"}), "\n`plughost check --help` shows its options\n"));
}

TEST_CASE("usage: without a command the help is on standard error, with exit code 2") {
  const CommandResult result = run_plughost({});
  CHECK(result.exit_code == 2);
  CHECK(result.printed.empty());
  CHECK(result.errors == run_plughost({"--help"}).printed);
}

TEST_CASE("usage: help COMMAND is COMMAND --help, and version is --version") {
  CHECK(run_plughost({"help", "drain"}).printed == run_plughost({"drain", "--help"}).printed);
  CHECK(run_plughost({"help"}).printed == run_plughost({"--help"}).printed);
  CHECK(run_plughost({"help", "drain"}).exit_code == 0);
  const CommandResult version = run_plughost({"version"});
  CHECK(version.printed.starts_with("plughost 0."));
  CHECK(version.exit_code == 0);
  CHECK(version.printed == run_plughost({"--version"}).printed);
  CHECK(version.printed == run_plughost({"-v"}).printed);
}

TEST_CASE("usage: the environment replaces the defaults of --config, --control and --presets") {
  const TempDir dir;
  dir.file("ours.yaml", "resources: [{name: x.com/ours, count: 1}]\n");
  dir.file("presets/mine.yaml", "# a preset of mine\nresources: [{name: x.com/mine, count: 1}]\n");
  const Environment config("PLUGHOST_CONFIG", dir.at("ours.yaml"));
  const Environment presets("PLUGHOST_PRESETS", dir.at("presets"));
  CHECK(has(run_plughost({"check"}).printed, dir.at("ours.yaml").string() + ": 1 entry"));
  CHECK(run_plughost({"discover", "-o", "name"}).printed == "x.com/ours=x.com/ours-0\n");
  CHECK(run_plughost({"preset", "list", "-o", "name"}).printed == "mine\n");
  CHECK(has(run_plughost({"status"}).errors, "connect /run/plughost/control.sock"));
  const Environment control("PLUGHOST_CONTROL", dir.at("a.sock"));
  CHECK(has(run_plughost({"status"}).errors, dir.at("a.sock").string()));
  CHECK(has(run_plughost({"status", "--control", "/b.sock"}).errors, "/b.sock"));
}

TEST_CASE("usage: the control socket is that of the configuration, if nothing else names one") {
  const TempDir dir;
  const Environment config("PLUGHOST_CONFIG", dir.at("ours.yaml"));
  dir.file("ours.yaml", "control: /from/config.sock\nresources: []\n");
  CHECK(has(run_plughost({"status"}).errors, "/from/config.sock"));
  CHECK(has(run_plughost({"drain", "x.com/a=b"}).errors, "/from/config.sock"));
  dir.file("ours.yaml", "control: /from/config.sock\nresources: none\n");  // invalid
  CHECK(has(run_plughost({"status"}).errors, "connect /run/plughost/control.sock"));
}

TEST_CASE("explain: a key in another place is named with that place") {
  const CommandResult path = run_plughost({"explain", "hostPath"});
  CHECK(path.exit_code == 1);
  CHECK(path.errors == "there is no key hostPath; there is resources.mounts.hostPath\n");
  CHECK(run_plughost({"explain", "resources.listen"}).errors ==
        "there is no key resources.listen; there is listen\n");
  CHECK(has(run_plughost({"explain", "xyzzy"}).errors,
            "there is no key xyzzy; `plughost explain` without a key lists"));
}
