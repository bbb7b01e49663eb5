#include "driver/claim_leftovers.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "unit/driver/claim_rig.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using namespace test;

PreparedClaim prepared(const std::string& name, const std::string& device = "video0") {
  PreparedClaim claim;
  claim.ref = ref_of(name);
  claim.devices = {{.allocated = {.request = "camera", .pool = kCameraPool, .device = device}, .cdi = {"x"}}};
  return claim;
}

struct Rig : ClaimNode {
  std::vector<PreparedClaim> claims;
  std::vector<std::string> cleared;
  std::string version;
  int questions = 0;  // which claims there are
  std::unique_ptr<ClaimLeftovers> leftovers;

  void start(std::chrono::milliseconds pause = 10ms) {
    leftovers = std::make_unique<ClaimLeftovers>(
        loop, workers, server, kDriver, tree.at("dra_manager_state"),
        ClaimLeftovers::Hooks{.claims =
                                  [this] {
                                    ++questions;
                                    return claims;
                                  },
                              .version = [this] { return version; },
                              .clear =
                                  [this](const ClaimRef& ref) {
                                    cleared.push_back(ref.uid);
                                    std::erase_if(claims, [&](const PreparedClaim& each) {
                                      return each.ref.uid == ref.uid;
                                    });
                                  }},
        pause);
    leftovers->changed();
  }
  bool clears(const std::vector<std::string>& uids) {
    return run_until(loop, [&] { return cleared.size() >= uids.size(); }) && cleared == uids;
  }
  // Some looks have been taken, and nothing was cleared by them.
  bool clears_nothing() {
    const std::size_t before = objects.asked().size();
    return run_until(loop, [&] { return objects.asked().size() >= before + 4; }) && cleared.empty();
  }
};

TEST_CASE("what the API server says of a claim is that pods here have it, or that nobody has") {
  Claim now;
  now.ref = ref_of("a");
  now.allocated = now.reserved = true;
  now.devices = {{.request = "camera", .pool = kCameraPool, .device = "video0"}};
  CHECK_FALSE(is_left_over(prepared("a"), now));
  Claim other = now;
  other.ref.uid = "uid-b";
  CHECK(is_left_over(prepared("a"), other));
  other = now;
  other.allocated = false;
  CHECK(is_left_over(prepared("a"), other));
  other = now;
  other.reserved = false;
  CHECK(is_left_over(prepared("a"), other));
  CHECK(is_left_over(prepared("a", "video1"), now));
  other = now;
  other.devices[0].pool = "worker-2/example.com/camera";
  CHECK(is_left_over(prepared("a"), other));
  // One of its devices is enough.
  PreparedClaim both = prepared("a", "video1");
  both.devices.push_back(prepared("a").devices[0]);
  CHECK_FALSE(is_left_over(both, now));
}

TEST_CASE("a claim that is gone is cleared after it was found so twice") {
  Rig rig;
  rig.claims = {prepared("a")};
  rig.start();
  REQUIRE(rig.clears({"uid-a"}));
  CHECK(rig.asked("a") == 2);
}

TEST_CASE("a claim that a pod has is not cleared, nor one that the kubelet knows") {
  Rig rig;
  rig.objects.put(kClaims, claim_object("a", {"video0"}));
  rig.claims = {prepared("a"), prepared("b")};
  rig.tree.file("dra_manager_state",
                R"({"Data":"{\"ClaimInfoStateList\":[{\"ClaimUID\":\"uid-b\"}]}","Checksum":1})");
  rig.start();
  CHECK(rig.clears_nothing());
  CHECK(rig.asked("b") == 0);
  // The kubelet loses its state.
  rig.tree.remove("dra_manager_state");
  REQUIRE(rig.clears({"uid-b"}));
  // And the pod goes.
  Json free = claim_object("a", {"video0"});
  free["status"]["reservedFor"] = Json::Array();
  rig.objects.put(kClaims, free);
  REQUIRE(rig.clears({"uid-b", "uid-a"}));
}

TEST_CASE("nothing is concluded while the API server is away, or the kubelet's list cannot be read") {
  Rig rig;
  rig.claims = {prepared("a")};
  rig.objects.refuse("GET " + kClaims, 500);
  rig.start();
  CHECK(rig.clears_nothing());
  rig.tree.directory("dra_manager_state");
  rig.objects.refuse("GET " + kClaims, 0);
  CHECK_FALSE(run_until(
      rig.loop, [&] { return !rig.cleared.empty(); }, 100ms));
  rig.tree.remove("dra_manager_state");
  REQUIRE(rig.clears({"uid-a"}));
}

TEST_CASE(
    "a claim that no pod of the node has is cleared, although a node may not see whether there is one") {
  Rig rig;
  rig.claims = {prepared("a")};
  rig.objects.put(kClaims, claim_object("a", {"video0"}));
  // What is missing may be a right.
  rig.objects.refuse("GET " + kClaims, 403);
  rig.start();
  CHECK(rig.clears_nothing());
  rig.objects.refuse(
      "GET " + kClaims, 403, ~0U, "",
      "resourceclaims.resource.k8s.io \"a\" is forbidden: User \"system:node:worker-1\" cannot get "
      "resource \"resourceclaims\" in API group \"resource.k8s.io\" in the namespace \"default\": "
      "no relationship found between node 'worker-1' and this object");
  REQUIRE(rig.clears({"uid-a"}));
}

