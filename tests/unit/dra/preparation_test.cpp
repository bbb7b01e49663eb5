#include "dra/preparation.hpp"

#include <doctest/doctest.h>

#include "device/cdi.hpp"
#include "dra/names.hpp"
#include "dra/terms.hpp"

namespace plughost {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kDriver = "plughost.example.com";
constexpr const char* kPool = "node-a/example.com/camera";
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30u;

Device camera(const std::string& id) {
  Device device;
  device.id = id;
  device.nodes = {{.host_path = "/dev/" + id, .container_path = "/dev/" + id}};
  return device;
}

Recipe recipe_of_cameras() {
  Recipe recipe;
  recipe.cdi = CdiNames::kCri;
  recipe.dra = std::make_shared<const DraTerms>();
  recipe.env = {{Template("CAMERAS"), Template("{id}")}};
  return recipe;
}

Recipe recipe_of_cards(CardUnit unit) {
  Recipe recipe = recipe_of_cameras();
  recipe.units = CardUnits::kOfOneCard;
  recipe.dra = std::make_shared<const DraTerms>(DraTerms{.unit = unit});
  recipe.env = {{Template("UNITS"), Template("{units} of {cardUnits}")}};
  return recipe;
}

AllocatedDevice of(const std::string& request, const std::string& device, const std::string& pool = kPool) {
  return {.request = request, .pool = pool, .device = device};
}

AllocatedDevice share(const std::string& device, const std::string& capacity, std::int64_t amount) {
  AllocatedDevice allocated = of("camera", device);
  allocated.share_id = "5b0f";
  allocated.consumed = {{capacity, amount}};
  return allocated;
}

// A node whose pools are the test's.
struct NodeOfTest {
  OfferPools pools;
  std::vector<PreparedClaim> held;
  Claim claim;

