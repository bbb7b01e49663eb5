#include "driver/claim_preparer.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>

#include "dra/names.hpp"
#include "host/file_text.hpp"
#include "unit/driver/claim_rig.hpp"
#include "unit/hooks/waiting_programs.hpp"
#include "unit/leased_program.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using namespace test;

using Texts = std::map<std::string, std::string>;  // by uid: the devices, or why not

struct Rig : ClaimNode {
  OfferPools pools;
  std::string version;
  std::size_t unserved = 0;
  int changes = 0;
  ClaimPreparer::Times times{.wait = 20s, .limit = 30s, .first_retry = 5ms, .longest_retry = 20ms};
  std::unique_ptr<CdiWriter> cdi;
  std::unique_ptr<ClaimPreparer> preparer;

  explicit Rig(const std::vector<std::string>& ids = {"video0", "video1"},
               std::chrono::milliseconds cdi_deadline = 30s) {
    pools[kCameraPool] = cameras(ids);
    cdi = std::make_unique<CdiWriter>(workers, HostRoot(tree.path()), "/run/cdi", "plughost", cdi_deadline);
  }
  ClaimPreparer& start() {
    preparer.reset();
    preparer =
        std::make_unique<ClaimPreparer>(loop, programs, server, log, kDriver,
                                        ClaimPreparer::Hooks{.pools = [this] { return pools; },
                                                             .version = [this] { return version; },
                                                             .unserved = [this] { ++unserved; },
                                                             .cdi = [this]() -> CdiWriter& { return *cdi; },
                                                             .changed = [this] { ++changes; }},
                                        times);
    return *preparer;
  }
  void put(const std::string& name, const std::vector<std::string>& devices) {
    objects.put(kClaims, claim_object(name, devices));
  }
  std::shared_ptr<std::optional<Texts>> prepare(const std::vector<std::string>& names) {
    const auto told = std::make_shared<std::optional<Texts>>();
    std::vector<ClaimRef> refs;
    for (const std::string& name : names) refs.push_back(ref_of(name));
    preparer->prepare(refs, [told](const std::map<std::string, PrepareOutcome>& outcomes) {
      CHECK_FALSE(told->has_value());
      told->emplace();
      for (const auto& [uid, outcome] : outcomes) {
        std::string& text = (**told)[uid];
        if (const auto* const why = std::get_if<std::string>(&outcome)) text = *why;
        if (const auto* const devices = std::get_if<std::vector<PreparedDevice>>(&outcome)) {
          for (const PreparedDevice& device : *devices) text += device.device + ' ';
        }
      }
    });
    return told;
  }
  Texts prepared(const std::vector<std::string>& names) {
    const auto told = prepare(names);
    REQUIRE(run_until(loop, [&] { return told->has_value(); }));
    return **told;
  }
  std::string prepared(const std::string& name) {
    const Texts texts = prepared(std::vector<std::string>{name});
    REQUIRE(texts.size() == 1);
    return texts.at("uid-" + name);
  }
  std::shared_ptr<std::optional<std::string>> unprepare(const std::string& name) {
    const auto told = std::make_shared<std::optional<std::string>>();
    preparer->unprepare({ref_of(name)}, [told](const std::map<std::string, std::string>& troubles) {
      CHECK_FALSE(told->has_value());
      *told = troubles.size() == 1 ? troubles.begin()->second : "not one answer";
    });
    return told;
  }
  std::string unprepared(const std::string& name) {
    const auto told = unprepare(name);
    REQUIRE(run_until(loop, [&] { return told->has_value(); }));
    return **told;
  }
  // Prepared again and again, until what is said has the words: within a limit that is as short as the test's
  // a busy machine may not come so far.
  std::string prepared_until(const std::string& name, const std::string& words) {
    std::string text;
    const auto end = EventLoop::Clock::now() + 20s;
    do {
      text = prepared(name);
    } while (text.find(words) == std::string::npos && EventLoop::Clock::now() < end);
    return text;
  }
  void load() {
    start();
    REQUIRE(run_until(loop, [&] { return preparer->loaded(); }));
  }
  std::string held() const {
    std::string text;
    for (const PreparedClaim& claim : preparer->claims()) {
      for (const ClaimedDevice& device : claim.devices)
        text += claim.ref.name + ':' + device.allocated.device + ' ';
    }
    return text;
  }
  std::filesystem::path path(const std::string& name) const {
    return tree.at("run/cdi/plughost-claim-uid-" + name + ".json");
  }
  std::string file(const std::string& name) const {
    return file_text(path(name), std::size_t{1} << 20u).value_or("");
  }
};

