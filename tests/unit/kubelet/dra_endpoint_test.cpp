#include "kubelet/dra_endpoint.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

#include "drahealth/v1alpha1/drahealth.grpc.pb.h"
#include "draplugin/v1/draplugin.grpc.pb.h"
#include "draplugin/v1beta1/draplugin.grpc.pb.h"
#include "kubelet/file_identity.hpp"
#include "kubelet/unix_socket.hpp"
#include "pluginregistration/v1/pluginregistration.grpc.pb.h"
#include "unit/kubelet/driver_process.hpp"
#include "unit/run_until.hpp"
#include "unit/service_manager.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using pluginregistration::Registration;

namespace {

namespace fs = std::filesystem;
namespace newer = k8s::io::kubelet::pkg::apis::dra::v1;
namespace older = k8s::io::kubelet::pkg::apis::dra::v1beta1;

using test::kDriver;

// A process of a driver, and calls of the kubelet's.
struct Driver : test::DriverProcess {
  using DriverProcess::DriverProcess;

  std::shared_ptr<grpc::Channel> dial() const {
    return grpc::CreateInsecureChannelFromFd("localhost", connect_unix(socket()).release());
  }
  template <typename Service>
  grpc::Status call(const std::function<grpc::Status(typename Service::Stub&, grpc::ClientContext&)>& what) {
    grpc::Status status;
    during([&] {
      const auto stub = Service::NewStub(dial());
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + 10s);
      status = what(*stub, context);
    });
    return status;
  }
  pluginregistration::PluginInfo info() {
    pluginregistration::PluginInfo info;
    CHECK(call<Registration>([&](auto& stub, auto& context) {
            return stub.GetInfo(&context, {}, &info);
          }).ok());
    return info;
  }
  void notify(bool registered, const std::string& error) {
    pluginregistration::RegistrationStatus outcome;
    outcome.set_plugin_registered(registered);
    outcome.set_error(error);
    pluginregistration::RegistrationStatusResponse response;
    CHECK(call<Registration>([&](auto& stub, auto& context) {
            return stub.NotifyRegistrationStatus(&context, outcome, &response);
          }).ok());
  }
};

template <typename Request>
Request asking(const std::vector<ClaimRef>& claims) {
  Request request;
  for (const ClaimRef& claim : claims) {
    auto& to = *request.add_claims();
    to.set_uid(claim.uid);
    to.set_namespace_(claim.name_space);
    to.set_name(claim.name);
  }
  return request;
}

const ClaimRef kOne{.uid = "u1", .name_space = "space", .name = "one"};
const ClaimRef kTwo{.uid = "u2", .name_space = "space", .name = "two"};

// What one health stream has read. The kubelet's side; thread-safe.
class HealthReader final : public grpc::ClientReadReactor<v1alpha1::NodeWatchResourcesResponse> {
 public:
  explicit HealthReader(std::shared_ptr<grpc::Channel> channel)
      : stub_(v1alpha1::DRAResourceHealth::NewStub(std::move(channel))) {
    stub_->async()->NodeWatchResources(&context_, &request_, this);
    StartRead(&message_);
    StartCall();
  }
  ~HealthReader() override {
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return over_; });
  }
  std::vector<v1alpha1::NodeWatchResourcesResponse> read() const {
    const std::lock_guard lock(mutex_);
    return read_;
  }
  bool over() const {
    const std::lock_guard lock(mutex_);
    return over_;
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    {
      const std::lock_guard lock(mutex_);
      read_.push_back(message_);
    }
    StartRead(&message_);
  }
  void OnDone(const grpc::Status&) override {
    const std::lock_guard lock(mutex_);
    over_ = true;
    ended_.notify_all();
  }

  std::unique_ptr<v1alpha1::DRAResourceHealth::Stub> stub_;
  v1alpha1::NodeWatchResourcesRequest request_;
  v1alpha1::NodeWatchResourcesResponse message_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<v1alpha1::NodeWatchResourcesResponse> read_;
  bool over_ = false;
  grpc::ClientContext context_;
};

}  // namespace

