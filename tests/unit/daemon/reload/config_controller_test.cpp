#include "daemon/reload/config_controller.hpp"

#include <doctest/doctest.h>

#include <future>

#include "unit/daemon/platform/process.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

// Records the controller's calls.
class Told final : public Running {
 public:
  explicit Told(Config config) : config_(std::move(config)) {}

  const Config& config() const override { return config_; }
  Changes apply(Config config) override {
    if (!apply_fails.empty()) throw std::runtime_error(apply_fails);
    told.push_back("apply " + names(config));
    Changes changes{.added = {"x.com/new"}};
    config_ = std::move(config);
    return changes;
  }
  Attachments attachments() const override { return attached; }
  void record_refusal(const Texts& errors) override { told.push_back("refused " + errors.at(0)); }
  Move prepare(const TelemetryConfig&) override {
    if (!prepare_fails.empty()) {
      ++refused_moves;
      throw std::runtime_error(prepare_fails);
    }
    told.emplace_back("prepare");
    return [this] {
      told.emplace_back("move");
      return Texts{"a metric is lost"};
    };
  }
  void end_former() override { told.emplace_back("end former"); }

  static std::string names(const Config& config) {
    std::string names;
    for (const ResourceConfig& entry : config.resources)
      names += (names.empty() ? "" : ",") + entry.spec->name.text();
    return names;
  }

  Texts told;
  std::string apply_fails;
  std::string prepare_fails;
  unsigned refused_moves = 0;
  Attachments attached{.kubelet = true, .resources = {}, .entries = {}};

 private:
  Config config_;
};

struct ControllerRig {
  explicit ControllerRig(const std::string& text = "resources: [{name: x.com/a, count: 1}]") {
    write(text);
    const auto config = std::make_shared<const Config>(load_config(file()));
    running = std::make_unique<Told>(*config);
    in_force = std::make_unique<ConfigController>(
        process.platform, notifier, *running,
        ConfigController::Source{.file = file().string(), .overrides = {}, .level = {}}, config,
        not_asked_yet(*config, config->resources), [this] { ++changes; });
  }

  std::filesystem::path file() const { return dir.at("config.yaml"); }
  void write(const std::string& text) const { dir.file("config.yaml", text); }
  void ask(std::optional<std::chrono::seconds> confirm = {}) {
    in_force->reload({.level = {}, .confirm = confirm}, [this](const ReloadAnswer& answer) {
      running->told.emplace_back("answer");
      answers.push_back(answer);
    });
  }
  ReloadAnswer reload(std::optional<std::chrono::seconds> confirm = {}) {
    const std::size_t before = answers.size();
    ask(confirm);
    REQUIRE(test::run_until(process.loop, [&] { return answers.size() > before; }));
    test::run_once(process.loop);
    return answers.back();
  }
  Texts told() const { return std::exchange(running->told, {}); }
  std::string confirm() const {
    std::string error = "never told";
    in_force->confirm([&](const std::string& why) { error = why; });
    return error;
  }
  bool gives_up() {
    return test::run_until(process.loop, [&] { return in_force->status().given_up_at.has_value(); });
  }

  test::TempDir dir;
  test::Process process;
  Notifier notifier;
  std::unique_ptr<Told> running;
  std::unique_ptr<ConfigController> in_force;
  std::vector<ReloadAnswer> answers;
  unsigned changes = 0;
};

TEST_CASE(
    "a reload opens new servers, applies the configuration, uses the servers, answers, and ends the former "
    "servers") {
  ControllerRig rig;
  rig.write("resources: [{name: x.com/b, count: 1}]");
  const ReloadAnswer answer = rig.reload();
  CHECK(answer.errors.empty());
  CHECK(answer.changes.added == Texts{"x.com/new"});
  CHECK(answer.warnings == Texts{"a metric is lost"});
  CHECK_FALSE(answer.trial_until);
  CHECK(rig.told() == Texts{"prepare", "apply x.com/b", "move", "answer", "end former"});
  CHECK(rig.in_force->status().reloads_applied == 1);
  CHECK(rig.changes == 1);
}