TEST_CASE("a claim is looked up, its file written, and its devices answered") {
  Rig rig;
  rig.put("a", {"video0"});
  rig.start();
  std::optional<PrepareOutcome> outcome;
  rig.preparer->prepare({ref_of("a")}, [&](std::map<std::string, PrepareOutcome> outcomes) {
    outcome = outcomes.at("uid-a");
    CHECK(rig.file("a").find("\"CAMERAS=video0\"") != std::string::npos);
  });
  REQUIRE(run_until(rig.loop, [&] { return outcome.has_value(); }));
  const auto* const devices = std::get_if<std::vector<PreparedDevice>>(&*outcome);
  REQUIRE(devices);
  CHECK(*devices == std::vector<PreparedDevice>{
                        {.requests = {"camera"},
                         .pool = kCameraPool,
                         .device = "video0",
                         .cdi = {"example.com/camera=video0", "plughost.example.com/claim=uid-a-camera"},
                         .share_id = std::nullopt}});
  CHECK(rig.changes == 2);  // loaded, and prepared
  REQUIRE(rig.preparer->claims().size() == 1);
  const PreparedClaim claim = rig.preparer->claims()[0];
  CHECK(claim.ref == ref_of("a"));
  CHECK(claim.answer() == *devices);
  CHECK(claim.consumers == std::vector<Claim::Consumer>{{.uid = "uid-pod", .name = "pod-a"}});
}

TEST_CASE("a claim that is prepared is answered again without the API server, by the next plughost, too") {
  Rig rig;
  rig.put("a", {"video0", "video1"});
  rig.start();
  CHECK(rig.prepared("a") == "video0 video1 ");
  const std::string bytes = rig.file("a");
  CHECK(rig.asked("a") == 1);
  rig.objects.remove(kClaims, "a");
  rig.objects.stop();
  rig.pools.clear();
  CHECK(rig.prepared("a") == "video0 video1 ");
  rig.start();
  CHECK(rig.prepared("a") == "video0 video1 ");
  CHECK(rig.preparer->loaded());
  CHECK(rig.held() == "a:video0 a:video1 ");
  CHECK(rig.file("a") == bytes);
  CHECK(rig.changes == 3);
}

TEST_CASE("a file that somebody has removed is written again before the answer") {
  Rig rig;
  rig.put("a", {"video0"});
  rig.start();
  REQUIRE(rig.prepared("a") == "video0 ");
  const std::string bytes = rig.file("a");
  rig.tree.remove("run/cdi");
  CHECK(rig.prepared("a") == "video0 ");
  CHECK(rig.file("a") == bytes);
}

TEST_CASE("one claim that is asked for twice at once has one effect and two answers") {
  Rig rig;
  rig.put("a", {"video0"});
  rig.start();
  const auto first = rig.prepare({"a"});
  const auto second = rig.prepare({"a"});
  REQUIRE(run_until(rig.loop, [&] { return first->has_value() && second->has_value(); }));
  CHECK(**first == Texts{{"uid-a", "video0 "}});
  CHECK(**second == **first);
  CHECK(rig.asked("a") == 1);
  CHECK(rig.changes == 2);
}

TEST_CASE("each claim of a call is answered for itself") {
  Rig rig;
  rig.put("a", {"video0"});
  rig.put("b", {"video1"});
  Json other = claim_object("c", {"video1"});
  other["metadata"]["uid"] = "uid-of-another";
  rig.objects.put(kClaims, other);
  Json pending = claim_object("d", {"video1"});
  pending["status"] = Json();
  rig.objects.put(kClaims, pending);
  rig.start();
  const Texts texts = rig.prepared(std::vector<std::string>{"a", "b", "c", "d", "e"});
  CHECK(texts == Texts{{"uid-a", "video0 "},
                       {"uid-b", "video1 "},
                       {"uid-c",
                        "the API server has another claim default/c by now, with the UID uid-of-another "
                        "and not uid-c"},
                       {"uid-d", "no devices are allocated to the claim default/d"},
                       {"uid-e", "the API server has no claim default/e any more"}});
  CHECK(rig.held() == "a:video0 b:video1 ");
  bool called = false;
  rig.preparer->prepare({}, [&](const auto& outcomes) { called = outcomes.empty(); });
  CHECK(called);
}

