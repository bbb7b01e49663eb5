#include "kubernetes/plugin/endpoint.hpp"

#include <doctest/doctest.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/system/unix_socket.hpp"
#include "deviceplugin/v1beta1/deviceplugin.grpc.pb.h"
#include "pluginregistration/v1/pluginregistration.grpc.pb.h"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace std::chrono_literals;

namespace {

struct Owner final : EndpointOwner {
  std::vector<Caller> dialed;
  std::vector<Caller> opened;
  std::vector<Caller> closed;
  std::vector<std::string> errors;
  std::vector<std::string> started;
  std::vector<std::string> allocated;
  IdSet carded;
  IdSet card_started;
  std::vector<AnsweredAllocate> answered;
  bool drops = false;
  bool refuses = false;
  bool waits = false;
  std::vector<AllocationDone> waiting;

  void on_dialed(Caller by) override { dialed.push_back(by); }
  void on_stream_opened(Caller by) override { opened.push_back(by); }
  void on_stream_closed(Caller by) override { closed.push_back(by); }
  void on_registry_refused(Caller, const std::string&) override {}
  void on_connection_error(const std::string& what) override { errors.push_back(what); }
  void on_allocated(const AnsweredAllocate& call) override { answered.push_back(call); }
  void prepare_start(SharedSnapshot, const std::vector<std::string>& ids, StartDone done) override {
    started = ids;
    if (!drops) done("it is not ready");
  }
  void run_allocation_program(SharedSnapshot, const std::vector<std::string>& ids,
                              AllocationDone done) override {
    allocated = ids;
    if (refuses) return done("not\rtoday");
    if (waits) return waiting.push_back(std::move(done));
    if (!drops) done(Allocation{.env = {{"KEY", "value"}}});
  }
  void prepare_card(SharedSnapshot, const IdSet& ids, StartDone done) override {
    card_started = ids;
    done("its card is not known");
  }
  void request_card(SharedSnapshot, const IdSet& ids, AllocationDone done) override {
    carded = ids;
    if (!drops) done(Allocation{.env = {{"CARD", "1"}}});
  }
};

std::shared_ptr<const AllocationSpec> with_programs() {
  AllocationSpec spec;
  spec.allocate.emplace();
  spec.pre_start.emplace();
  return std::make_shared<const AllocationSpec>(std::move(spec));
}

// An endpoint with two devices, and a kubelet's client of it.
struct Served {
  test::TempDir dir;
  EventLoop loop;
  Workers workers{loop, 1};
  Owner owner;
  std::optional<Endpoint> endpoint;

  explicit Served(std::shared_ptr<const AllocationSpec> spec = std::make_shared<const AllocationSpec>(),
                  Announcement announcement = Announcement::kRegister,
                  std::vector<Device> devices = {{.id = "one"}, {.id = "two"}}) {
    endpoint.emplace(loop, workers, owner,
                     ServedResource{.name = "example.com/a",
                                    .options = {.pre_start_required = true},
                                    .announcement = announcement,
                                    .feed = std::make_shared<InventoryFeed>(ResourceSnapshot{
                                        "example.com/a", Inventory(std::move(devices)), std::move(spec)}),
                                    .calls = std::make_shared<CallTally>(std::make_shared<Durations>()),
                                    .check_answer = [](const Allocation&) { return std::string(); }});
  }

  std::filesystem::path socket() const { return dir.path() / endpoint->socket_name(); }
  std::unique_ptr<v1beta1::DevicePlugin::Stub> dial() const {
    return v1beta1::DevicePlugin::NewStub(
        grpc::CreateInsecureChannelFromFd("localhost", connect_unix(socket()).release()));
  }
  // Makes a call of the kubelet on a thread of its own, while the loop runs.
  grpc::Status call(const std::function<grpc::Status(v1beta1::DevicePlugin::Stub& stub,
                                                     grpc::ClientContext& context)>& what) {
    std::atomic<bool> done = false;
    grpc::Status status;
    std::thread kubelet([&] {
      const auto stub = dial();
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + 10s);
      status = what(*stub, context);
      done = true;
    });
    CHECK(test::run_until(loop, [&] { return done.load(); }));
    kubelet.join();
    return status;
  }
};