TEST_CASE("an invalid configuration changes nothing, and every error is reported") {
  ControllerRig rig;
  rig.write("resources: [{name: x.com/b, count: none}, {name: x.com/c, cuont: 1}]");
  const ReloadAnswer answer = rig.reload();
  CHECK(answer.errors.size() >= 2);
  CHECK(answer.changes.added.empty());
  const Texts told = rig.told();
  REQUIRE(told.size() == 3);
  CHECK(told[0] == "refused " + answer.errors[0]);
  CHECK(told[1] == "answer");
  const ConfigStatus status = rig.in_force->status();
  CHECK(status.refused_at);
  CHECK(status.errors == answer.errors);
  CHECK(status.reloads_refused == 1);
  CHECK(status.reloads_applied == 0);
  // The next valid configuration clears the refusal.
  rig.write("resources: [{name: x.com/b, count: 1}]");
  rig.reload();
  CHECK_FALSE(rig.in_force->status().refused_at);
  CHECK(rig.in_force->status().errors.empty());
}

TEST_CASE("a configuration whose sockets cannot be opened is refused, and the former configuration stays") {
  ControllerRig rig;
  rig.write("resources: [{name: x.com/b, count: 1}]");
  SUBCASE("a server's socket cannot be opened") { rig.running->prepare_fails = "listen: the port is taken"; }
  SUBCASE("a socket in the kubelet's directory cannot be opened") {
    rig.running->apply_fails = "listen: the port is taken";
  }
  CHECK(rig.reload().errors == Texts{"listen: the port is taken"});
  const Texts told = rig.told();
  CHECK(std::ranges::find(told, "refused listen: the port is taken") != told.end());
  CHECK(std::ranges::find(told, "move") == told.end());
  CHECK(Told::names(rig.running->config()) == "x.com/a");
}

TEST_CASE("a configuration on trial is in force, and is rolled back unless it is confirmed") {
  ControllerRig rig;
  rig.write("resources: [{name: x.com/b, count: 1}]");
  CHECK(rig.reload(1min).trial_until);
  CHECK(Told::names(rig.running->config()) == "x.com/b");
  CHECK(rig.in_force->status().trial_until);
  SUBCASE("the configuration is not confirmed") {
    test::pass(rig.process.loop, 59s);
    CHECK_FALSE(rig.in_force->status().given_up_at);
    test::pass(rig.process.loop, 1s);
    REQUIRE(rig.gives_up());
    CHECK(Told::names(rig.running->config()) == "x.com/a");
    CHECK_FALSE(rig.in_force->status().trial_until);
    CHECK(rig.confirm().starts_with("no configuration is on trial: the last one was rolled back: "));
  }
  SUBCASE("the configuration is confirmed") {
    CHECK(rig.confirm().empty());
    CHECK_FALSE(rig.in_force->status().trial_until);
    test::pass(rig.process.loop, 1h);
    CHECK(Told::names(rig.running->config()) == "x.com/b");
    CHECK(rig.confirm() == "no configuration is on trial");
  }
}

TEST_CASE("a configuration on trial is rolled back when the kubelet has lost a resource for 5 s") {
  ControllerRig rig;
  rig.running->attached.resources = {{"x.com/a", "x.com/a"}};
  rig.running->attached.entries = {"x.com/a"};
  rig.write("resources: [{name: x.com/a, count: 2}, {name: x.com/b, count: 1}]");
  rig.reload(1min);
  rig.running->attached.resources.clear();
  rig.in_force->check_provisional();
  test::pass(rig.process.loop, 4s);
  CHECK_FALSE(rig.in_force->status().given_up_at);
  test::pass(rig.process.loop, 1s);
  REQUIRE(rig.gives_up());
  CHECK(Told::names(rig.running->config()) == "x.com/a");
  CHECK(rig.confirm().ends_with("the kubelet has lost x.com/a"));
}

TEST_CASE("a rollback that fails is retried, and is not counted as a refused reload") {
  ControllerRig rig;
  rig.write("resources: [{name: x.com/b, count: 1}]");
  rig.reload(1min);
  rig.running->prepare_fails = "the port is taken";
  test::pass(rig.process.loop, 1min);
  REQUIRE(test::run_until(rig.process.loop, [&] { return rig.running->refused_moves == 1; }));
  CHECK(rig.in_force->status().reloads_refused == 0);
  CHECK(rig.in_force->status().trial_until);
  CHECK_FALSE(rig.in_force->status().given_up_at);
  CHECK(Told::names(rig.running->config()) == "x.com/b");
  rig.running->prepare_fails.clear();
  test::pass(rig.process.loop, 1min);
  REQUIRE(rig.gives_up());
  CHECK(Told::names(rig.running->config()) == "x.com/a");
}