TEST_CASE("the claim is asked for in the version that the API server has") {
  Rig rig;
  rig.objects.serve({"v1beta2"});
  rig.version = "v1beta2";
  rig.objects.put("/apis/resource.k8s.io/v1beta2/namespaces/default/resourceclaims",
                  claim_object("a", {"video0"}));
  rig.start();
  CHECK(rig.prepared("a") == "video0 ");
}

TEST_CASE("a version that is not served says nothing of a claim: it is asked for again") {
  Rig rig;
  rig.objects.serve({"v1beta2"});
  rig.put("a", {"video0"});
  rig.start();
  const auto told = rig.prepare({"a"});
  REQUIRE(run_until(rig.loop, [&] { return rig.asked("a") >= 3; }));
  CHECK_FALSE(told->has_value());
  CHECK(rig.unserved >= 2);
  rig.objects.serve({"v1"});
  REQUIRE(run_until(rig.loop, [&] { return told->has_value(); }));
  CHECK((**told).at("uid-a") == "video0 ");
}

TEST_CASE("an API server that is away is asked again, until it is there") {
  Rig rig;
  rig.put("a", {"video0"});
  rig.objects.refuse("GET " + kClaims, 403, 2);
  rig.objects.stop();
  rig.start();
  const auto told = rig.prepare({"a"});
  CHECK_FALSE(run_until(
      rig.loop, [&] { return told->has_value(); }, 50ms));
  rig.objects.start();
  REQUIRE(run_until(rig.loop, [&] { return told->has_value(); }));
  CHECK((**told).at("uid-a") == "video0 ");
  CHECK(rig.asked("a") == 3);
}

TEST_CASE(
    "an API server that stays away is told before the kubelet gives up, and so is one that does not answer") {
  Rig rig;
  rig.times.limit = 200ms;
  rig.put("a", {"video0"});
  rig.objects.refuse("GET " + kClaims, 500);
  rig.load();
  const std::string why = rig.prepared_until("a", "500");
  CHECK(why.starts_with("the API server has not said within 0 s what the claim default/a is: "));
  CHECK(why.find("500") != std::string::npos);
  rig.objects.refuse("GET " + kClaims, 0);
  rig.objects.hold("GET " + kClaims);
  CHECK(rig.prepared("a").starts_with("the API server has not said within 0 s what the claim default/a is"));
  rig.objects.release();
  CHECK(rig.prepared_until("a", "video0") == "video0 ");
}

TEST_CASE("without an API server in the configuration a claim that is not prepared says so") {
  Rig rig;
  rig.times.limit = 100ms;
  rig.server.use(std::nullopt);
  rig.load();
  CHECK(rig.prepared("a").ends_with(": the configuration names no API server"));
}

TEST_CASE("another API server is asked at once when a reload brings one") {
  Rig rig;
  rig.put("a", {"video0"});
  rig.objects.hold("GET " + kClaims);
  rig.start();
  const auto told = rig.prepare({"a"});
  REQUIRE(run_until(rig.loop, [&] { return rig.asked("a") == 1; }));
  FakeObjects other;
  other.put(kClaims, claim_object("a", {"video1"}));
  TempDir directory;
  rig.server.use(
      ApiServerConfig{.kubeconfig = other.kubeconfig(directory), .node = FakeObjects::kNode, .where = ""});
  REQUIRE(run_until(rig.loop, [&] { return told->has_value(); }));
  CHECK((**told).at("uid-a") == "video1 ");
  rig.objects.release();
}

TEST_CASE("a device that is not there yet is waited for") {
  Rig rig({"video1"});
  rig.put("a", {"video0"});
  rig.start();
  const auto told = rig.prepare({"a"});
  REQUIRE(run_until(rig.loop, [&] { return rig.asked("a") == 1; }));
  rig.preparer->on_lists();
  CHECK_FALSE(run_until(
      rig.loop, [&] { return told->has_value(); }, 50ms));
  rig.pools[kCameraPool] = cameras({"video0"});
  rig.preparer->on_lists();
  REQUIRE(run_until(rig.loop, [&] { return told->has_value(); }));
  CHECK((**told).at("uid-a") == "video0 ");
  CHECK(rig.asked("a") == 1);
}