v1beta1::AllocateRequest request(const std::vector<std::vector<std::string>>& containers) {
  v1beta1::AllocateRequest made;
  for (const auto& ids : containers) {
    auto& container = *made.add_container_requests();
    for (const std::string& id : ids) container.add_devices_ids(id);
  }
  return made;
}

}  // namespace

TEST_CASE("an endpoint reports to its owner who opens a stream, on which listener, and its end") {
  Served served;
  for (int round = 1; round <= 2; ++round) {
    served.endpoint->listen_anew(served.dir.path());
    const grpc::Status status = served.call([](auto& stub, auto& context) {
      const auto reader = stub.ListAndWatch(&context, {});
      v1beta1::ListAndWatchResponse list;
      CHECK(reader->Read(&list));
      CHECK(list.devices_size() == 2);
      context.TryCancel();
      return reader->Finish();
    });
    CHECK(status.error_code() == grpc::StatusCode::CANCELLED);
    REQUIRE(test::run_until(served.loop,
                            [&] { return served.owner.closed.size() == static_cast<std::size_t>(round); }));
    const Caller us{served.endpoint->incarnation(), ::getpid()};
    CHECK(served.owner.opened.back() == us);
    CHECK(served.owner.closed.back() == us);
  }
  CHECK(served.owner.opened[0].incarnation + 1 == served.owner.opened[1].incarnation);
}

TEST_CASE(
    "an endpoint that listens for a new kubelet has a new name, and the same name when it listens again") {
  Served served;
  CHECK(served.endpoint->socket_name().empty());
  served.endpoint->listen_anew(served.dir.path());
  const std::filesystem::path first = served.socket();
  CHECK(std::filesystem::is_socket(first));
  std::filesystem::remove(first);
  CHECK_FALSE(served.endpoint->reachable());
  served.endpoint->listen_again();
  CHECK(served.endpoint->reachable());
  CHECK(served.socket() == first);
  served.endpoint->listen_anew(served.dir.path());
  CHECK(served.socket() != first);
  CHECK_FALSE(std::filesystem::exists(first));
  CHECK(served.endpoint->reachable());
}

TEST_CASE("an endpoint returns its options to every caller") {
  Served served;
  served.endpoint->listen_anew(served.dir.path());
  v1beta1::DevicePluginOptions options;
  CHECK(served
            .call([&](auto& stub, auto& context) {
              return stub.GetDevicePluginOptions(&context, {}, &options);
            })
            .ok());
  CHECK(options.pre_start_required());
  CHECK_FALSE(options.get_preferred_allocation_available());
  REQUIRE(test::run_until(served.loop, [&] { return !served.owner.dialed.empty(); }));
  CHECK(served.owner.dialed == std::vector{Caller{served.endpoint->incarnation(), ::getpid()}});
}

TEST_CASE("in plugins_registry the registry finds an endpoint, and a call for its options does not count") {
  Served served(std::make_shared<const AllocationSpec>(), Announcement::kPluginsRegistry);
  served.endpoint->listen_anew(served.dir.path());
  v1beta1::DevicePluginOptions options;
  CHECK(served
            .call([&](auto& stub, auto& context) {
              return stub.GetDevicePluginOptions(&context, {}, &options);
            })
            .ok());
  std::atomic<bool> done = false;
  std::thread registry([&] {
    const auto stub = pluginregistration::Registration::NewStub(
        grpc::CreateInsecureChannelFromFd("localhost", connect_unix(served.socket()).release()));
    grpc::ClientContext context;
    pluginregistration::PluginInfo info;
    CHECK(stub->GetInfo(&context, {}, &info).ok());
    CHECK(info.name() == "example.com/a");
    done = true;
  });
  CHECK(test::run_until(served.loop, [&] { return done.load() && !served.owner.dialed.empty(); }));
  registry.join();
  CHECK(served.owner.dialed == std::vector{Caller{served.endpoint->incarnation(), ::getpid()}});
}

