#include "integration/node.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <exception>
#include <iostream>

#include "base/system/unix_socket.hpp"
#include "unit/made_specification.hpp"

namespace plughost::test {

namespace fs = std::filesystem;

namespace {

const ListedDevice* find(const KubeletState& state, const std::string& resource, const std::string& id) {
  const auto& devices = *state.of(resource).devices;
  const auto found = std::ranges::find(devices, id, &ListedDevice::id);
  return found == devices.end() ? nullptr : &*found;
}

void describe(const ResourceState& resource) {
  for (const auto& registration : resource.registrations) {
    std::cerr << "kubelet " << registration.incarnation << ", " << registration.endpoint
              << (registration.while_streaming ? ", while a stream lived" : "")
              << (registration.error.empty() ? "" : ": " + registration.error) << '\n';
  }
}

// Records whether the running test has failed, because the daemon's output is shown in that case.
class Failures : public doctest::IReporter {
 public:
  explicit Failures(const doctest::ContextOptions&) {}
  static bool any() { return any_; }

  void test_case_start(const doctest::TestCaseData&) override { any_ = false; }
  void log_assert(const doctest::AssertData& data) override { any_ = any_ || data.m_failed; }
  void log_message(const doctest::MessageData&) override {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  static inline std::atomic<bool> any_ = false;
};

REGISTER_LISTENER("failures", 1, Failures);

}  // namespace

Node::Node(Options options) : options_(options) {
  files_.directory("device-plugins");
  files_.directory("registry");
  for (const char* const socket : {kPodResources, kPodsApi})
    files_.directory(std::filesystem::path(socket).parent_path());
}

Node::~Node() {
  if (kubelet_) {
    for (const auto& known : kubelet_->state().resources) {
      const ResourceState& resource = known.second;
      CAPTURE(known.first);
      const bool trap =
          options_.registering != StandInKubelet::Registering::kBySocket &&
          std::ranges::any_of(resource.registrations, &ResourceState::Registration::while_streaming);
      CHECK_FALSE(trap);
      if (trap) describe(resource);
    }
  }
  keep_specifications(files_.at("cdi"));
  if (Failures::any() || std::uncaught_exceptions() > 0)
    std::cerr << "The daemon said:\n"
              << said_ << (former_ ? former_->output() : "") << (daemon_ ? daemon_->output() : "");
}

fs::path Node::sockets() const {
  return options_.registration == Registration::kRegister ? plugins() : files_.path() / "registry";
}

void Node::configure(const std::string& resources) {
  const char* const way = options_.registration == Registration::kRegister ? "register" : "pluginsRegistry";
  files_.file("config.yaml", "kubelet: {directory: " + plugins().string() +
                                 ", pluginsRegistry: " + path("registry") +
                                 ", podResources: " + path(kPodResources) + ", registration: " + way + "}\n" +
                                 top_ + "resources:\n" + resources + "control: " + control() + "\n");
}

void Node::start_kubelet(StandInKubelet::Faults faults, StandInKubelet::OnEvent on_event) {
  StandInKubelet::Options options{.directory = plugins(),
                                  .pods = path("pods"),
                                  .clearing = options_.clearing,
                                  .registering = options_.registering,
                                  .faults = std::move(faults)};
  if (options_.registration == Registration::kPluginsRegistry) options.plugins_registry = sockets();
  if (options_.pod_resources) options.pod_resources = path(kPodResources);
  if (options_.registering == StandInKubelet::Registering::kBySocket) options.pods_api = path(kPodsApi);
  kubelet_ = std::make_unique<StandInKubelet>(std::move(options), std::move(on_event));
}

void Node::start_daemon(const std::vector<std::string>& environment,
                        const std::vector<std::string>& wrapper) {
  end_daemon();
  daemon_ = std::make_unique<Process>(
      std::vector<std::string>{"run", "--config", configuration(), "--state-directory", path("state")},
      environment, wrapper);
}

void Node::start_successor(const std::vector<std::string>& environment) {
  if (former_) said_ += former_->output();
  former_ = std::move(daemon_);
  daemon_ = std::make_unique<Process>(
      std::vector<std::string>{"run", "--config", configuration(), "--state-directory", path("state"),
                               "--take-over", control()},
      environment);
}

void Node::end_daemon() {
  for (auto* const process : {&former_, &daemon_}) {
    if (*process) said_ += (*process)->output();
    process->reset();
  }
  // Otherwise the next query of the kubelet would return streams of the former daemon.
  if (kubelet_)
    CHECK(wait_for([](const KubeletState& state) {
      return std::ranges::none_of(state.resources, [](const auto& known) { return known.second.attached; });
    }));
}

bool Node::reload() {
  const std::size_t from = daemon_->mark();
  daemon_->signal(SIGHUP);
  return daemon_->wait_for_line({"configuration reloaded"}, kLong, from);
}

const ResourceState& Node::of(const std::string& resource) {
  shown_ = kubelet_->state();
  return shown_.of(resource);
}

bool Node::wait_for(const std::function<bool(const KubeletState&)>& predicate, Milliseconds deadline) const {
  return kubelet_->wait_for(predicate, deadline);
}

bool Node::attached(const Names& resources, Milliseconds deadline) const {
  return wait_for(
      [&](const KubeletState& state) {
        return std::ranges::all_of(resources, [&](const std::string& name) {
          const ResourceState& resource = state.of(name);
          return resource.attached && resource.first_list.has_value();
        });
      },
      deadline);
}

bool Node::healthy(const std::string& resource, const std::string& id, Milliseconds deadline) const {
  return wait_for(
      [&](const KubeletState& state) {
        const ListedDevice* device = find(state, resource, id);
        return device != nullptr && device->healthy;
      },
      deadline);
}

bool Node::unhealthy(const std::string& resource, const std::string& id, Milliseconds deadline) const {
  return wait_for(
      [&](const KubeletState& state) {
        const ListedDevice* device = find(state, resource, id);
        return device != nullptr && !device->healthy;
      },
      deadline);
}

bool Node::count(const std::string& resource, std::size_t devices, Milliseconds deadline) const {
  return wait_for([&](const KubeletState& state) { return state.of(resource).allocatable == devices; },
                  deadline);
}

bool Node::reachable(const std::string& resource) {
  const auto& registrations = of(resource).registrations;
  if (registrations.empty()) return false;
  try {
    connect_unix(sockets() / fs::path(registrations.back().endpoint).filename());
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

std::vector<std::string> Node::socket_files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(sockets())) {
    const std::string name = entry.path().filename();
    if (name.starts_with("plughost-")) names.push_back(name);
  }
  return names;
}

Registration each_registration() {
  Registration registration = Registration::kRegister;
  SUBCASE("register") { registration = Registration::kRegister; }
  SUBCASE("plugins_registry") { registration = Registration::kPluginsRegistry; }
  return registration;
}

Node::Options each_kubelet() {
  using enum StandInKubelet::Registering;
  Node::Options options;
  SUBCASE("register, and the kubelet dials before it answers") { options.registering = kDialsBeforeAnswer; }
  SUBCASE("register, and the kubelet answers first and empties its directory") {
    options.registering = kAnswersFirst;
    options.clearing = StandInKubelet::Clearing::kEverything;
  }
  SUBCASE("plugins_registry") { options.registration = Registration::kPluginsRegistry; }
  return options;
}

std::string counted(const std::string& name, int count, const std::string& more) {
  return "- {name: " + name + ", count: " + std::to_string(count) + (more.empty() ? "" : ", " + more) + "}\n";
}

std::string listed(const std::string& name, const std::string& directory, const std::string& more) {
  return "- {name: " + name + ", directory: {path: " + directory + "}" + (more.empty() ? "" : ", " + more) +
         "}\n";
}

std::vector<std::string> ids_of(const ResourceState& resource) {
  std::vector<std::string> ids;
  for (const ListedDevice& device : *resource.devices) ids.push_back(device.id);
  return ids;
}

}  // namespace plughost::test