TEST_CASE("a device that does not come is told with a sentence") {
  Rig rig({"video1"});
  rig.times.wait = 50ms;
  rig.put("a", {"video0"});
  rig.put("b", {"video1"});
  rig.start();
  CHECK(rig.prepared("a") == "example.com/camera lists no device \"video0\" now");
  CHECK(rig.held().empty());
  auto taken = cameras({"video1"});
  Device device = taken->inventory.devices()[0];
  device.taken = {0};
  device.taken_by = "held by pod default/old";
  taken->inventory = Inventory({device});
  rig.pools[kCameraPool] = taken;
  CHECK(rig.prepared("b") == "device \"video1\" of example.com/camera is in use: held by pod default/old");
}

TEST_CASE("an unknown device is waited for within the kubelet's call, and is an error of its claim alone") {
  const ClaimPreparer::Times times;
  CHECK(times.wait == 30s);
  CHECK(times.limit == 40s);
  Rig rig({"video1"});
  rig.times.wait = 300ms;
  rig.put("a", {"video9"});
  rig.put("b", {"video1"});
  rig.start();
  const auto begun = EventLoop::Clock::now();
  const auto told = rig.prepare({"a", "b"});
  // The other one is ready at once; the call has one answer for both.
  REQUIRE(run_until(rig.loop, [&] { return rig.held() == "b:video1 "; }));
  REQUIRE(run_until(rig.loop, [&] { return told->has_value(); }));
  CHECK(EventLoop::Clock::now() - begun >= rig.times.wait);
  CHECK(**told ==
        Texts{{"uid-a", "example.com/camera lists no device \"video9\" now"}, {"uid-b", "video1 "}});
  CHECK(rig.asked("a") == 1);
  CHECK(rig.file("a").empty());
  CHECK(rig.told("a claim cannot be prepared") == 1);
}

TEST_CASE("a device goes from one claim to the next when the first is given back") {
  Rig rig;
  rig.put("a", {"video0"});
  rig.put("b", {"video0"});
  rig.start();
  REQUIRE(rig.prepared("a") == "video0 ");
  const auto told = rig.prepare({"b"});
  REQUIRE(run_until(rig.loop, [&] { return rig.asked("b") == 1; }));
  CHECK_FALSE(run_until(
      rig.loop, [&] { return told->has_value(); }, 50ms));
  CHECK(rig.unprepared("a").empty());
  REQUIRE(run_until(rig.loop, [&] { return told->has_value(); }));
  CHECK((**told).at("uid-b") == "video0 ");
  CHECK(rig.file("a").empty());
  CHECK(rig.held() == "b:video0 ");
}

TEST_CASE("claims of a device by its name and by its shares' names are no more than its replicas") {
  Rig rig;
  rig.times.wait = 50ms;
  auto shared = cameras({"video0"});
  Device device = shared->inventory.devices()[0];
  device.replicas = 2;
  shared->inventory = Inventory({device});
  rig.pools[kCameraPool] = shared;
  rig.put("a", {"video0"});
  rig.put("b", {device_label("video0::1")});
  rig.put("c", {"video0"});
  rig.put("d", {device_label("video0::0")});
  rig.start();
  REQUIRE(rig.prepared("a") == "video0 ");
  REQUIRE(rig.prepared("b") == device_label("video0::1") + ' ');
  const std::string full =
      "device \"video0\" of example.com/camera has no room for 1 of its 2 shares: claim default/a holds 1, "
      "claim default/b holds 1; ";
  CHECK(rig.prepared("c").starts_with(full));
  CHECK(rig.prepared("d").starts_with(full));
  // What they hold they hold after a restart, too, and are answered as before.
  rig.start();
  CHECK(rig.prepared("d").starts_with(full));
  CHECK(rig.prepared("a") == "video0 ");
  CHECK(rig.asked("a") == 1);
  CHECK(rig.unprepared("a").empty());
  CHECK(rig.prepared("d") == device_label("video0::0") + ' ');
  CHECK(rig.prepared("c").starts_with("device \"video0\" of example.com/camera has no room for 1"));
}

TEST_CASE("two claims that are asked for at once never have one device") {
  Rig rig;
  rig.times.wait = 100ms;
  rig.put("a", {"video0"});
  rig.put("b", {"video0"});
  rig.start();
  const Texts texts = rig.prepared(std::vector<std::string>{"a", "b"});
  CHECK((texts.at("uid-a") == "video0 ") != (texts.at("uid-b") == "video0 "));
}

TEST_CASE("an unknown claim is given back already, and one is given back as often as the kubelet likes") {
  Rig rig;
  rig.put("a", {"video0"});
  rig.start();
  CHECK(rig.unprepared("a").empty());
  REQUIRE(rig.prepared("a") == "video0 ");
  rig.objects.stop();
  CHECK(rig.unprepared("a").empty());
  CHECK(rig.unprepared("a").empty());
  CHECK(rig.held().empty());
  CHECK(rig.changes == 3);
  bool called = false;
  rig.preparer->unprepare({}, [&](const auto& troubles) { called = troubles.empty(); });
  CHECK(called);
}