TEST_CASE("an endpoint refuses users other than root and its own") {
  if (::geteuid() != 0) {
    MESSAGE("only root can show it");
    return;
  }
  Served served;
  REQUIRE(::chmod(served.dir.path().c_str(), 0755) == 0);
  served.endpoint->listen_anew(served.dir.path());
  REQUIRE(::chmod(served.socket().c_str(), 0666) == 0);
  std::optional<UniqueFd> stranger;
  std::thread([&] {
    // The system call changes only this thread, unlike the C library's function.
    REQUIRE(::syscall(SYS_setresuid, -1, 65534, -1) == 0);
    stranger = connect_unix(served.socket());
  }).join();
  REQUIRE(test::run_until(served.loop, [&] { return !served.owner.errors.empty(); }));
  CHECK(served.owner.errors ==
        std::vector<std::string>{
            "a connection of user 65534 was refused: only root and plughost's own user have access"});
  char byte = 0;
  CHECK(::read(stranger->get(), &byte, 1) == 0);  // the end
}

// Makes this thread that user's, and root's again at the end. The system call changes only this thread.
class AsUser {
 public:
  explicit AsUser(uid_t user) { REQUIRE(::syscall(SYS_setresuid, -1, user, -1) == 0); }
  ~AsUser() { ::syscall(SYS_setresuid, -1, 0, -1); }
  AsUser& operator=(AsUser&&) = delete;
};

TEST_CASE("an endpoint of a user other than root accepts root's connections, and its own user's") {
  if (::geteuid() != 0) {
    MESSAGE("only root can show it");
    return;
  }
  Served served;
  served.endpoint->listen_anew(served.dir.path());
  const UniqueFd of_root = connect_unix(served.socket());
  REQUIRE(::chmod(served.dir.path().c_str(), 0755) == 0);
  REQUIRE(::chmod(served.socket().c_str(), 0666) == 0);
  const AsUser nobody(65534);
  const UniqueFd own = connect_unix(served.socket());
  // HTTP/2 begins with the server's settings.
  CHECK(test::run_until(served.loop, [&] {
    std::array<pollfd, 2> both{{{of_root.get(), POLLIN, 0}, {own.get(), POLLIN, 0}}};
    return ::poll(both.data(), both.size(), 0) == 2;
  }));
  CHECK(served.owner.errors.empty());
}