TEST_CASE("a look that says otherwise begins the count anew") {
  Rig rig;
  rig.claims = {prepared("a")};
  rig.start();
  REQUIRE(run_until(rig.loop, [&] { return rig.asked("a") == 1; }));
  rig.objects.refuse("GET " + kClaims, 500, 1);
  REQUIRE(rig.clears({"uid-a"}));
  CHECK(rig.asked("a") == 4);
}

TEST_CASE("a file that cannot be read is cleared if the kubelet does not know its claim") {
  Rig rig;
  PreparedClaim unknown;
  unknown.ref.uid = "uid-x";
  rig.claims = {unknown};
  rig.tree.file("dra_manager_state", "uid-x");
  rig.start();
  CHECK_FALSE(run_until(
      rig.loop, [&] { return !rig.cleared.empty(); }, 100ms));
  rig.tree.file("dra_manager_state", "uid-y");
  REQUIRE(rig.clears({"uid-x"}));
  CHECK(rig.objects.asked().empty());
}

TEST_CASE("nothing is looked at while nothing is prepared") {
  Rig rig;
  rig.start();
  int before = rig.questions;
  CHECK_FALSE(run_until(
      rig.loop, [&] { return rig.questions > before; }, 50ms));
  rig.claims = {prepared("a")};
  rig.leftovers->changed();
  REQUIRE(rig.clears({"uid-a"}));
  // And no more after the last one.
  run_once(rig.loop);
  before = rig.questions;
  run_until(
      rig.loop, [&] { return rig.questions > before + 2; }, 50ms);
  CHECK(rig.questions <= before + 2);
}

TEST_CASE("a look is not put off by claims that come and go") {
  Rig rig;
  rig.claims = {prepared("a")};
  rig.start(30ms);
  REQUIRE(run_until(rig.loop, [&] {
    rig.leftovers->changed();
    return rig.cleared.size() == 1;
  }));
}

TEST_CASE("a list of the kubelet's that is too long to be read says nothing") {
  Rig rig;
  rig.claims = {prepared("a")};
  rig.tree.file("dra_manager_state", "x");
  std::filesystem::resize_file(rig.tree.at("dra_manager_state"), (std::uintmax_t{16} << 20u) + 1);
  rig.start();
  CHECK_FALSE(run_until(
      rig.loop, [&] { return !rig.objects.asked().empty(); }, 200ms));
  std::filesystem::resize_file(rig.tree.at("dra_manager_state"), 1);
  REQUIRE(rig.clears({"uid-a"}));
}

TEST_CASE("a claim is asked for in the version of the API server, and one answer is waited for") {
  Rig rig;
  rig.objects.serve({"v1beta2"});
  rig.version = "v1beta2";
  const std::string path = "/apis/resource.k8s.io/v1beta2/namespaces/default/resourceclaims";
  rig.objects.put(path, claim_object("a", {"video0"}));
  rig.claims = {prepared("a")};
  rig.objects.hold("GET " + path);
  rig.start();
  REQUIRE(run_until(rig.loop, [&] { return rig.objects.asked("GET " + path) == 1; }));
  CHECK_FALSE(run_until(
      rig.loop, [&] { return rig.objects.asked("GET " + path) > 1; }, 50ms));
  rig.objects.release();
  CHECK(rig.clears_nothing());
  rig.objects.remove(path, "a");
  REQUIRE(rig.clears({"uid-a"}));
}

TEST_CASE("what one API server said of a claim does not count with another") {
  Rig rig;
  rig.claims = {prepared("a")};
  rig.start();
  REQUIRE(run_until(rig.loop, [&] { return rig.asked("a") == 1; }));
  rig.objects.hold("GET " + kClaims);
  REQUIRE(run_until(rig.loop, [&] { return rig.asked("a") == 2; }));
  FakeObjects other;
  TempDir directory;
  rig.server.use(
      ApiServerConfig{.kubeconfig = other.kubeconfig(directory), .node = FakeObjects::kNode, .where = ""});
  REQUIRE(rig.clears({"uid-a"}));
  CHECK(other.asked("GET " + kClaims + "/a") == 2);
  rig.objects.release();
}

TEST_CASE("a claim that could not be cleared is looked at twice again") {
  Rig rig;
  rig.claims = {prepared("a")};
  rig.start();
  REQUIRE(rig.clears({"uid-a"}));
  rig.claims = {prepared("a")};
  rig.leftovers->changed();
  REQUIRE(rig.clears({"uid-a", "uid-a"}));
  CHECK(rig.asked("a") == 4);
}

TEST_CASE("the times are those of ten minutes, and not of less than four") {
  CHECK(ClaimLeftovers::kPause * 2 < 10min);
  CHECK(ClaimLeftovers::kPause >= 4min);
  Rig rig;
  rig.claims = {prepared("a")};
  rig.start(10s);
  CHECK_FALSE(run_until(
      rig.loop, [&] { return rig.asked("a") > 0; }, 50ms));
}

}  // namespace
}  // namespace plughost
