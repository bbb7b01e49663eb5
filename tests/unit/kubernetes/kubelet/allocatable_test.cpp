#include "kubernetes/kubelet/pod_resources.hpp"

#include <doctest/doctest.h>
#include <grpcpp/grpcpp.h>

#include <optional>

#include "podresources/v1/podresources.grpc.pb.h"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;

namespace {

// A kubelet that reports two allocatable devices, one of them on two NUMA nodes, or an error.
class Kubelet final : public v1::PodResourcesLister::Service {
 public:
  Kubelet(const test::TempDir& dir, grpc::Status status) : status_(std::move(status)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + dir.at("kubelet.sock").string(), grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Kubelet() override { server_->Shutdown(std::chrono::system_clock::now()); }

 private:
  grpc::Status GetAllocatableResources(grpc::ServerContext*, const v1::AllocatableResourcesRequest*,
                                       v1::AllocatableResourcesResponse* response) override {
    for (const char* id : {"b", "a", "b"}) {
      auto& devices = *response->add_devices();
      devices.set_resource_name("x.com/a");
      devices.add_device_ids(id);
    }
    return status_;
  }

  grpc::Status status_;
  std::unique_ptr<grpc::Server> server_;
};

Allocatable::Count ask(const test::TempDir& dir) {
  EventLoop loop;
  Allocatable allocatable(loop, dir.at("kubelet.sock"));
  std::optional<Allocatable::Count> told;
  allocatable.query([&](const Allocatable::Count& count) { told = count; });
  CHECK(test::run_until(loop, [&] { return told.has_value(); }));
  CHECK_FALSE(allocatable.asking());
  return told.value_or(Allocatable::Count());
}

}  // namespace

TEST_CASE("a kubelet reports its allocatable devices, and each is returned once, sorted") {
  const test::TempDir dir;
  const Kubelet kubelet(dir, grpc::Status::OK);
  const Allocatable::Count count = ask(dir);
  REQUIRE(count.ids);
  CHECK(*count.ids == Allocatable::Ids{{"x.com/a", {"a", "b"}}});
  CHECK(count.why.empty());
}

TEST_CASE("a failure to report allocatable devices has the kubelet's reason, or the system's") {
  const test::TempDir dir;
  CHECK_FALSE(ask(dir).ids);
  CHECK(ask(dir).why.find("No such file") != std::string::npos);
  const Kubelet kubelet(dir, {grpc::StatusCode::UNIMPLEMENTED, "disabled"});
  CHECK_FALSE(ask(dir).ids);
  CHECK(ask(dir).why == "disabled");
}

TEST_CASE("the response to a destroyed caller is dropped") {
  const test::TempDir dir;
  const Kubelet kubelet(dir, grpc::Status::OK);
  EventLoop loop;
  bool told = false;
  {
    Allocatable allocatable(loop, dir.at("kubelet.sock"));
    allocatable.query([&](const Allocatable::Count&) { told = true; });
    CHECK(allocatable.asking());
  }
  test::run_once(loop);
  CHECK_FALSE(told);
}