TEST_CASE("an allocation with a program queries the owner for each container") {
  Served served(with_programs());
  served.endpoint->listen_anew(served.dir.path());
  v1beta1::AllocateResponse response;
  const auto allocate = [&](auto& stub, auto& context) {
    return stub.Allocate(&context, request({{"one"}, {"two"}}), &response);
  };
  SUBCASE("it answers") {
    CHECK(served.call(allocate).ok());
    REQUIRE(response.container_responses_size() == 2);
    CHECK(response.container_responses(1).envs().at("KEY") == "value");
    CHECK(served.owner.allocated == std::vector<std::string>{"two"});
    REQUIRE(test::run_until(served.loop, [&] { return !served.owner.answered.empty(); }));
    CHECK(served.owner.answered[0].ids == "one, two");
    CHECK(served.owner.answered[0].refusal.empty());
  }
  SUBCASE("it refuses") {
    served.owner.refuses = true;
    const grpc::Status status = served.call(allocate);
    CHECK(status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
    CHECK(status.error_message() == "resource example.com/a: not\\x0Dtoday");
    REQUIRE(test::run_until(served.loop, [&] { return !served.owner.answered.empty(); }));
    CHECK(served.owner.answered[0].refusal == "resource example.com/a: not\rtoday");
  }
  SUBCASE("it drops the question") {
    served.owner.drops = true;
    CHECK(served.call(allocate).error_code() == grpc::StatusCode::UNAVAILABLE);
  }
}

// An Allocate under way beside others.
struct AllocateUnderWay {
  AllocateUnderWay(const Served& served, const std::vector<std::string>& ids)
      : stub(served.dial()), asked(request({ids})) {
    context.set_deadline(std::chrono::system_clock::now() + 10s);
    stub->async()->Allocate(&context, &asked, &response, [this, done = done](const grpc::Status& ended) {
      status = ended;
      over = true;
      done->set_value();
    });
  }
  // gRPC uses the members until the call ends, even if a check has failed before.
  ~AllocateUnderWay() {
    context.TryCancel();
    done->get_future().wait();
  }
  AllocateUnderWay& operator=(AllocateUnderWay&&) = delete;
  grpc::Status end(EventLoop& loop) {
    CHECK(test::run_until(loop, [&] { return over.load(); }));
    return status;
  }

  std::unique_ptr<v1beta1::DevicePlugin::Stub> stub;
  grpc::ClientContext context;
  v1beta1::AllocateRequest asked;
  v1beta1::AllocateResponse response;
  grpc::Status status;
  std::atomic<bool> over = false;
  const std::shared_ptr<std::promise<void>> done = std::make_shared<std::promise<void>>();
};

TEST_CASE("an id whose Allocate is in progress is refused to another call, and given afterwards") {
  Served served(with_programs());
  served.endpoint->listen_anew(served.dir.path());
  served.owner.waits = true;
  const auto asked = [&](std::size_t calls) {
    return test::run_until(served.loop, [&] { return served.owner.waiting.size() == calls; });
  };
  AllocateUnderWay first(served, {"one"});
  REQUIRE(asked(1));
  SUBCASE("while its caller waits") {
    AllocateUnderWay second(served, {"two", "one"});
    const grpc::Status refused = second.end(served.loop);
    CHECK(refused.error_code() == grpc::StatusCode::UNAVAILABLE);
    CHECK(refused.error_message() ==
          "resource example.com/a: device one is being given to another container, whose Allocate has no "
          "answer "
          "yet: the kubelet has chosen it twice (kubernetes#137534); delete this pod");
    AllocateUnderWay other(served, {"two"});
    REQUIRE(asked(2));
    served.owner.waiting[1](Allocation{});
    CHECK(other.end(served.loop).ok());
    served.owner.waiting[0](Allocation{});
    CHECK(first.end(served.loop).ok());
    AllocateUnderWay next(served, {"one"});
    REQUIRE(asked(3));
    served.owner.waiting[2](Allocation{});
    CHECK(next.end(served.loop).ok());
  }
  SUBCASE("but not once its caller has gone, as a restarted kubelet has") {
    first.context.TryCancel();
    CHECK(first.end(served.loop).error_code() == grpc::StatusCode::CANCELLED);
    // The server notices the end later than the client.
    REQUIRE(test::run_until(served.loop, [&] {
      AllocateUnderWay again(served, {"one"});
      if (!test::run_until(served.loop, [&] { return again.over || served.owner.waiting.size() == 2; }))
        return false;
      if (served.owner.waiting.size() != 2) return false;
      // The late answer to the first call releases nothing that the second has claimed.
      served.owner.waiting[0](Allocation{});
      AllocateUnderWay third(served, {"one"});
      CHECK(third.end(served.loop).error_code() == grpc::StatusCode::UNAVAILABLE);
      served.owner.waiting[1](Allocation{});
      return again.end(served.loop).ok();
    }));
  }
}

TEST_CASE("an endpoint reports each answered Allocate to its owner") {
  Served served;
  served.endpoint->listen_anew(served.dir.path());
  const auto allocate = [&](const v1beta1::AllocateRequest& asked) {
    return served.call([&](auto& stub, auto& context) {
      v1beta1::AllocateResponse response;
      return stub.Allocate(&context, asked, &response);
    });
  };
  const auto told = [&](std::size_t n) {
    REQUIRE(test::run_until(served.loop, [&] { return served.owner.answered.size() == n; }));
    return served.owner.answered.back();
  };
  CHECK(allocate(request({{"one"}, {"one", "two"}})).ok());
  AnsweredAllocate call = told(1);
  CHECK(call.containers == 2);
  CHECK(call.count == 3);
  CHECK(call.ids == "one, one, two");
  CHECK(call.refusal.empty());

  CHECK(allocate(request({{"one"}, {"three"}})).error_code() == grpc::StatusCode::NOT_FOUND);
  call = told(2);
  CHECK(call.containers == 2);
  CHECK(call.ids == "one, three");
  CHECK(call.refusal == "resource example.com/a has no device \"three\"; it lists 2 devices now");

  // The refusal of the first container stands, whatever the answer for the second would be.
  CHECK(allocate(request({{"three"}, {"one"}})).error_code() == grpc::StatusCode::NOT_FOUND);
  call = told(3);
  CHECK(call.containers == 2);
  CHECK(call.refusal == "resource example.com/a has no device \"three\"; it lists 2 devices now");

  CHECK_FALSE(allocate(request({std::vector<std::string>(1000, std::string(1000, 'x'))})).ok());
  call = told(4);
  CHECK(call.containers == 1);
  CHECK(call.count == 1000);
  CHECK(call.ids.ends_with("x... and 995 more"));
  CHECK(call.ids.size() < 500);
  CHECK(call.refusal.size() == 503);
}

TEST_CASE("the text of a refusal is printable, whatever a device reports") {
  Served served(std::make_shared<const AllocationSpec>(), Announcement::kRegister,
                {{.id = "one", .error = "worn\x1b[2J\nout"}});
  served.endpoint->listen_anew(served.dir.path());
  const grpc::Status refused = served.call([&](auto& stub, auto& context) {
    v1beta1::AllocateResponse response;
    return stub.Allocate(&context, request({{"one"}}), &response);
  });
  CHECK(refused.error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(refused.error_message().find("worn\\x1B[2J\\x0Aout") != std::string::npos);
}

TEST_CASE("an allocation whose card a scheduler chooses is answered by the owner, whatever the ids") {
  AllocationSpec spec;
  spec.assume.emplace();
  Served served(std::make_shared<const AllocationSpec>(std::move(spec)));
  served.endpoint->listen_anew(served.dir.path());
  v1beta1::AllocateResponse response;
  const auto allocate = [&](auto& stub, auto& context) {
    return stub.Allocate(&context, request({{"one"}, {"nobody's"}}), &response);
  };
  SUBCASE("it answers") {
    CHECK(served.call(allocate).ok());
    REQUIRE(response.container_responses_size() == 2);
    CHECK(response.container_responses(0).envs().at("CARD") == "1");
    CHECK(served.owner.carded == IdSet::of("example.com/a", std::vector<std::string>{"nobody's"}));
    CHECK(served.owner.allocated.empty());
    v1beta1::PreStartContainerRequest start;
    start.add_devices_ids("two");
    v1beta1::PreStartContainerResponse started;
    CHECK(served
              .call([&](auto& stub, auto& context) {
                return stub.PreStartContainer(&context, start, &started);
              })
              .error_message() == "resource example.com/a: its card is not known");
    CHECK(served.owner.card_started == IdSet::of("example.com/a", std::vector<std::string>{"two"}));
    CHECK(served.owner.started.empty());
  }
  SUBCASE("it drops the question") {
    served.owner.drops = true;
    CHECK(served.call(allocate).error_code() == grpc::StatusCode::UNAVAILABLE);
  }
}

TEST_CASE("a container start with a preparation queries the owner") {
  Served served(with_programs());
  served.endpoint->listen_anew(served.dir.path());
  v1beta1::PreStartContainerRequest start;
  start.add_devices_ids("two");
  v1beta1::PreStartContainerResponse response;
  const auto pre_start = [&](auto& stub, auto& context) {
    return stub.PreStartContainer(&context, start, &response);
  };
  SUBCASE("it says why not") {
    const grpc::Status status = served.call(pre_start);
    CHECK(status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
    CHECK(status.error_message() == "resource example.com/a: it is not ready");
    CHECK(served.owner.started == std::vector<std::string>{"two"});
  }
  SUBCASE("it drops the question") {
    served.owner.drops = true;
    CHECK(served.call(pre_start).error_code() == grpc::StatusCode::UNAVAILABLE);
  }
}

TEST_CASE("with the endpoint its socket and its streams end, and its owner is not notified again") {
  Served served;
  served.endpoint->listen_anew(served.dir.path());
  const std::filesystem::path socket = served.socket();
  bool opened = false;
  const grpc::Status status = served.call([&](auto& stub, auto& context) {
    const auto reader = stub.ListAndWatch(&context, {});
    v1beta1::ListAndWatchResponse list;
    CHECK(reader->Read(&list));
    served.loop.poster()([&] {
      opened = !served.owner.opened.empty();
      served.endpoint.reset();
    });
    CHECK_FALSE(reader->Read(&list));
    return reader->Finish();
  });
  CHECK(opened);
  CHECK(status.ok());
  CHECK_FALSE(std::filesystem::exists(socket));
  test::run_once(served.loop);
  CHECK(served.owner.closed.empty());
}
