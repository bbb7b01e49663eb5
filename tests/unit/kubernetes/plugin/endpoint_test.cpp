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

// An endpoint with two devices, and a client that acts as the kubelet.
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
  // Makes a call in a separate thread, as the kubelet would, while the loop runs. Returns the call's status.
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

TEST_CASE("the begin and the end of a stream are reported, with the listener and the process of the caller") {
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

TEST_CASE("an endpoint returns the options of its snapshot to every caller") {
  Served served(with_programs());
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

TEST_CASE("an endpoint in plugins_registry reports only GetInfo, and not a call for its options") {
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
    // A direct system call, because the C library's function would change all threads.
    REQUIRE(::syscall(SYS_setresuid, -1, 65534, -1) == 0);
    stranger = connect_unix(served.socket());
  }).join();
  REQUIRE(test::run_until(served.loop, [&] { return !served.owner.errors.empty(); }));
  CHECK(served.owner.errors ==
        std::vector<std::string>{
            "a connection of user 65534 was refused: only root and plughost's own user have access"});
  char byte = 0;
  CHECK(::read(stranger->get(), &byte, 1) == 0);  // 0: the connection was closed
}

// Makes this thread run as `user`, and as root again at the end. Uses a direct system call, because the C
// library's function would change all threads.
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
  // The server's first bytes show that it has accepted the connection.
  CHECK(test::run_until(served.loop, [&] {
    std::array<pollfd, 2> both{{{of_root.get(), POLLIN, 0}, {own.get(), POLLIN, 0}}};
    return ::poll(both.data(), both.size(), 0) == 2;
  }));
  CHECK(served.owner.errors.empty());
}

TEST_CASE("with an `allocate` program the owner is queried for each container of an Allocate") {
  Served served(with_programs());
  served.endpoint->listen_anew(served.dir.path());
  v1beta1::AllocateResponse response;
  const auto allocate = [&](auto& stub, auto& context) {
    return stub.Allocate(&context, request({{"one"}, {"two"}}), &response);
  };
  SUBCASE("and answers") {
    CHECK(served.call(allocate).ok());
    REQUIRE(response.container_responses_size() == 2);
    CHECK(response.container_responses(1).envs().at("KEY") == "value");
    CHECK(served.owner.allocated == std::vector<std::string>{"two"});
    REQUIRE(test::run_until(served.loop, [&] { return !served.owner.answered.empty(); }));
    CHECK(served.owner.answered[0].ids == "one, two");
    CHECK(served.owner.answered[0].refusal.empty());
  }
  SUBCASE("and refuses") {
    served.owner.refuses = true;
    const grpc::Status status = served.call(allocate);
    CHECK(status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
    CHECK(status.error_message() == "resource example.com/a: not\\x0Dtoday");
    REQUIRE(test::run_until(served.loop, [&] { return !served.owner.answered.empty(); }));
    CHECK(served.owner.answered[0].refusal == "resource example.com/a: not\rtoday");
  }
  SUBCASE("and drops the query") {
    served.owner.drops = true;
    CHECK(served.call(allocate).error_code() == grpc::StatusCode::UNAVAILABLE);
  }
}

// An Allocate that runs in gRPC's threads while the test continues.
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
  // Waits for the end of the call, because gRPC uses the members until then.
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

TEST_CASE("an id whose Allocate is in progress is refused to a second Allocate") {
  Served served(with_programs());
  served.endpoint->listen_anew(served.dir.path());
  served.owner.waits = true;
  const auto asked = [&](std::size_t calls) {
    return test::run_until(served.loop, [&] { return served.owner.waiting.size() == calls; });
  };
  AllocateUnderWay first(served, {"one"});
  REQUIRE(asked(1));
  SUBCASE("until the first call has been answered") {
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
  SUBCASE("until the caller of the first call has gone, as when the kubelet restarts") {
    first.context.TryCancel();
    CHECK(first.end(served.loop).error_code() == grpc::StatusCode::CANCELLED);
    // The server notices the end of the call later than the client does.
    REQUIRE(test::run_until(served.loop, [&] {
      AllocateUnderWay again(served, {"one"});
      if (!test::run_until(served.loop, [&] { return again.over || served.owner.waiting.size() == 2; }))
        return false;
      if (served.owner.waiting.size() != 2) return false;
      // The late result of the first call must not release the id that the second call now claims.
      served.owner.waiting[0](Allocation{});
      AllocateUnderWay third(served, {"one"});
      CHECK(third.end(served.loop).error_code() == grpc::StatusCode::UNAVAILABLE);
      served.owner.waiting[1](Allocation{});
      return again.end(served.loop).ok();
    }));
  }
}

TEST_CASE("each answered Allocate is reported to the owner, with its ids and the refusal") {
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

  // After a refusal for the first container the second one does not matter.
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

TEST_CASE("with `assume` the owner answers each Allocate and each container start, whatever ids they name") {
  AllocationSpec spec;
  spec.assume.emplace();
  Served served(std::make_shared<const AllocationSpec>(std::move(spec)));
  served.endpoint->listen_anew(served.dir.path());
  v1beta1::AllocateResponse response;
  const auto allocate = [&](auto& stub, auto& context) {
    return stub.Allocate(&context, request({{"one"}, {"nobody's"}}), &response);
  };
  SUBCASE("and has a response") {
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
  SUBCASE("and drops the query") {
    served.owner.drops = true;
    CHECK(served.call(allocate).error_code() == grpc::StatusCode::UNAVAILABLE);
  }
}

TEST_CASE("with a `preStart` program the owner is queried for each container start") {
  Served served(with_programs());
  served.endpoint->listen_anew(served.dir.path());
  v1beta1::PreStartContainerRequest start;
  start.add_devices_ids("two");
  v1beta1::PreStartContainerResponse response;
  const auto pre_start = [&](auto& stub, auto& context) {
    return stub.PreStartContainer(&context, start, &response);
  };
  SUBCASE("and refuses") {
    const grpc::Status status = served.call(pre_start);
    CHECK(status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
    CHECK(status.error_message() == "resource example.com/a: it is not ready");
    CHECK(served.owner.started == std::vector<std::string>{"two"});
  }
  SUBCASE("and drops the query") {
    served.owner.drops = true;
    CHECK(served.call(pre_start).error_code() == grpc::StatusCode::UNAVAILABLE);
  }
}

TEST_CASE("the endpoint's destruction closes its socket and streams, and reports no end of a stream") {
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