  NodeOfTest() {
    claim.ref = {.uid = "u-1", .name_space = "default", .name = "one"};
    claim.allocated = true;
    claim.consumers = {{.uid = "p-1", .name = "pod"}};
  }
  Offer& pool(std::vector<Device> devices, const Recipe& recipe = recipe_of_cameras(),
              const std::string& resource = "example.com/camera") {
    const auto offer = std::make_shared<Offer>();
    offer->resource = resource;
    offer->inventory = Inventory(std::move(devices));
    offer->recipe = std::make_shared<const Recipe>(recipe);
    pools["node-a/" + resource] = offer;
    return *offer;
  }
  void hold(const AllocatedDevice& allocated, const std::string& uid = "u-2") {
    const std::string resource = allocated.pool.substr(allocated.pool.find('/') + 1);
    std::string id = allocated.device;
    const auto its = pools.find("node-a/" + resource);
    const auto found =
        its == pools.end() ? std::nullopt : find_advertised(its->second->inventory, allocated.device);
    if (found) id = found->device->id;
    held.push_back({.ref = {.uid = uid, .name_space = "other", .name = "two"},
                    .devices = {{.allocated = allocated, .cdi = {cdi_qualified_name(resource, id)}}},
                    .consumers = {}});
  }
  std::variant<ReadyClaim, ClaimWait, ClaimRefusal> outcome() const {
    std::vector<const PreparedClaim*> others;
    for (const PreparedClaim& each : held) others.push_back(&each);
    return prepare_claim(claim.ref, claim, {.driver = kDriver, .pools = pools, .others = others});
  }
  ReadyClaim ready() const {
    auto result = outcome();
    CAPTURE(text());
    REQUIRE(std::holds_alternative<ReadyClaim>(result));
    return std::get<ReadyClaim>(std::move(result));
  }
  // "wait: …", "no: …", or nothing.
  std::string text() const {
    const auto result = outcome();
    if (const auto* const wait = std::get_if<ClaimWait>(&result)) return "wait: " + wait->why;
    if (const auto* const no = std::get_if<ClaimRefusal>(&result)) return "no: " + no->why;
    return {};
  }
};

TEST_CASE("a claim's devices have their own names first, and what their request brings together after them") {
  NodeOfTest node;
  node.pool({camera("video0"), camera("video1"), camera("video2")});
  node.claim.devices = {of("camera", "video2"), of("camera", "video0")};
  const ReadyClaim ready = node.ready();
  CHECK(ready.claim.ref == node.claim.ref);
  CHECK(ready.claim.consumers == node.claim.consumers);
  REQUIRE(ready.claim.devices.size() == 2);
  CHECK(ready.claim.devices[0].allocated == node.claim.devices[0]);
  CHECK(ready.claim.devices[0].cdi ==
        Names{"example.com/camera=video2", "plughost.example.com/claim=u-1-camera"});
  CHECK(ready.claim.devices[1].cdi ==
        Names{"example.com/camera=video0", "plughost.example.com/claim=u-1-camera"});
  CHECK_FALSE(ready.claim.devices[0].pre_start);
  CHECK(ready.claim.devices[0].identity == identity_of(camera("video2")));
  REQUIRE(ready.edits.size() == 1);
  CHECK(ready.edits.at("camera") == CdiEdits{.env = {{"CAMERAS", "video2,video0"}}});
}

TEST_CASE("a request that brings nothing beside its devices has no name of the claim's") {
  NodeOfTest node;
  Recipe plain = recipe_of_cameras();
  plain.env.clear();
  plain.pre_start = ProgramRecipe{};
  node.pool({camera("video0")}, plain);
  node.claim.devices = {of("camera/small", "video0")};
  const ReadyClaim ready = node.ready();
  CHECK(ready.edits.empty());
  CHECK(ready.claim.devices.at(0).cdi == Names{"example.com/camera=video0"});
  CHECK(ready.claim.devices.at(0).pre_start);
}

TEST_CASE("a device that its pool names by a label has its id's name in CDI") {
  NodeOfTest node;
  node.pool({camera("Video 0")});
  node.claim.devices = {of("camera", device_label("Video 0"))};
  CHECK(node.ready().claim.devices.at(0).cdi.front() == "example.com/camera=Video_x200");
  node.claim.devices = {of("camera", "video-0")};
  CHECK(node.text() == "wait: example.com/camera lists no device \"video-0\" now");
}

TEST_CASE("what the kind names in CDI comes between the device's own name and the claim's") {
  NodeOfTest node;
  auto kind = std::make_shared<KindRecipe>();
  kind->cdi = {Template("nvidia.com/gpu={id}"), Template("nvidia.com/all=all")};
  Device one = camera("gpu0");
  Device two = camera("gpu1");
  one.recipe = two.recipe = kind;
  node.pool({one, two});
  node.claim.devices = {of("camera", "gpu0"), of("camera", "gpu1")};
  CHECK(node.ready().claim.devices[1].cdi == Names{"example.com/camera=gpu1", "nvidia.com/gpu=gpu1",
                                                   "nvidia.com/all=all",
                                                   "plughost.example.com/claim=u-1-camera"});
}

TEST_CASE("what passes is waited for, with a sentence that says what") {
  NodeOfTest node;
  node.claim.devices = {of("camera", "video0")};
  CHECK(
      node.text() ==
      "wait: pool \"node-a/example.com/camera\" is no entry's of the configuration that is in force on this "
      "node, or its devices are not known yet");
  node.pool({camera("video1")});
  CHECK(node.text() == "wait: example.com/camera lists no device \"video0\" now");
  Device sick = camera("video0");
  sick.trouble = "its cable is loose";
  node.pool({sick});
  CHECK(node.text() == "wait: device \"video0\" of example.com/camera is Unhealthy: its cable is loose");
  node.pool({camera("video0")}).stall = "the scan hangs";
  CHECK(node.text() == "wait: example.com/camera: the scan hangs");
  node.pool({camera("video0")});
  Device taken = camera("video0");
  taken.taken = {0};
  taken.taken_by = "held by pod default/old";
  node.pool({taken});
  CHECK(node.text() == "wait: device \"video0\" of example.com/camera is in use: held by pod default/old");
  node.pool({camera("video0")});
  CHECK(node.text().empty());
}

TEST_CASE("a device that another claim holds is waited for, and not one that it holds for administration") {
  NodeOfTest node;
  node.pool({camera("video0"), camera("video1")});
  node.claim.devices = {of("camera", "video0")};
  node.hold(of("x", "video1"));
  node.hold(of("x", "video0", "node-a/example.com/other"));
  CHECK(node.text().empty());
  AllocatedDevice admin = of("x", "video0");
  admin.admin_access = true;
  node.hold(admin);
  CHECK(node.text().empty());
  node.hold(of("x", "video0"));
  CHECK(node.text() ==
        "wait: device \"video0\" of example.com/camera is still held by claim other/two, which has not been "
        "given "
        "back");
  // It holds it itself, as a former answer has it.
  node.held.back().ref.uid = "u-1";
  CHECK(node.text().empty());
}

TEST_CASE("admin access is given whoever holds the device") {
  NodeOfTest node;
  Device taken = camera("video0");
  taken.taken = {0};
  taken.taken_by = "held by pod default/old";
  node.pool({taken});
  node.hold(of("x", "video0"));
  AllocatedDevice admin = of("watch", "video0");
  admin.admin_access = true;
  node.claim.devices = {admin};
  const ReadyClaim ready = node.ready();
  CHECK(ready.claim.devices.at(0).allocated.admin_access);
  CHECK(ready.edits.at("watch").env.at("CAMERAS") == "video0");
}

TEST_CASE("two requests of one claim may have one device, where one of them is for administration") {
  NodeOfTest node;
  Recipe plain = recipe_of_cameras();
  plain.env.clear();
  node.pool({camera("video0")}, plain);
  AllocatedDevice admin = of("watch", "video0");
  admin.admin_access = true;
  node.claim.devices = {of("camera", "video0"), admin};
  const ReadyClaim ready = node.ready();
  REQUIRE(ready.claim.devices.size() == 2);
  CHECK(ready.claim.answer()[0].requests == Names{"camera"});
  CHECK(ready.claim.answer()[1].requests == Names{"watch"});
  CHECK(ready.claim.devices[0].cdi == ready.claim.devices[1].cdi);
  node.claim.devices[1].admin_access = false;
  CHECK(
      node.text() ==
      "no: device \"video0\" of example.com/camera is allocated to this claim more often than it can be had");
}

TEST_CASE("a claim that is not the one that was asked for is refused, and one without our devices") {
  NodeOfTest node;
  node.pool({camera("video0")});
  node.claim.devices = {of("camera", "video0")};
  const ClaimRef asked{.uid = "u-0", .name_space = "default", .name = "one"};
  const std::vector<const PreparedClaim*> others;
  const ClaimSurroundings around{.driver = kDriver, .pools = node.pools, .others = others};
  const auto other = prepare_claim(asked, node.claim, around);
  REQUIRE(std::holds_alternative<ClaimRefusal>(other));
  CHECK(std::get<ClaimRefusal>(other).why ==
        "the API server has another claim default/one by now, with the UID u-1 and not u-0");
  node.claim.allocated = false;
  CHECK(node.text() == "no: no devices are allocated to the claim default/one");
  node.claim.allocated = true;
  node.claim.devices.clear();
  CHECK(node.text() ==
        "no: no device of the driver plughost.example.com is allocated to the claim default/one");
}

TEST_CASE("variables that join devices are refused where two requests would have them differ") {
  NodeOfTest node;
  node.pool({camera("video0"), camera("video1")});
  node.claim.devices = {of("left", "video0"), of("right", "video1")};
  CHECK(node.text() ==
        "no: several requests of the claim have devices of example.com/camera, and in a container that has "
        "them "
        "all the environment variable CAMERAS would be both \"video0\" and \"video1\"; ask for them in one "
        "request, with a count, or in several claims");
  Recipe constant = recipe_of_cameras();
  constant.env = {{Template("MODE"), Template("fast")}};
  node.pool({camera("video0"), camera("video1")}, constant);
  const ReadyClaim ready = node.ready();
  CHECK(ready.edits.size() == 2);
  CHECK(ready.edits.at("right").env.at("MODE") == "fast");
  CHECK(ready.claim.devices[1].cdi.back() == "plughost.example.com/claim=u-1-right");
}

TEST_CASE("two devices in one place of a container are refused, in one request and in two") {
  NodeOfTest node;
  Device one = camera("video0");
  Device two = camera("video1");
  one.nodes = {{.host_path = "/dev/video0", .container_path = "/dev/camera"}};
  two.nodes = {{.host_path = "/dev/video1", .container_path = "/dev/camera"}};
  node.pool({one, two});
  node.claim.devices = {of("left", "video0"), of("left", "video1")};
  CHECK(node.text().find("/dev/camera in the container would be both device /dev/video0") !=
        std::string::npos);
  node.claim.devices = {of("left", "video0"), of("right", "video1")};
  CHECK(node.text().find(
            "/dev/camera in the container would be both device /dev/video0 and device /dev/video1") !=
        std::string::npos);
  one.nodes.clear();
  two.nodes.clear();
  one.mounts = {{.host_path = "/a", .container_path = "/camera"}};
  two.mounts = {{.host_path = "/b", .container_path = "/camera"}};
  node.pool({one, two});
  CHECK(node.text().find("/camera in the container would be both mount /a and mount /b") !=
        std::string::npos);
}

TEST_CASE("a request may have devices of several entries, unless these contradict each other") {
  NodeOfTest node;
  node.pool({camera("video0")});
  Recipe sound = recipe_of_cameras();
  sound.env = {{Template("CARDS"), Template("{id}")}};
  node.pool({camera("card0")}, sound, "example.com/sound");
  node.claim.devices = {of("all", "video0"), of("all", "card0", "node-a/example.com/sound")};
  CHECK(node.ready().edits.at("all").env ==
        std::map<std::string, std::string>{{"CAMERAS", "video0"}, {"CARDS", "card0"}});
  sound.env = {{Template("CAMERAS"), Template("none")}};
  node.pool({camera("card0")}, sound, "example.com/sound");
  CHECK(
      node.text().starts_with("no: request \"all\" has devices of several entries, and with them the "
                              "environment variable CAMERAS would be both"));
  // In two requests it is the pod's own affair: no container need have both.
  node.claim.devices[1].request = "sound";
  CHECK(node.text().empty());
}

TEST_CASE("the units of a card are what the claim consumes of its memory") {
  NodeOfTest node;
  Device card = camera("gpu0");
  card.replicas = 24;
  node.pool({card}, recipe_of_cards({.memory = kGiB, .cores = 0}));
  node.claim.devices = {share("gpu0", "memory", 8 * kGiB)};
  CHECK(node.ready().edits.at("camera").env.at("UNITS") == "8 of 24");
  node.claim.devices = {share("gpu0", "memory", kGiB + 1)};
  CHECK(node.ready().edits.at("camera").env.at("UNITS") == "2 of 24");
  node.claim.devices = {of("camera", "gpu0")};
  CHECK(node.ready().edits.at("camera").env.at("UNITS") == "24 of 24");
  node.claim.devices = {share("gpu0", "memory", 25 * kGiB)};
  CHECK(node.text().starts_with(
      "no: device \"gpu0\" of example.com/camera is allocated to this claim more often"));
}

TEST_CASE("the units of a card are what the claim consumes of its cores") {
  NodeOfTest node;
  Device card = camera("gpu0");
  card.replicas = 10;
  node.pool({card}, recipe_of_cards({.memory = 0, .cores = 10}));
  node.claim.devices = {share("gpu0", "cores", 30)};
  CHECK(node.ready().edits.at("camera").env.at("UNITS") == "3 of 10");
}

TEST_CASE("claims share a device up to its last share, and no further") {
  NodeOfTest node;
  Device card = camera("gpu0");
  card.replicas = 4;
  node.pool({card}, recipe_of_cards({.memory = kGiB, .cores = 0}));
  node.claim.devices = {share("gpu0", "memory", 2 * kGiB)};
  node.hold(share("gpu0", "memory", kGiB));
  node.hold(share("gpu0", "memory", kGiB), "u-3");
  CHECK(node.text().empty());
  node.claim.devices = {share("gpu0", "memory", 3 * kGiB)};
  CHECK(node.text().starts_with(
      "wait: device \"gpu0\" of example.com/camera has no room for 3Gi of its 4Gi memory: claim other/two "
      "holds 1Gi, claim other/two holds 1Gi; "));
  // Two shares of one claim.
  node.held.clear();
  node.claim.devices = {share("gpu0", "memory", 3 * kGiB), share("gpu0", "memory", kGiB)};
  node.claim.devices[1].share_id = "6c";
  const ReadyClaim ready = node.ready();
  CHECK(ready.edits.at("camera").env.at("UNITS") == "4 of 4");
  CHECK(ready.claim.answer()[0].share_id == "5b0f");
  CHECK(ready.claim.answer()[1].share_id == "6c");
}

TEST_CASE("what a claim has already counts with what others have") {
  NodeOfTest node;
  Device shared = camera("video0");
  shared.replicas = 2;
  node.pool({shared});
  node.claim.devices = {share("video0", "shares", 1), share("video0", "shares", 1)};
  node.claim.devices[1].share_id = "6c";
  CHECK(node.text().empty());
  node.hold(share("video0", "shares", 1));
  CHECK(node.text().starts_with(
      "wait: device \"video0\" of example.com/camera has no room for 2 of its 2 shares: "));
  // Two shares are two ids.
  node.held.clear();
  shared.replicas = 3;
  node.pool({shared}, recipe_of_cards({.memory = kGiB, .cores = 0}));
  node.claim.devices = {share("video0", "memory", 1), share("video0", "memory", 1)};
  CHECK(node.ready().edits.at("camera").env.at("UNITS") == "2 of 3");
}

TEST_CASE(
    "what a claim takes of a device is one at least, and all of it where nothing is said of its parts") {
  Offer offer;
  offer.recipe = std::make_shared<const Recipe>(recipe_of_cards({.memory = kGiB, .cores = 0}));
  Device card = camera("gpu0");
  card.replicas = 4;
  const AdvertisedDevice whole{.device = &card, .replica = std::nullopt};
  CHECK(replicas_taken(offer, whole, of("r", "gpu0")) == 4);
  CHECK(replicas_taken(offer, whole, share("gpu0", "memory", 0)) == 1);
  CHECK(replicas_taken(offer, whole, share("gpu0", "memory", 99 * kGiB)) == 5);
  CHECK(replicas_taken(offer, {.device = &card, .replica = 2}, of("r", "gpu0")) == 1);
  offer.recipe = std::make_shared<const Recipe>(recipe_of_cards({.memory = 0, .cores = 0}));
  CHECK(replicas_taken(offer, whole, share("gpu0", "memory", kGiB)) == 4);
  // One that is not divided further is one, whatever is asked of it.
  card.replicas = 1;
  CHECK(replicas_taken(offer, whole, share("gpu0", "memory", 99 * kGiB)) == 1);
}

TEST_CASE("a share of a device with replicas is one of them, unless the claim says more") {
  NodeOfTest node;
  Device shared = camera("video0");
  shared.replicas = 3;
  node.pool({shared});
  node.claim.devices = {of("camera", "video0")};
  node.hold(share("video0", "shares", 2));
  CHECK(node.text().empty());
  node.claim.devices = {share("video0", "shares", 2)};
  CHECK(node.text().starts_with("wait: "));
  Recipe one_only = recipe_of_cameras();
  one_only.one_share_only = true;
  node.held.clear();
  node.pool({shared}, one_only);
  CHECK(node.text() == "no: a container may have one share of example.com/camera, and this one asks for 2");
}

TEST_CASE("replicas that are devices of their own are each held once") {
  NodeOfTest node;
  Device shared = camera("video0");
  shared.replicas = 3;
  node.pool({shared});
  node.claim.devices = {of("camera", device_label("video0::2"))};
  CHECK(node.ready().claim.devices.at(0).cdi.front() == "example.com/camera=video0");
  node.hold(of("x", device_label("video0::1")));
  CHECK(node.text().empty());
  node.hold(of("x", device_label("video0::2")));
  CHECK(node.text().starts_with("wait: "));
  for (const std::string& name : {device_label("video0::3"), device_label("video0::02"),
                                  std::string("video0-2"), std::string("video00")}) {
    CAPTURE(name);
    node.claim.devices = {of("camera", name)};
    CHECK(node.text().starts_with("wait: example.com/camera lists no device"));
  }
}

TEST_CASE("replicas that a device has no more are held by the claims that have them") {
  NodeOfTest node;
  Device shared = camera("video0");
  shared.replicas = 3;
  node.pool({shared});
  node.hold(of("x", device_label("video0::2")));
  shared.replicas = 1;
  node.pool({shared});
  node.claim.devices = {of("camera", "video0")};
  CHECK(node.text().starts_with("wait: device \"video0\" of example.com/camera is still held"));
  shared.replicas = 2;
  node.pool({shared});
  CHECK(node.text().empty());
  node.claim.devices = {share("video0", "shares", 1), share("video0", "shares", 1)};
  CHECK(node.text().starts_with(
      "wait: device \"video0\" of example.com/camera has no room for 2 of its 2 shares"));
  // As a former answer of its own.
  node.held.back().ref.uid = "u-1";
  CHECK(node.text().empty());
}

TEST_CASE("what a pod has by the kubelet's ids and what claims have is no more than there is") {
  NodeOfTest node;
  Device shared = camera("video0");
  shared.replicas = 2;
  shared.taken = {0};
  shared.taken_by = "held by pod default/old";
  node.pool({shared});
  node.claim.devices = {of("camera", "video0")};
  CHECK(node.text().empty());
  node.hold(of("x", "video0"));
  CHECK(node.text().find("claim other/two holds 1, and 1 of its 2 replicas are in use: held by pod") !=
        std::string::npos);
  // In two requests it is no otherwise.
  node.held.clear();
  node.claim.devices = {of("left", "video0"), of("right", "video0")};
  CHECK(node.text() == "wait: device \"video0\" of example.com/camera is in use: held by pod default/old");
}

TEST_CASE("units of two cards in one request are refused as they are for plugins") {
  NodeOfTest node;
  Device one = camera("gpu0");
  Device two = camera("gpu1");
  one.replicas = two.replicas = 4;
  node.pool({one, two}, recipe_of_cards({.memory = kGiB, .cores = 0}));
  node.claim.devices = {share("gpu0", "memory", kGiB), share("gpu1", "memory", kGiB)};
  CHECK(node.text().find("the units of a container are one card's") != std::string::npos);
}

TEST_CASE("shares that are taken by other ids are not given, and that is waited for") {
  NodeOfTest node;
  Device shared = camera("video0");
  shared.replicas = 2;
  shared.taken = {0};
  shared.taken_by = "a pod holds it by its former id";
  node.pool({shared});
  node.claim.devices = {of("camera", "video0")};
  CHECK(node.text().empty());
  node.claim.devices = {share("video0", "shares", 2)};
  CHECK(node.text() ==
        "wait: device \"video0\" of example.com/camera is in use: a pod holds it by its former id");
  node.claim.devices = {of("camera", device_label("video0::0"))};
  CHECK(node.text().starts_with("wait: device \"video0\""));
  node.claim.devices = {of("camera", device_label("video0::1"))};
  CHECK(node.text().empty());
}

Device mig(const std::string& id, const std::string& card) {
  Device made = camera(id);
  made.attributes = {{"uuid", id}, {"card", card}};
  return made;
}

TEST_CASE("a whole card and its parts are never two claims'") {
  NodeOfTest node;
  node.pool({mig("mig-x", "gpu-a"), mig("mig-y", "gpu-a"), mig("mig-z", "gpu-b"), mig("gpu-a", "gpu-a"),
             mig("gpu-b", "gpu-b")});
  node.hold(of("camera", "mig-x"));
  node.claim.devices = {of("camera", "gpu-a")};
  CHECK(node.text() ==
        "wait: device \"mig-x\" of example.com/camera, which has a part in common with \"gpu-a\", is still "
        "held "
        "by claim other/two, which has not been given back");
  node.claim.devices = {of("camera", "mig-y")};
  CHECK(node.text().empty());
  node.claim.devices = {of("camera", "gpu-b")};
  CHECK(node.text().empty());
  node.hold(of("camera", "gpu-b"), "u-3");
  node.claim.devices = {of("camera", "mig-z")};
  CHECK(node.text().starts_with("wait: device \"gpu-b\" of example.com/camera, which has a part in common"));
  node.held.back().devices[0].allocated.admin_access = true;
  CHECK(node.text().empty());
  node.held.pop_back();
  node.hold(of("camera", "gpu-b", "node-a/example.com/other"), "u-3");
  CHECK(node.text().empty());
}

TEST_CASE("a whole card is waited for while the kubelet has given one of its parts away") {
  NodeOfTest node;
  std::vector<Device> devices{mig("mig-x", "gpu-a"), mig("mig-z", "gpu-b"), mig("gpu-a", "gpu-a"),
                              mig("gpu-b", "gpu-b")};
  devices[0].taken = {0};
  devices[0].taken_by = "held by pod default/old";
  node.pool(devices);
  node.claim.devices = {of("camera", "gpu-a")};
  CHECK(node.text() ==
        "wait: device \"mig-x\" of example.com/camera, which is a part of \"gpu-a\", is in use: held by pod "
        "default/old");
  node.claim.devices = {of("camera", "gpu-b")};
  CHECK(node.text().empty());
}

TEST_CASE("one claim that has a card and a part of it is refused") {
  NodeOfTest node;
  node.pool({mig("mig-x", "gpu-a"), mig("gpu-a", "gpu-a")});
  node.claim.devices = {of("camera", "gpu-a"), of("camera", "mig-x")};
  CHECK(node.text().find("one is a part of the other") != std::string::npos);
  CHECK(node.text().starts_with("no: "));
}

TEST_CASE("a refusal comes before a wait: it will not be otherwise") {
  NodeOfTest node;
  node.pool({camera("video0")});
  node.claim.devices = {of("camera", "missing"), of("camera", "video0"), of("camera", "video0")};
  CHECK(node.text().starts_with("no: "));
}

TEST_CASE("of several reasons the first is told") {
  NodeOfTest node;
  node.pool({camera("video0"), camera("video1")});
  node.claim.devices = {of("a", "gone-1"), of("b", "gone-2")};
  CHECK(node.text() == "wait: example.com/camera lists no device \"gone-1\" now");
  node.claim.devices = {of("a", "video0"), of("b", "video0"), of("c", "video1"), of("d", "video1")};
  CHECK(node.text().find("\"video0\"") != std::string::npos);
}

TEST_CASE("a mount that two entries bring alike is one mount") {
  NodeOfTest node;
  Recipe recipe = recipe_of_cameras();
  recipe.env.clear();
  recipe.mounts = {{.host_path = Template("/etc/cameras"), .container_path = Template("/etc/cameras")}};
  node.pool({camera("video0")}, recipe);
  node.pool({camera("card1")}, recipe, "example.com/sound");
  node.claim.devices = {of("all", "video0"), of("all", "card1", "node-a/example.com/sound")};
  CHECK(node.text().empty());
}

TEST_CASE("a claim of the node's former name holds its device under the present one, too") {
  NodeOfTest node;
  node.pool({camera("video0")});
  node.claim.devices = {of("camera", "video0")};
  node.hold(of("camera", "video0", "node-before/example.com/camera"));
  CHECK(node.text().starts_with("wait: device \"video0\" of example.com/camera is still held"));
  node.held.clear();
  node.hold(of("camera", "video0", "node-a/example.com/other"));
  CHECK(node.text().empty());
}

TEST_CASE("the edits of a request are its devices' own and the claim's") {
  NodeOfTest node;
  node.pool({camera("video0"), camera("video1")});
  node.claim.devices = {of("camera/small", "video0")};
  const ReadyClaim ready = node.ready();
  const auto edits = request_edits(ready, "camera", node.pools);
  REQUIRE(edits);
  CHECK(edits->env == std::map<std::string, std::string>{{"CAMERAS", "video0"}});
  REQUIRE(edits->nodes.size() == 1);
  CHECK(edits->nodes[0].host_path == "/dev/video0");
  CHECK(request_edits(ready, "other", node.pools)->empty());
  node.pool({camera("video1")});
  CHECK_FALSE(request_edits(ready, "camera", node.pools));
  CHECK_FALSE(request_edits(ready, "camera", {}));
}

Device uplink(const std::string& id) {
  Device device;
  device.id = id;
  device.attributes = {{"name", id}};
  return device;
}

Recipe moving(const char* name) {
  Recipe recipe = recipe_of_cameras();
  recipe.env.clear();
  recipe.net_devices = {{.host_name = Template("{name}"), .name = Template(name)}};
  return recipe;
}

TEST_CASE("a device whose interface is away is waited for") {
  NodeOfTest node;
  Device away = uplink("eth1");
  away.away = true;
  node.pool({away}, moving("net1"));
  node.claim.devices = {of("uplink", "eth1")};
  CHECK(node.text() ==
        "wait: the network interface of device \"eth1\" of example.com/camera is in the container that had "
        "it, and not back on the host yet");
  node.claim.devices[0].admin_access = true;
  CHECK(node.text().starts_with("wait: "));
  node.pool({uplink("eth1")}, moving("net1"));
  CHECK(node.text().empty());
}

TEST_CASE("interfaces of several entries that would have one name in a container are refused") {
  NodeOfTest node;
  node.pool({uplink("eth1")}, moving("net1"));
  node.pool({uplink("eth2")}, moving("net1"), "example.com/other");
  node.claim.devices = {of("uplink", "eth1"), of("uplink", "eth2", "node-a/example.com/other")};
  CHECK(node.text().find(
            "the network interface net1 in the container would be both the host's eth1 and eth2") !=
        std::string::npos);
  node.pool({uplink("eth1")}, moving("net2"), "example.com/other");
  node.claim.devices = {of("uplink", "eth1"), of("uplink", "eth1", "node-a/example.com/other")};
  CHECK(node.text().find("the host's network interface eth1 would be both net1 and net2 in the container") !=
        std::string::npos);
}

TEST_CASE("an interface's name by its place in the container is in the claim's file") {
  NodeOfTest node;
  node.pool({uplink("eth1"), uplink("eth2")}, moving("net{n}"));
  node.claim.devices = {of("uplink", "eth2"), of("uplink", "eth1")};
  const ReadyClaim ready = node.ready();
  REQUIRE(ready.edits.contains("uplink"));
  CHECK(ready.edits.at("uplink").net_devices ==
        std::vector<ContainerNetDevice>{{.host_name = "eth2", .name = "net0"},
                                        {.host_name = "eth1", .name = "net1"}});
  CHECK(request_edits(ready, "uplink", node.pools)->net_devices.size() == 2);
}

}  // namespace
}  // namespace plughost