TEST_CASE(
    "what is given back while it waits ends with an error, and what is asked for after it begins anew") {
  Rig rig({"video1"});
  rig.put("a", {"video0"});
  rig.start();
  const auto first = rig.prepare({"a"});
  REQUIRE(run_until(rig.loop, [&] { return rig.asked("a") == 1; }));
  const auto back = rig.unprepare("a");
  const auto second = rig.prepare({"a"});
  REQUIRE(run_until(rig.loop, [&] { return first->has_value() && back->has_value(); }));
  CHECK((**first).at("uid-a") == "the claim default/a has been given back before it was prepared");
  CHECK(**back == "");
  rig.pools[kCameraPool] = cameras({"video0"});
  rig.preparer->on_lists();
  REQUIRE(run_until(rig.loop, [&] { return second->has_value(); }));
  CHECK((**second).at("uid-a") == "video0 ");
  CHECK_FALSE(rig.file("a").empty());
}

TEST_CASE("what is given back while its file is written is written first, and then removed") {
  Rig rig;
  rig.put("a", {"video0"});
  rig.start();
  REQUIRE(rig.prepared("a") == "video0 ");
  const auto told = rig.prepare({"a"});  // from memory: it is being written now
  const auto back = rig.unprepare("a");
  REQUIRE(run_until(rig.loop, [&] { return back->has_value(); }));
  REQUIRE(told->has_value());
  CHECK((**told).at("uid-a") == "video0 ");
  CHECK(**back == "");
  CHECK(rig.file("a").empty());
  CHECK(rig.held().empty());
}

TEST_CASE("a file that cannot be written or removed is told, and its devices stay held") {
  Rig rig;
  rig.put("a", {"video0"});
  rig.tree.directory("run/cdi/plughost-claim-uid-a.json/x");
  rig.start();
  CHECK(rig.prepared("a").find("/run/cdi/plughost-claim-uid-a.json cannot be written") != std::string::npos);
  CHECK(rig.unprepared("a").find("/run/cdi/plughost-claim-uid-a.json cannot be removed") !=
        std::string::npos);
  CHECK(rig.held() == "a:video0 ");
  rig.tree.remove("run/cdi/plughost-claim-uid-a.json");
  CHECK(rig.prepared("a") == "video0 ");
  // What was not written was decided on anew.
  CHECK(rig.asked("a") == 2);
  CHECK(rig.unprepared("a").empty());
  CHECK(rig.held().empty());
}

TEST_CASE("a CDI directory that hangs is told, and used when it answers again") {
  Rig rig({"video0", "video1"}, 300ms);
  rig.put("a", {"video0"});
  rig.load();
  rig.tree.directory("run/cdi");
  LeasedProgram hung(rig.path("a"));
  CHECK(rig.prepared("a") ==
        "the directory of CDI specifications, /run/cdi, does not answer: its file system hangs");
  hung.give_back();
  REQUIRE(run_until(rig.loop, [&] { return rig.prepared("a") == "video0 "; }));
  CHECK(rig.file("a").find("CAMERAS=video0") != std::string::npos);
}

TEST_CASE("claims wait for what was prepared before, and say so if it cannot be read") {
  Rig rig;
  rig.times.limit = 100ms;
  rig.put("a", {"video0"});
  rig.tree.file("run/cdi", "a file in the directory's place");
  rig.start();
  REQUIRE(run_until(rig.loop, [&] { return rig.told("which claims are prepared cannot be read") == 1; }));
  const auto told = rig.prepare({"a"});
  const auto back = rig.unprepare("b");
  REQUIRE(run_until(rig.loop, [&] { return told->has_value() && back->has_value(); }));
  const std::string why = (**told).at("uid-a");
  CHECK(
      why.starts_with("the claim default/a could not be looked at within 0 s: the directory of CDI "
                      "specifications, /run/cdi, cannot be read: "));
  CHECK((**back).starts_with("the claim default/b could not be looked at"));
  CHECK(rig.asked("a") == 0);
  rig.tree.remove("run/cdi");
  REQUIRE(run_until(rig.loop, [&] { return rig.preparer->loaded(); }));
  CHECK(rig.prepared_until("a", "video0") == "video0 ");
}