TEST_CASE("a configuration whose rollback fails can be confirmed, and stays") {
  ControllerRig rig;
  rig.write("resources: [{name: x.com/b, count: 1}]");
  rig.reload(1min);
  rig.running->prepare_fails = "the port is taken";
  test::pass(rig.process.loop, 1min);
  REQUIRE(test::run_until(rig.process.loop, [&] { return rig.running->refused_moves == 1; }));
  CHECK(rig.confirm().empty());
  rig.running->prepare_fails.clear();
  test::pass(rig.process.loop, 1min);
  CHECK_FALSE(rig.in_force->status().given_up_at);
  CHECK_FALSE(rig.in_force->status().trial_until);
  CHECK(Told::names(rig.running->config()) == "x.com/b");
}

TEST_CASE("a trial within a trial rolls back to the configuration from before the first") {
  ControllerRig rig;
  rig.write("resources: [{name: x.com/b, count: 1}]");
  rig.reload(1min);
  rig.write("resources: [{name: x.com/c, count: 1}]");
  rig.reload(1min);
  CHECK(Told::names(rig.running->config()) == "x.com/c");
  test::pass(rig.process.loop, 1min);
  REQUIRE(rig.gives_up());
  CHECK(Told::names(rig.running->config()) == "x.com/a");
}

TEST_CASE(
    "a trial that a reload has ended is not rolled back, although its time was over during the reload") {
  ControllerRig rig("resources: [{name: x.com/a, count: 1, when: {exists: /}}]");
  rig.write("resources: [{name: x.com/b, count: 1}]");
  rig.reload(1min);
  // One of the two workers is occupied until the end, the other one until the trial's end is due. The free
  // worker then reads the file for the reload, and evaluates the former entries' conditions for the rollback.
  std::promise<void> first;
  std::promise<void> second;
  for (std::promise<void>* const until : {&first, &second})
    rig.process.workers.run([ended = until->get_future().share()] { ended.wait(); }, [] {}, 1h, [] {});
  rig.write("resources: [{name: x.com/c, count: 1}]");
  rig.ask();
  test::pass(rig.process.loop, 1min);
  bool over = false;
  rig.process.workers.run([] {}, [&] { over = true; }, 1h, [] {});
  first.set_value();
  CHECK(test::run_until(rig.process.loop, [&] { return over; }));
  second.set_value();
  CHECK(rig.answers.size() == 2);
  CHECK(Told::names(rig.running->config()) == "x.com/c");
  CHECK_FALSE(rig.in_force->status().given_up_at);
}

TEST_CASE("requests during a reload are answered once, by the next reload") {
  ControllerRig rig;
  rig.write("resources: [{name: x.com/b, count: 1}]");
  rig.ask();
  rig.ask();
  rig.ask();
  REQUIRE(test::run_until(rig.process.loop, [&] { return rig.answers.size() == 3; }));
  test::run_once(rig.process.loop);
  CHECK(rig.answers.size() == 3);
  CHECK(rig.in_force->status().reloads_applied == 2);
  // The former servers end when all callers are answered.
  const Texts told = rig.told();
  CHECK(told.back() == "end former");
  CHECK(std::ranges::count(told, "end former") == 1);
}

TEST_CASE("a process that stops refuses every reload") {
  ControllerRig rig;
  rig.in_force->stop();
  CHECK(rig.reload().errors == Texts{"plughost is stopping"});
  CHECK(rig.told() == Texts{"answer", "end former"});
}

TEST_CASE("an entry is applied when its condition becomes true, and no request is answered") {
  const test::TempDir node;
  ControllerRig rig("resources: [{name: x.com/a, count: 1}, {name: x.com/b, count: 1, when: {exists: " +
                    node.at("here").string() + "}}]");
  CHECK(Told::names(rig.running->config()) == "x.com/a,x.com/b");  // no condition is evaluated yet
  rig.reload();
  CHECK(Told::names(rig.running->config()) == "x.com/a");
  rig.told();
  node.file("here");
  REQUIRE(test::run_until(rig.process.loop,
                          [&] { return Told::names(rig.running->config()) == "x.com/a,x.com/b"; }));
  CHECK(rig.told() == Texts{"apply x.com/a,x.com/b"});
}

}  // namespace
}  // namespace plughost