TEST_CASE(
    "the kubelet finds the driver under its one name, and hears its name and what it speaks, newest first") {
  const test::TempDir dir;
  Driver driver(dir.path());
  CHECK(driver.socket().empty());
  REQUIRE(driver.run_until_listening());
  const fs::path socket = driver.socket();
  CHECK(socket.parent_path() == dir.path());
  CHECK(socket.filename().string().starts_with("plughost-plughost.example.com-"));
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);  // no hidden name is left
  const auto info = driver.info();
  CHECK(info.type() == "DRAPlugin");
  CHECK(info.name() == kDriver);
  CHECK(info.endpoint().empty());
  CHECK(std::vector<std::string>(info.supported_versions().begin(), info.supported_versions().end()) ==
        std::vector<std::string>{"v1.DRAPlugin", "v1beta1.DRAPlugin", "v1alpha1.DRAResourceHealth"});
  driver.endpoint.reset();
  CHECK_FALSE(fs::exists(socket));
  Driver next(dir.path());
  REQUIRE(next.run_until_listening());
  CHECK(next.socket() != socket);
}

TEST_CASE("the owner hears that the driver is registered, and why it is not") {
  const test::TempDir dir;
  Driver driver(dir.path());
  REQUIRE(driver.run_until_listening());
  driver.notify(false, "a\nreason" + std::string(1000, 'x'));
  driver.notify(false, "");
  driver.notify(true, "");
  REQUIRE(test::run_until(driver.loop, [&] { return driver.owner.registered == 1; }));
  REQUIRE(driver.owner.refused.size() == 2);
  CHECK(driver.owner.refused[0].starts_with("a\\x0Areasonx"));
  CHECK(driver.owner.refused[0].size() < 520);
  CHECK(driver.owner.refused[1] == "the kubelet does not say why");
}

TEST_CASE("each claim that is asked for is answered, and no other, in each version") {
  const test::TempDir dir;
  Driver driver(dir.path());
  REQUIRE(driver.run_until_listening());
  driver.owner.prepare_outcomes = {{"u1", std::vector<PreparedDevice>{{.requests = {"a", "b"},
                                                                       .pool = "pool",
                                                                       .device = "dev",
                                                                       .cdi = {"x.com/y=1", "x.com/z=2"},
                                                                       .share_id = "share"}}},
                                   {"u2", "it is\ngone \xFF"},
                                   {"u3", "nobody asked"}};
  const std::vector<ClaimRef> asked{kOne, kTwo, kOne, {.uid = "u/4", .name_space = "space", .name = "four"}};
  const auto check_claims = [&](const auto& response) {
    REQUIRE(response.claims_size() == 3);
    const auto& one = response.claims().at("u1");
    CHECK(one.error().empty());
    REQUIRE(one.devices_size() == 1);
    const auto& device = one.devices(0);
    CHECK(device.request_names_size() == 2);
    CHECK(device.request_names(1) == "b");
    CHECK(device.pool_name() == "pool");
    CHECK(device.device_name() == "dev");
    REQUIRE(device.cdi_device_ids_size() == 2);
    CHECK(device.cdi_device_ids(0) == "x.com/y=1");
    CHECK(response.claims().at("u2").error() == "it is\\x0Agone ?");
    CHECK(response.claims().at("u2").devices_size() == 0);
    CHECK(response.claims().at("u/4").error().find("its uid is none") != std::string::npos);
  };
  newer::NodePrepareResourcesResponse response;
  CHECK(driver
            .call<newer::DRAPlugin>([&](auto& stub, auto& context) {
              return stub.NodePrepareResources(&context, asking<newer::NodePrepareResourcesRequest>(asked),
                                               &response);
            })
            .ok());
  check_claims(response);
  CHECK(response.claims().at("u1").devices(0).share_id() == "share");
  older::NodePrepareResourcesResponse old_response;
  CHECK(driver
            .call<older::DRAPlugin>([&](auto& stub, auto& context) {
              return stub.NodePrepareResources(&context, asking<older::NodePrepareResourcesRequest>(asked),
                                               &old_response);
            })
            .ok());
  check_claims(old_response);
  CHECK(driver.owner.prepared == std::vector<std::vector<ClaimRef>>(2, {kOne, kTwo}));
  CHECK(driver.owner.unprepared.empty());
}

TEST_CASE("a device that nobody shares has no share, and not an empty one") {
  const test::TempDir dir;
  Driver driver(dir.path());
  REQUIRE(driver.run_until_listening());
  driver.owner.prepare_outcomes = {{"u1", std::vector<PreparedDevice>{{.pool = "p", .device = "d"}}}};
  newer::NodePrepareResourcesResponse response;
  CHECK(driver
            .call<newer::DRAPlugin>([&](auto& stub, auto& context) {
              return stub.NodePrepareResources(&context, asking<newer::NodePrepareResourcesRequest>({kOne}),
                                               &response);
            })
            .ok());
  CHECK_FALSE(response.claims().at("u1").devices(0).has_share_id());
}