TEST_CASE("files that cannot be read hold nothing, and harm no other claim") {
  Rig rig;
  rig.put("a", {"video0"});
  rig.put("b", {"video1"});
  rig.start();
  REQUIRE(rig.prepared("a") == "video0 ");
  rig.tree.file("run/cdi/plughost-claim-uid-b.json", "{");
  rig.tree.file("run/cdi/plughost-claim-uid-c.json", std::string(100'000, '['));
  rig.tree.file("run/cdi/plughost-claim-uid-d.json", R"({"kind": "no driver/claim"})");
  rig.tree.file("run/cdi/plughost-claim-uid-e.json", R"({"kind": "other.example.com/claim"})");  // another's
  rig.start();
  REQUIRE(run_until(rig.loop, [&] { return rig.preparer->loaded(); }));
  CHECK(rig.held() == "a:video0 ");
  const std::vector<PreparedClaim> idle = rig.preparer->idle();
  REQUIRE(idle.size() == 4);
  CHECK(idle[0].ref == ref_of("a"));
  CHECK(idle[0].devices.size() == 1);
  for (std::size_t n = 1; n < 4; ++n) CHECK(idle[n].ref.name.empty());
  CHECK(rig.prepared("b") == "video1 ");
  CHECK(rig.unprepared("c").empty());
  CHECK(rig.file("c").empty());
  CHECK(rig.preparer->idle().size() == 3);
  CHECK(rig.file("d").find("no driver") != std::string::npos);
}

TEST_CASE("the programs of preStart run for each preparation, when all else is there") {
  Rig rig;
  rig.put("a", {"video0", "video1"});
  Recipe recipe = *rig.pools[kCameraPool]->recipe;
  recipe.pre_start = ProgramRecipe{.timeout = 10s};
  const std::string script = "test -e $1/run/cdi/plughost-claim-uid-a.json && echo x >>$1/ran-$2";
  for (const std::string& word : {std::string("/bin/sh"), std::string("-c"), Template::escape(script),
                                  std::string("sh"), rig.tree.path().string(), std::string("{id}")})
    recipe.pre_start->command.emplace_back(word);
  auto offer = cameras({"video0", "video1"});
  offer->recipe = std::make_shared<const Recipe>(recipe);
  rig.pools[kCameraPool] = offer;
  rig.start();
  CHECK(rig.prepared("a") == "video0 video1 ");
  CHECK(file_text(rig.tree.at("ran-video0")) == "x\n");
  CHECK(file_text(rig.tree.at("ran-video1")) == "x\n");
  // The next plughost: the API server is not needed, but the devices are.
  rig.objects.stop();
  rig.pools.clear();
  rig.start();
  const auto told = rig.prepare({"a"});
  CHECK_FALSE(run_until(
      rig.loop, [&] { return told->has_value(); }, 50ms));
  rig.pools[kCameraPool] = offer;
  rig.preparer->on_lists();
  REQUIRE(run_until(rig.loop, [&] { return told->has_value(); }));
  CHECK(file_text(rig.tree.at("ran-video0")) == "x\nx\n");
}

TEST_CASE("a program of preStart that fails fails the preparation, and the claim keeps its device") {
  Rig rig;
  rig.put("a", {"video0"});
  Recipe recipe = *rig.pools[kCameraPool]->recipe;
  recipe.pre_start = ProgramRecipe{.timeout = 10s};
  for (const char* const word : {"/bin/sh", "-c", "echo no light >&2; exit 3"})
    recipe.pre_start->command.emplace_back(word);
  auto offer = cameras({"video0"});
  offer->recipe = std::make_shared<const Recipe>(recipe);
  rig.pools[kCameraPool] = offer;
  rig.start();
  const std::string why = rig.prepared("a");
  CHECK(why.starts_with("device \"video0\" is not ready: "));
  CHECK(why.find("no light") != std::string::npos);
  CHECK(rig.held() == "a:video0 ");
  CHECK(rig.unprepared("a").empty());
}

// Cameras whose program of preStart waits for the test.
std::shared_ptr<Offer> waiting_cameras(const TempDir& dir, const std::vector<std::string>& ids) {
  auto offer = cameras(ids);
  Recipe recipe = *offer->recipe;
  recipe.pre_start = ProgramRecipe{.timeout = 10s};
  for (const std::string& word : {std::string("/bin/sh"), std::string("-c"), Template::escape(kWaiting),
                                  std::string("sh"), dir.path().string(), std::string("{id}")})
    recipe.pre_start->command.emplace_back(word);
  offer->recipe = std::make_shared<const Recipe>(recipe);
  return offer;
}

TEST_CASE("what is given back while its program of preStart runs is answered first, and then removed") {
  Rig rig;
  rig.put("a", {"video0"});
  rig.pools[kCameraPool] = waiting_cameras(rig.tree, {"video0"});
  rig.start();
  const auto told = rig.prepare({"a"});
  REQUIRE(run_until(rig.loop, [&] { return begun(rig.tree) == 1; }));
  CHECK(rig.preparer->idle().empty());
  const auto back = rig.unprepare("a");
  CHECK_FALSE(run_until(
      rig.loop, [&] { return told->has_value() || back->has_value(); }, 50ms));
  let_go(rig.tree);
  REQUIRE(run_until(rig.loop, [&] { return back->has_value(); }));
  REQUIRE(told->has_value());
  CHECK((**told).at("uid-a") == "video0 ");
  CHECK(rig.file("a").empty());
}

TEST_CASE("a program of preStart has more time than a claim waits for a device") {
  Rig rig({"video1"});
  rig.times.wait = 200ms;
  rig.put("a", {"video0"});
  rig.start();
  auto told = rig.prepare({"a"});
  REQUIRE(run_until(rig.loop, [&] { return rig.asked("a") == 1; }));
  run_until(
      rig.loop, [&] { return told->has_value(); }, 20ms);
  rig.pools[kCameraPool] = waiting_cameras(rig.tree, {"video0"});
  rig.preparer->on_lists();
  if (told->has_value()) told = rig.prepare({"a"});
  REQUIRE(run_until(rig.loop, [&] { return begun(rig.tree) == 1; }));
  CHECK_FALSE(run_until(
      rig.loop, [&] { return told->has_value(); }, 300ms));
  let_go(rig.tree);
  REQUIRE(run_until(rig.loop, [&] { return told->has_value(); }));
  CHECK((**told).at("uid-a") == "video0 ");
}

TEST_CASE("a program of preStart that outlives the call is told, and the claim keeps its device") {
  Rig rig;
  rig.put("a", {"video0"});
  rig.pools[kCameraPool] = waiting_cameras(rig.tree, {"video0"});
  let_go(rig.tree);
  rig.start();
  REQUIRE(rig.prepared("a") == "video0 ");
  rig.tree.remove("go");
  rig.tree.remove("begun-video0");
  rig.times.limit = 3s;
  rig.start();
  REQUIRE(run_until(rig.loop, [&] { return rig.preparer->loaded(); }));
  const auto told = rig.prepare({"a"});
  REQUIRE(run_until(rig.loop, [&] { return begun(rig.tree) == 1; }));
  REQUIRE(run_until(
      rig.loop, [&] { return told->has_value(); }, 15s));
  CHECK((**told).at("uid-a") == "the program of preStart has not ended");
  CHECK(rig.held() == "a:video0 ");
}

TEST_CASE("the programs of several pools have all ended before a claim is answered") {
  const std::string lenses = "worker-1/example.com/lens";
  Rig rig;
  rig.pools[kCameraPool] = waiting_cameras(rig.tree, {"video0"});
  auto lens = waiting_cameras(rig.tree, {"lens0"});
  lens->resource = "example.com/lens";
  Recipe recipe = *lens->recipe;
  recipe.env.clear();
  recipe.pre_start->command = {Template("/bin/true")};
  lens->recipe = std::make_shared<const Recipe>(recipe);
  rig.pools[lenses] = lens;
  Json claim = claim_object("a", {"video0"});
  claim["status"]["allocation"]["devices"]["results"].push_back(
      {{"request", "lens"}, {"driver", kDriver}, {"pool", lenses}, {"device", "lens0"}});
  rig.objects.put(kClaims, claim);
  rig.start();
  const auto told = rig.prepare({"a"});
  REQUIRE(run_until(rig.loop, [&] { return begun(rig.tree) == 1; }));
  CHECK_FALSE(run_until(
      rig.loop, [&] { return told->has_value(); }, 100ms));
  let_go(rig.tree);
  REQUIRE(run_until(rig.loop, [&] { return told->has_value(); }));
  CHECK((**told).at("uid-a") == "video0 lens0 ");
}

TEST_CASE("a program of preStart waits for the device also where the pool is known") {
  Rig rig;
  rig.put("a", {"video0"});
  auto offer = cameras({"video0"});
  Recipe recipe = *offer->recipe;
  recipe.pre_start = ProgramRecipe{.timeout = 10s};
  recipe.pre_start->command = {Template("/bin/true")};
  offer->recipe = std::make_shared<const Recipe>(recipe);
  rig.pools[kCameraPool] = offer;
  rig.start();
  REQUIRE(rig.prepared("a") == "video0 ");
  rig.pools[kCameraPool] = cameras({"video1"});
  const auto told = rig.prepare({"a"});
  CHECK_FALSE(run_until(
      rig.loop, [&] { return told->has_value(); }, 50ms));
  rig.pools[kCameraPool] = offer;
  rig.preparer->on_lists();
  REQUIRE(run_until(rig.loop, [&] { return told->has_value(); }));
  CHECK((**told).at("uid-a") == "video0 ");
}

TEST_CASE("news of other devices do not give a claim more time to wait") {
  Rig rig({"video1"});
  rig.times.wait = 50ms;
  rig.put("a", {"video0"});
  rig.start();
  const auto told = rig.prepare({"a"});
  REQUIRE(run_until(rig.loop, [&] {
    rig.preparer->on_lists();
    return told->has_value();
  }));
  CHECK((**told).at("uid-a") == "example.com/camera lists no device \"video0\" now");
}

TEST_CASE("a claim is asked for again when the API server says so, and not before") {
  Rig rig;
  rig.put("a", {"video0"});
  rig.objects.refuse("GET " + kClaims, 429, 1, "Retry-After: 1\r\n");
  rig.start();
  const auto began = std::chrono::steady_clock::now();
  CHECK(rig.prepared("a") == "video0 ");
  CHECK(std::chrono::steady_clock::now() - began >= 1s);
  CHECK(rig.asked("a") == 2);
}

TEST_CASE("a claim that is worked on is not idle, nor a file that is removed") {
  Rig rig;
  rig.put("a", {"video0"});
  rig.start();
  REQUIRE(rig.prepared("a") == "video0 ");
  rig.tree.file("run/cdi/plughost-claim-uid-b.json", "{");
  rig.start();
  REQUIRE(run_until(rig.loop, [&] { return rig.preparer->loaded(); }));
  CHECK(rig.preparer->idle().size() == 2);
  const auto told = rig.prepare({"a"});
  REQUIRE(rig.preparer->idle().size() == 1);
  CHECK(rig.preparer->idle()[0].ref.uid == "uid-b");
  const auto back = rig.unprepare("b");
  CHECK(rig.preparer->idle().empty());
  REQUIRE(run_until(rig.loop, [&] { return told->has_value() && back->has_value(); }));
  REQUIRE(rig.preparer->idle().size() == 1);
  CHECK(rig.preparer->idle()[0].ref == ref_of("a"));
}

TEST_CASE("what no pod has any more is cleared away, and its devices are free") {
  Rig rig;
  rig.put("a", {"video0"});
  rig.start();
  REQUIRE(rig.prepared("a") == "video0 ");
  rig.preparer->clear(ref_of("a"));
  REQUIRE(run_until(rig.loop, [&] { return rig.preparer->claims().empty(); }));
  CHECK(rig.file("a").empty());
}

TEST_CASE("the kubelet waits for 45 seconds, and is answered before") {
  const ClaimPreparer::Times times;
  CHECK(times.wait < times.limit);
  CHECK(times.limit < 45s);
}

TEST_CASE("another CDI directory gets the files of all that is prepared") {
  Rig rig;
  rig.put("a", {"video0"});
  rig.start();
  REQUIRE(rig.prepared("a") == "video0 ");
  rig.cdi = std::make_unique<CdiWriter>(rig.workers, HostRoot(rig.tree.path()), "/etc/cdi", "plughost", 2s);
  rig.preparer->write_again();
  const auto file = rig.tree.at("etc/cdi/plughost-claim-uid-a.json");
  REQUIRE(run_until(rig.loop, [&] { return std::filesystem::exists(file); }));
  CHECK(file_text(file, std::size_t{1} << 20u) == rig.file("a"));
}

TEST_CASE("who ends while claims wait answers nobody any more") {
  Rig rig({"video1"});
  rig.put("a", {"video0"});
  rig.start();
  const auto told = rig.prepare({"a"});
  REQUIRE(run_until(rig.loop, [&] { return rig.asked("a") == 1; }));
  rig.preparer.reset();
  run_once(rig.loop);
  CHECK_FALSE(told->has_value());
}

}  // namespace
}  // namespace plughost