TEST_CASE("unprepare answers each claim, in each version; what its owner forgets is an error") {
  const test::TempDir dir;
  Driver driver(dir.path());
  REQUIRE(driver.run_until_listening());
  driver.owner.unprepare_outcomes = {{"u1", ""}, {"u2", "it is busy"}};
  const ClaimRef three{.uid = "u3", .name_space = "space", .name = "three"};
  const auto check_claims = [&](const auto& response) {
    REQUIRE(response.claims_size() == 3);
    CHECK(response.claims().at("u1").error().empty());
    CHECK(response.claims().at("u2").error() == "it is busy");
    CHECK(response.claims().at("u3").error().find("no answer") != std::string::npos);
  };
  newer::NodeUnprepareResourcesResponse response;
  CHECK(driver
            .call<newer::DRAPlugin>([&](auto& stub, auto& context) {
              return stub.NodeUnprepareResources(
                  &context, asking<newer::NodeUnprepareResourcesRequest>({kOne, kTwo, three}), &response);
            })
            .ok());
  check_claims(response);
  older::NodeUnprepareResourcesResponse old_response;
  CHECK(driver
            .call<older::DRAPlugin>([&](auto& stub, auto& context) {
              return stub.NodeUnprepareResources(
                  &context, asking<older::NodeUnprepareResourcesRequest>({kOne, kTwo, three}), &old_response);
            })
            .ok());
  check_claims(old_response);
  CHECK(driver.owner.unprepared == std::vector<std::vector<ClaimRef>>(2, {kOne, kTwo, three}));
  CHECK(driver.owner.prepared.empty());
}

TEST_CASE("an error is no longer than an event's message, and never empty") {
  const test::TempDir dir;
  Driver driver(dir.path());
  REQUIRE(driver.run_until_listening());
  driver.owner.prepare_outcomes = {{"u1", std::string(2000, 'x')}, {"u2", ""}};
  newer::NodePrepareResourcesResponse response;
  CHECK(driver
            .call<newer::DRAPlugin>([&](auto& stub, auto& context) {
              return stub.NodePrepareResources(
                  &context, asking<newer::NodePrepareResourcesRequest>({kOne, kTwo}), &response);
            })
            .ok());
  CHECK(response.claims().at("u1").error().size() <= 803);
  CHECK(response.claims().at("u1").error().starts_with(std::string(700, 'x')));
  CHECK(response.claims().at("u2").error().find("no answer") != std::string::npos);
}

TEST_CASE("the owner is not asked for nothing, and not for more than anybody has") {
  const test::TempDir dir;
  Driver driver(dir.path());
  REQUIRE(driver.run_until_listening());
  const auto prepare = [&](const std::vector<ClaimRef>& claims) {
    newer::NodePrepareResourcesResponse response;
    return driver.call<newer::DRAPlugin>([&](auto& stub, auto& context) {
      return stub.NodePrepareResources(&context, asking<newer::NodePrepareResourcesRequest>(claims),
                                       &response);
    });
  };
  CHECK(prepare({}).ok());
  CHECK(prepare(std::vector<ClaimRef>(1001, kOne)).error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  CHECK(driver.owner.prepared.empty());
  CHECK(prepare(std::vector<ClaimRef>(1000, kOne)).ok());
  CHECK(driver.owner.prepared.size() == 1);
}

TEST_CASE("a call that the owner drops fails, and so does one that waits when the endpoint goes") {
  const test::TempDir dir;
  Driver driver(dir.path());
  REQUIRE(driver.run_until_listening());
  newer::NodePrepareResourcesResponse response;
  const auto prepare = [&](auto& stub, auto& context) {
    return stub.NodePrepareResources(&context, asking<newer::NodePrepareResourcesRequest>({kOne}), &response);
  };
  driver.owner.drops = true;
  const grpc::Status dropped = driver.call<newer::DRAPlugin>(prepare);
  CHECK(dropped.error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(dropped.error_message() == "driver plughost.example.com: plughost is stopping, or serves it anew");

  driver.owner.holds = true;
  std::atomic<bool> done = false;
  grpc::Status status;
  std::thread kubelet([&, channel = driver.dial()] {
    const auto stub = newer::DRAPlugin::NewStub(channel);
    grpc::ClientContext context;
    status = prepare(*stub, context);
    done = true;
  });
  REQUIRE(test::run_until(driver.loop, [&] { return driver.owner.held != nullptr; }));
  CHECK_FALSE(done.load());
  driver.endpoint.reset();
  kubelet.join();
  CHECK(status.error_code() == grpc::StatusCode::UNAVAILABLE);
  driver.owner.held({{"u1", "too late"}});
}

TEST_CASE("who reads the health of devices gets the whole list at once, and another whenever it is another") {
  const test::TempDir dir;
  Driver driver(dir.path());
  REQUIRE(driver.run_until_listening());
  HealthReader reader(driver.dial());
  REQUIRE(test::run_until(driver.loop,
                          [&] { return driver.owner.health_readers == std::vector<std::size_t>{1}; }));
  CHECK(reader.read().empty());  // nothing is known yet
  const std::vector<PoolHealth> first{
      {.pool = "p", .devices = {{.device = "a", .healthy = true}}},
      {.pool = "q", .devices = {{.device = "b", .message = "too\nhot"}, {.device = "c", .healthy = true}}}};
  driver.endpoint->set_health(first);
  REQUIRE(test::run_until(driver.loop, [&] { return reader.read().size() == 1; }));
  const auto list = reader.read()[0];
  REQUIRE(list.devices_size() == 3);
  CHECK(list.devices(0).device().pool_name() == "p");
  CHECK(list.devices(0).device().device_name() == "a");
  CHECK(list.devices(0).health() == v1alpha1::HEALTHY);
  CHECK(list.devices(0).message().empty());
  CHECK(list.devices(1).device().pool_name() == "q");
  CHECK(list.devices(1).device().device_name() == "b");
  CHECK(list.devices(1).health() == v1alpha1::UNHEALTHY);
  CHECK(list.devices(1).message() == "too\\x0Ahot");
  CHECK(list.devices(2).device().pool_name() == "q");
  CHECK(list.devices(2).device().device_name() == "c");
  CHECK(list.devices(1).health_check_timeout_seconds() == 31556952);  // a year: no heartbeat is needed
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  CHECK(std::abs(list.devices(1).last_updated_time() - now.count()) < 60);

  driver.endpoint->set_health(first);
  driver.endpoint->set_health(
      {{.pool = "p", .devices = {{.device = "a", .message = std::string(2000, 'm') + "\xC3\xA4"}}}});
  REQUIRE(test::run_until(driver.loop, [&] { return reader.read().size() >= 2; }));
  const auto changed = reader.read()[1];  // what is the same was not told
  REQUIRE(changed.devices_size() == 1);
  CHECK(changed.devices(0).message().size() == 1024);
  CHECK(changed.devices(0).message().ends_with("m..."));

  driver.endpoint.reset();
  CHECK(test::run_until(driver.loop, [&] { return reader.over(); }));
}

TEST_CASE("what readers know is told once more after one has come or gone: its end clears what others told") {
  const test::TempDir dir;
  Driver driver(dir.path());
  REQUIRE(driver.run_until_listening());
  driver.endpoint->set_health({{.pool = "p", .devices = {{.device = "a", .healthy = true}}}});
  HealthReader reader(driver.dial());
  REQUIRE(test::run_until(driver.loop, [&] { return reader.read().size() == 2; }));
  auto other = std::make_unique<HealthReader>(driver.dial());
  REQUIRE(
      test::run_until(driver.loop, [&] { return other->read().size() == 2 && reader.read().size() == 3; }));
  other.reset();
  REQUIRE(test::run_until(driver.loop, [&] {
    return driver.owner.health_readers == std::vector<std::size_t>{1, 2, 1};
  }));
  const auto ended = std::chrono::steady_clock::now();
  REQUIRE(test::run_until(driver.loop, [&] { return reader.read().size() == 4; }));
  CHECK(std::chrono::steady_clock::now() - ended < 5s);
  CHECK(reader.read()[3].devices_size() == 1);
}

TEST_CASE("what readers know is told once more after another process of the driver may have gone") {
  const test::TempDir dir;
  Driver driver(dir.path());
  REQUIRE(driver.run_until_listening());
  driver.endpoint->set_health({{.pool = "p", .devices = {{.device = "a", .healthy = true}}}});
  HealthReader reader(driver.dial());
  REQUIRE(test::run_until(driver.loop, [&] { return reader.read().size() == 2; }));
  const std::string own = driver.socket().filename().string();
  const fs::path other = dir.path() / (own.substr(0, own.rfind('-') + 1) + "1.sock");
  listen_unix(other);
  fs::remove(other);
  CHECK(test::run_until(driver.loop, [&] { return reader.read().size() == 3; }));
}

TEST_CASE("the health of very many devices fits into one message of the kubelet's") {
  const test::TempDir dir;
  Driver driver(dir.path());
  REQUIRE(driver.run_until_listening());
  std::vector<DeviceHealth> many;
  for (int n = 0; n < 5000; ++n)
    many.push_back({.device = std::to_string(n), .message = std::string(2000, 'm')});
  driver.endpoint->set_health({{.pool = "p", .devices = std::move(many)}});
  HealthReader reader(driver.dial());
  REQUIRE(test::run_until(driver.loop, [&] { return !reader.read().empty() || reader.over(); }));
  REQUIRE_FALSE(reader.over());
  const auto list = reader.read()[0];
  CHECK(list.devices_size() == 5000);
  CHECK(list.devices(0).message().size() > 100);
  CHECK(list.ByteSizeLong() < std::size_t{4} << 20u);
}

TEST_CASE("a socket that somebody removes is made again, under another name") {
  const test::TempDir dir;
  Driver driver(dir.path());
  REQUIRE(driver.run_until_listening());
  const fs::path first = driver.socket();
  fs::remove(first);
  REQUIRE(test::run_until(driver.loop, [&] { return driver.socket() != first; }));
  CHECK(driver.info().name() == kDriver);
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);
  CHECK(driver.owner.troubles.empty());
}

TEST_CASE("where plugins_registry is missing the driver waits for it, and so after it went") {
  const test::TempDir dir;
  const fs::path registry = dir.path() / "kubelet/plugins_registry";
  Driver driver(registry);
  for (int round = 0; round < 2; ++round) {
    REQUIRE(test::run_until(driver.loop, [&] { return driver.socket().empty(); }));
    fs::create_directories(registry);
    REQUIRE(driver.run_until_listening());
    CHECK(driver.info().name() == kDriver);
    fs::remove_all(dir.path() / "kubelet");
  }
  CHECK(driver.owner.troubles.empty());
}

TEST_CASE(
    "what killed processes of the driver left goes when the kubelet has registered ours, and nothing else") {
  const test::TempDir dir;
  Driver other(dir.path());
  REQUIRE(other.run_until_listening());
  const auto beside = [&](const std::string& name) { return dir.path() / name; };
  const std::string own = other.socket().filename().string();
  const std::string beginning = own.substr(0, own.rfind('-') + 1);
  listen_unix(beside(beginning + "1.sock"));
  listen_unix(beside("." + beginning + "2.sock"));
  listen_unix(beside("plughost-another.driver-01234567-3.sock"));
  std::ofstream(beside(beginning + "4.sock")) << "a file";
  Driver driver(dir.path());
  REQUIRE(driver.run_until_listening());
  driver.notify(false, "not yet");
  REQUIRE(test::run_until(driver.loop, [&] { return driver.owner.refused.size() == 1; }));
  CHECK(fs::exists(beside(beginning + "1.sock")));
  driver.notify(true, "");
  REQUIRE(test::run_until(driver.loop, [&] { return driver.owner.registered == 1; }));
  CHECK_FALSE(fs::exists(beside(beginning + "1.sock")));
  CHECK_FALSE(fs::exists(beside("." + beginning + "2.sock")));
  CHECK(fs::exists(beside("plughost-another.driver-01234567-3.sock")));
  CHECK(fs::exists(beside(beginning + "4.sock")));
  CHECK(fs::exists(other.socket()));
  CHECK(driver.info().name() == kDriver);
}

TEST_CASE("a directory that cannot have a socket is told once, and tried again") {
  const test::TempDir dir;
  const fs::path registry = dir.path() / "registry";
  std::ofstream(registry) << "a file";
  Driver driver(registry);
  REQUIRE(test::run_until(driver.loop, [&] { return !driver.owner.troubles.empty(); }));
  CHECK(driver.owner.troubles[0].starts_with("the kubelet cannot find the driver: bind "));
  // Told after the endpoint's own watch, which is older.
  int told = 0;
  const auto beside = driver.directories.watch(registry, "*", [&](std::string_view) { ++told; });
  REQUIRE(test::run_until(driver.loop, [&] { return told > 0; }));
  for (int round = 0; round < 2; ++round) {
    const fs::path other = dir.path() / "other";
    std::ofstream(other) << "another file";
    const int before = told;
    fs::rename(other, registry);
    REQUIRE(test::run_until(driver.loop, [&] { return told > before; }));
  }
  CHECK(driver.owner.troubles.size() == 1);
  fs::remove(registry);
  fs::create_directory(registry);
  REQUIRE(driver.run_until_listening());
  CHECK(driver.owner.troubles.size() == 1);
  // And told again when it comes again.
  fs::remove_all(registry);
  std::ofstream(registry) << "a file";
  CHECK(test::run_until(driver.loop, [&] { return driver.owner.troubles.size() == 2; }));
}

TEST_CASE("a driver turns away whoever is neither root nor its own user") {
  if (::geteuid() != 0) {
    MESSAGE("only root can show it");
    return;
  }
  const test::TempDir dir;
  REQUIRE(::chmod(dir.path().c_str(), 0755) == 0);
  Driver driver(dir.path());
  REQUIRE(driver.run_until_listening());
  struct stat status {};
  REQUIRE(::stat(driver.socket().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  REQUIRE(::chmod(driver.socket().c_str(), 0666) == 0);
  std::optional<UniqueFd> stranger;
  std::thread([&] {
    // The system call changes this thread alone, unlike the C library's function.
    REQUIRE(::syscall(SYS_setresuid, -1, 65534, -1) == 0);
    stranger = connect_unix(driver.socket());
  }).join();
  REQUIRE(test::run_until(driver.loop, [&] { return !driver.owner.troubles.empty(); }));
  CHECK(
      driver.owner.troubles ==
      std::vector<std::string>{"a connection of user 65534 to the driver was turned away: only root and our "
                               "own user may ask"});
}

namespace {

// A manager that keeps descriptors, and what it hands to the next process.
struct Keeping {
  test::ServiceManager manager;
  const test::Variable socket{"NOTIFY_SOCKET", manager.path};
  const test::Variable room{"FDSTORE", "4"};
  UniqueFd kept;

  // Its name.
  std::string take() {
    test::ServiceManager::Heard heard = manager.heard();
    kept = std::move(heard.fd);
    const std::size_t name = heard.text.find("FDNAME=");
    return name == std::string::npos ? std::string() : heard.text.substr(name + 7);
  }
  // The first descriptor of the next process.
  int hand_over(const std::string& name) const {
    const int fd = check(::fcntl(kept.get(), F_DUPFD, 800), "F_DUPFD");
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    ::setenv("LISTEN_FDS", "1", 1);
    ::setenv("LISTEN_FDNAMES", name.c_str(), 1);
    return fd;
  }
};

}  // namespace

TEST_CASE("over a restart the name stays, and who connects meanwhile is answered by the next process") {
  const test::TempDir dir;
  Keeping keeping;
  std::string name;
  fs::path socket;
  {
    Driver driver(dir.path());
    REQUIRE(driver.run_until_listening());
    socket = driver.socket();
    name = keeping.take();
    REQUIRE(keeping.kept);
    driver.endpoint->leave_to_successor();
  }
  CHECK(keeping.manager.heard().text.empty());  // it is kept further on
  const auto before = identity_of(socket);
  REQUIRE(before);
  const auto channel = grpc::CreateInsecureChannelFromFd("localhost", connect_unix(socket).release());
  Driver next(dir.path(), kDriver, keeping.hand_over(name));
  next.during([&] {
    const auto stub = Registration::NewStub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 10s);
    pluginregistration::PluginInfo info;
    CHECK(stub->GetInfo(&context, {}, &info).ok());
    CHECK(info.name() == kDriver);
  });
  CHECK(identity_of(socket) == before);
  CHECK(keeping.manager.heard().text.empty());
  SUBCASE("and the one after that") {
    next.endpoint->leave_to_successor();
    next.endpoint.reset();
    CHECK(identity_of(socket) == before);
    CHECK(keeping.manager.heard().text.empty());
  }
  SUBCASE("but not a reload that ends the driver") {
    next.endpoint.reset();
    CHECK_FALSE(fs::exists(socket));
    CHECK(keeping.manager.heard().text == "FDSTOREREMOVE=1\nFDNAME=" + name);
  }
  SUBCASE("and when its name is removed another socket is kept instead of it") {
    fs::remove(socket);
    REQUIRE(test::run_until(next.loop, [&] { return next.socket() != socket; }));
    CHECK(keeping.manager.heard().text == "FDSTOREREMOVE=1\nFDNAME=" + name);
    const test::ServiceManager::Heard put = keeping.manager.heard();
    CHECK(put.text.starts_with("FDSTORE=1\n"));
    CHECK_FALSE(put.text.ends_with(name));
    CHECK(put.fd);
  }
}

TEST_CASE("what was kept, but no name leads to any more, is given up") {
  const test::TempDir dir;
  Keeping keeping;
  std::string name;
  fs::path socket;
  {
    Driver driver(dir.path());
    REQUIRE(driver.run_until_listening());
    socket = driver.socket();
    name = keeping.take();
    driver.endpoint->leave_to_successor();
  }
  fs::remove(socket);
  SUBCASE("because it was removed") {}
  SUBCASE("because somebody else's is there") {
    listen_unix(socket);
  }
  const auto there = identity_of(socket);
  Driver next(dir.path(), kDriver, keeping.hand_over(name));
  keeping.kept = {};
  REQUIRE(next.run_until_listening());
  CHECK(keeping.manager.heard().text == "FDSTOREREMOVE=1\nFDNAME=" + name);
  CHECK(keeping.manager.heard().text.starts_with("FDSTORE=1\n"));
  CHECK(next.socket() != socket);
  CHECK(identity_of(socket) == there);
  CHECK(next.info().name() == kDriver);
}

TEST_CASE("what was kept for another driver is given up, and its name goes") {
  const test::TempDir dir;
  Keeping keeping;
  std::string name;
  fs::path socket;
  {
    Driver driver(dir.path(), "plughost.example.org");
    REQUIRE(driver.run_until_listening());
    socket = driver.socket();
    name = keeping.take();
    driver.endpoint->leave_to_successor();
  }
  REQUIRE(fs::exists(socket));
  Driver next(dir.path(), kDriver, keeping.hand_over(name));
  REQUIRE(next.run_until_listening());
  CHECK_FALSE(fs::exists(socket));
  CHECK(keeping.manager.heard().text == "FDSTOREREMOVE=1\nFDNAME=" + name);
}

TEST_CASE("what was kept in another directory is given up, and its name goes") {
  const test::TempDir dir;
  Keeping keeping;
  std::string name;
  fs::path socket;
  fs::create_directories(dir.path() / "former");
  fs::create_directories(dir.path() / "now");
  {
    Driver driver(dir.path() / "former");
    REQUIRE(driver.run_until_listening());
    socket = driver.socket();
    name = keeping.take();
    driver.endpoint->leave_to_successor();
  }
  REQUIRE(fs::exists(socket));
  Driver next(dir.path() / "now", kDriver, keeping.hand_over(name));
  REQUIRE(next.run_until_listening());
  CHECK_FALSE(fs::exists(socket));
  CHECK(keeping.manager.heard().text == "FDSTOREREMOVE=1\nFDNAME=" + name);
}

TEST_CASE("a process without the driver removes what its predecessor left, and nothing else") {
  const test::TempDir dir;
  Keeping keeping;
  std::string name;
  fs::path socket;
  {
    Driver driver(dir.path());
    REQUIRE(driver.run_until_listening());
    socket = driver.socket();
    name = keeping.take();
    driver.endpoint->leave_to_successor();
  }
  bool is_there = false;
  SUBCASE("") {}
  SUBCASE("it is another's by now") {
    fs::remove(socket);
    listen_unix(socket);
    is_there = true;
  }
  const Notifier notifier;
  DescriptorStore descriptors(notifier, keeping.hand_over(name));
  DraEndpoint::remove_left(descriptors);
  CHECK(fs::exists(socket) == is_there);
  CHECK(keeping.manager.heard().text == "FDSTOREREMOVE=1\nFDNAME=" + name);
}

TEST_CASE("where nobody keeps descriptors the name goes with the process, also when it is left") {
  const test::TempDir dir;
  Driver driver(dir.path());
  REQUIRE(driver.run_until_listening());
  const fs::path socket = driver.socket();
  driver.endpoint->leave_to_successor();
  driver.endpoint.reset();
  CHECK_FALSE(fs::exists(socket));
}
