#include "driver/dra_drivers.hpp"

#include <doctest/doctest.h>

#include "unit/driver/claim_rig.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr const char* kOther = "other.example.com";
constexpr const char* kCamera = "example.com/camera";
constexpr const char* kLens = "example.com/lens";

Device camera(const std::string& id) {
  Device device;
  device.id = id;
  device.nodes = {{.host_path = "/dev/" + id, .container_path = "/dev/" + id}};
  return device;
}

struct Rig : ClaimNode {
  HostRoot host{tree.path()};
  DirWatcher directories{loop, [](const std::string&) {}};
  UdevMonitor devices{loop, directories, host, [](const std::string&) {}};
  Tallies tallies;
  NodeWatch node_watch{server};
  Notifier notifier;
  DescriptorStore descriptors{notifier};
  Platform platform{loop, log,     workers, programs,   directories, devices,
                    host, tallies, server,  node_watch, descriptors};
  CdiWriter cdi{workers, host, "/run/cdi", "plughost"};
  std::vector<std::shared_ptr<const Offer>> offers;  // in pools
  std::string resource = kCamera;
  bool settled = true;
  std::vector<DraDrivers::Lists> lists;
  int loaded = 0;
  int occupied = 0;
  std::unique_ptr<DraDrivers> drivers;

  void start() {
    drivers = std::make_unique<DraDrivers>(
        platform, DraDrivers::Hooks{.cdi = [this]() -> CdiWriter& { return cdi; },
                                    .subjects =
                                        [this] {
                                          return std::vector<DraDriver::Subject>{{.entry = kCamera,
                                                                                  .resource = resource,
                                                                                  .offers = offers,
                                                                                  .settled = settled}};
                                        },
                                    .lists = [this] { return lists; },
                                    .loaded = [this] { ++loaded; },
                                    .occupied = [this] { ++occupied; },
                                    .changed = [] {}});
  }
  void use(const std::string& driver, bool api_server = true, const std::string& registry = "registry") {
    tree.directory(registry);
    drivers->use({.driver = driver, .plugins_registry = tree.at(registry), .api_server = api_server});
  }
  // A former process has prepared it.
  void prepared(const std::string& name, const char* driver, const std::string& device,
                const std::string& pool = kCameraPool) const {
    const PreparedClaim claim{
        .ref = ref_of(name),
        .devices = {{.allocated = {.request = "camera", .pool = pool, .device = device},
                     .cdi = {std::string(kCamera) + '=' + device, "example.com/another=x"}}},
        .consumers = {}};
    tree.file("run/cdi/" + claim_file_name("plughost", claim.ref.uid),
              claim_specification(driver, claim, {}).value_or(""));
  }
  bool is_loaded() {
    return run_until(loop, [&] { return drivers->loaded(); });
  }
  std::size_t slices(const std::string& driver) const {
    std::size_t count = 0;
    for (const Json& slice : objects.all(FakeObjects::kSlices))
      if (slice["spec"]["driver"].text() == driver) ++count;
    return count;
  }
  // "camera: video0 video1! | ": of each slice the resource and the devices, those with a taint with a mark.
  std::string published() const {
    std::string text;
    for (const Json& slice : objects.all(FakeObjects::kSlices)) {
      const std::string pool = slice["spec"]["pool"]["name"].text();
      text += pool.substr(pool.rfind('/') + 1) + ':';
      for (const Json& device : slice["spec"]["devices"].array())
        text += ' ' + device["name"].text() + (device["taints"].array().empty() ? "" : "!");
      text += " | ";
    }
    return text;
  }
  bool publishes(const std::string& text) {
    return run_until(loop, [&] { return published() == text; });
  }
  // Two requests have been answered, and what is due has been written.
  void pass() {
    for (int i = 0; i < 2; ++i) {
      bool answered = false;
      const auto call = server.client()->send({.path = "/pass"}, [&](const ApiAnswer&) { answered = true; });
      REQUIRE(run_until(loop, [&] { return answered; }));
    }
  }
  PoolStatus told(const std::shared_ptr<const Offer>& offer) const {
    PoolStatus pool{.offer = offer};
    drivers->tell(pool, drivers->slices());
    return pool;
  }
  // "one other!": by name; those that leave with a mark.
  std::string names() const {
    std::string text;
    for (const DriverStatus& driver : drivers->status())
      text += (text.empty() ? "" : " ") + driver.name + (driver.leaving ? "!" : "");
    return text;
  }
  std::string claims() const {
    std::string text;
    for (const PreparedClaim* const claim : drivers->claims()) text += claim->ref.name + ' ';
    return text;
  }
  // What the resource's cameras are said to be.
  static std::string taken(const OccupiedDevices& occupied, const char* resource) {
    std::vector<Device> devices{camera("video0"), camera("video1")};
    occupied.apply(resource, devices);
    std::string text;
    for (const Device& device : devices) text += device.taken_by + ';';
    return text;
  }
};

const std::string kBoth = std::string(kOther) + ' ' + kDriver + '!';

TEST_CASE("where no entry is advertised by DRA there is no driver, and nobody has anything") {
  Rig rig;
  rig.start();
  CHECK_FALSE(rig.drivers->loaded());
  rig.use("");
  REQUIRE(rig.is_loaded());
  CHECK(rig.loaded == 1);
  CHECK(rig.names().empty());
  CHECK(rig.claims().empty());
  rig.lists = {{.entry = kCamera, .dra = true, .by_resource = {{kCamera, Inventory({camera("video0")})}}},
               {.entry = kLens, .by_resource = {{kLens, Inventory({camera("video0")})}}}};
  CHECK(rig.drivers->occupied({}, {}) == OccupiedDevices());
  rig.drivers->on_lists();
  CHECK_FALSE(run_until(
      rig.loop, [&] { return rig.occupied > 0; }, 50ms));
  PoolStatus pool{.offer = cameras({"video0"})};
  rig.drivers->tell(pool, rig.drivers->slices());
  CHECK_FALSE(pool.published);
}

TEST_CASE("the driver publishes what entries offer, and takes their counts of 0 from the node") {
  Rig rig;
  Json node = rig.objects.get(FakeObjects::kNodes, FakeObjects::kNode);
  node["status"] = Json{{"capacity", Json{{kCamera, "0"}}}, {"allocatable", Json{{kCamera, "0"}}}};
  rig.objects.put(FakeObjects::kNodes, node);
  rig.offers = {cameras({"video0"})};
  rig.start();
  rig.use(kDriver);
  REQUIRE(run_until(rig.loop, [&] { return rig.slices(kDriver) == 1; }));
  CHECK(run_until(rig.loop, [&] { return rig.objects.written("PATCH") == 1; }));
  PoolStatus pool{.offer = rig.offers[0]};
  CHECK(run_until(rig.loop, [&] {
    rig.drivers->tell(pool, rig.drivers->slices());
    return pool.published;
  }));
  CHECK(pool.pool == kCameraPool);
  rig.offers.clear();
  rig.drivers->on_lists();
  CHECK(run_until(rig.loop, [&] { return rig.slices(kDriver) == 0; }));
  CHECK(rig.names() == kDriver);
}

TEST_CASE("another driver takes its place, and the former one ends when nothing of it is left") {
  Rig rig;
  rig.offers = {cameras({"video0"})};
  rig.start();
  rig.use(kDriver);
  REQUIRE(run_until(rig.loop, [&] { return rig.slices(kDriver) == 1; }));
  rig.objects.hold("DELETE ");
  rig.use(kOther);
  CHECK(rig.names() == kBoth);
  REQUIRE(run_until(rig.loop, [&] { return rig.slices(kOther) == 1 && rig.objects.asked("DELETE ") == 1; }));
  CHECK(rig.names() == kBoth);
  rig.objects.release();
  REQUIRE(run_until(rig.loop, [&] { return rig.slices(kDriver) == 0; }));
  CHECK(run_until(rig.loop, [&] { return rig.names() == kOther; }));
}

TEST_CASE("without an API server what a driver leaves there is nobody's to delete: it ends at once") {
  Rig rig;
  rig.offers = {cameras({"video0"})};
  rig.start();
  rig.use(kDriver);
  REQUIRE(run_until(rig.loop, [&] { return rig.slices(kDriver) == 1; }));
  rig.objects.stop();
  rig.offers.clear();
  rig.use("", false);
  CHECK(rig.names() == std::string(kDriver) + '!');
  rig.drivers->on_lists();
  CHECK(run_until(rig.loop, [&] { return rig.names().empty(); }));
}

TEST_CASE("a driver stays for the claims that a former process has prepared, and holds their devices") {
  Rig rig;
  rig.prepared("a", kDriver, "video0");
  rig.lists = {
      {.entry = kCamera, .by_resource = {{kCamera, Inventory({camera("video0"), camera("video1")})}}}};
  rig.start();
  rig.use("", false);
  REQUIRE(rig.is_loaded());
  CHECK(rig.loaded == 1);
  CHECK(rig.names() == std::string(kDriver) + '!');
  CHECK(rig.claims() == "a ");
  REQUIRE(run_until(rig.loop, [&] { return rig.occupied > 0; }));
  CHECK(rig.names() == std::string(kDriver) + '!');
  CHECK(Rig::taken(rig.drivers->occupied(), kCamera) == "held by claim default/a;;");
  // An entry has it again.
  rig.use(kDriver);
  CHECK(rig.names() == kDriver);
  CHECK(rig.claims() == "a ");
}

TEST_CASE("the configuration's driver has its former claims itself, and each other one its own") {
  Rig rig;
  rig.prepared("a", kDriver, "video0");
  rig.prepared("b", kOther, "video1");
  rig.start();
  rig.use(kOther);
  REQUIRE(rig.is_loaded());
  CHECK(rig.names() == kBoth);
  CHECK(rig.claims() == "a b ");
}

TEST_CASE("another kubelet asks for claims of its own: all drivers of the former one go") {
  Rig rig;
  rig.prepared("a", kDriver, "video0");
  rig.start();
  rig.use(kOther);
  REQUIRE(rig.is_loaded());
  REQUIRE(rig.names() == kBoth);
  rig.use(kOther, true, "another");
  CHECK(rig.names() == kOther);
  CHECK_FALSE(rig.drivers->loaded());
  REQUIRE(rig.is_loaded());
  rig.use("", true, "registry");
  CHECK(rig.names().empty());
  CHECK(rig.drivers->occupied() == OccupiedDevices());
}

TEST_CASE(
    "of a device that is in a list and in a pool the ledger says whose it is, also while an entry looks") {
  Rig rig;
  rig.lists = {{.entry = "cameras",
                .dra = true,
                .where = "1:3",
                .by_resource = {{kCamera, Inventory({camera("video0")})}}},
               {.entry = "lenses",
                .where = "2:3",
                .by_resource = {{kLens, Inventory({camera("video0"), camera("video1")})}}}};
  rig.start();
  rig.use(kDriver);
  rig.drivers->on_lists();
  REQUIRE(run_until(rig.loop, [&] { return rig.occupied > 0; }));
  const std::string lens = Rig::taken(rig.drivers->occupied(), kLens);
  CHECK(lens.find(kCamera) != std::string::npos);
  CHECK(lens.ends_with(";;"));
  CHECK(Rig::taken(rig.drivers->occupied(), kCamera) == ";;");
  // The pool has another one now.
  const int before = rig.occupied;
  const DraDrivers::Seen seen{{kCamera, {camera("video1")}}};
  const OccupiedDevices now = rig.drivers->occupied("cameras", seen);
  CHECK(Rig::taken(now, kCamera).starts_with(";"));
  CHECK(Rig::taken(now, kLens).starts_with(";"));
  CHECK(run_until(rig.loop, [&] { return rig.occupied > before; }));
}

TEST_CASE(
    "a device that is away is its entry's while that looks and does not see it, and counts once if it does") {
  Device away = camera("video0");
  away.away = true;
  Rig rig;
  rig.lists = {{.entry = "cameras",
                .dra = true,
                .where = "1:3",
                .by_resource = {{kCamera, Inventory({away, camera("video1")})}}},
               {.entry = "lenses",
                .where = "2:3",
                .by_resource = {{kLens, Inventory({camera("video0"), camera("video1")})}}}};
  rig.start();
  rig.use(kDriver);
  const std::string its = std::string("it is ") + kCamera + "'s (1:3), which offers it by DRA;";
  const auto lenses = [&](const DraDrivers::Seen& seen) {
    const OccupiedDevices now = rig.drivers->occupied("cameras", seen);
    CHECK(Rig::taken(now, kCamera) == ";;");
    return Rig::taken(now, kLens);
  };
  CHECK(lenses({{kCamera, {camera("video0"), camera("video1")}}}) == its + its);
  CHECK(lenses({{kCamera, {camera("video1")}}}) == its + its);
  // What it does not see, and is not away, is its own no more.
  CHECK(lenses({{kCamera, {}}}) == its + ';');
  CHECK(lenses({}) == its + ';');
  CHECK(lenses({{kCamera, {camera("video0")}}}) == its + ';');
  rig.lists[0].by_resource = {{kCamera, Inventory({camera("video0")})}};
  CHECK(lenses({}) == ";;");
}

TEST_CASE("a process that ends leaves all to the next, whatever its entries do") {
  Rig rig;
  rig.offers = {cameras({"video0"})};
  rig.start();
  rig.use(kDriver);
  REQUIRE(run_until(rig.loop, [&] { return rig.slices(kDriver) == 1; }));
  rig.drivers->on_lists();
  rig.drivers->leave_to_successor();
  rig.offers.clear();
  const int before = rig.occupied;
  rig.drivers->on_lists();
  CHECK_FALSE(run_until(
      rig.loop, [&] { return rig.occupied > before || rig.slices(kDriver) == 0; }, 50ms));
}

TEST_CASE("what the next process has not looked for yet stays in the slices") {
  Rig rig;
  rig.offers = {cameras({"video0"})};
  rig.start();
  rig.use(kDriver);
  REQUIRE(rig.publishes("camera: video0 | "));
  rig.drivers.reset();
  const auto looked = std::exchange(rig.offers, {});
  rig.settled = false;
  SUBCASE("also where it is not known how the entry's resources are called") {
    rig.resource.clear();
  }
  SUBCASE("although the entry has but one resource") {}
  rig.start();
  rig.use(kDriver);
  REQUIRE(run_until(rig.loop, [&] { return rig.drivers->status().at(0).features.has_value(); }));
  rig.pass();
  rig.drivers->on_lists();
  rig.pass();
  CHECK(rig.published() == "camera: video0 | ");
  CHECK(rig.objects.written("DELETE") == 0);
  // It is there, and then it is not.
  rig.settled = true;
  rig.offers = looked;
  rig.drivers->on_lists();
  REQUIRE(run_until(rig.loop, [&] { return rig.told(looked[0]).published; }));
  CHECK(rig.objects.written().size() == 1);
  rig.settled = false;
  rig.offers.clear();
  rig.drivers->on_lists();
  rig.pass();
  rig.pass();
  CHECK(rig.published() == "camera: video0 | ");
  rig.settled = true;
  rig.drivers->on_lists();
  CHECK(rig.publishes(""));
}

TEST_CASE("an entry that has not seen all of its resources yet has those published that it has") {
  Rig rig;
  auto lens = cameras({"lens0"});
  lens->resource = kLens;
  rig.offers = {cameras({"video0"}), lens};
  rig.resource.clear();
  rig.start();
  rig.use(kDriver);
  REQUIRE(run_until(rig.loop, [&] { return rig.slices(kDriver) == 2; }));
  rig.settled = false;
  rig.offers = {cameras({"video0", "video1"})};
  rig.drivers->on_lists();
  REQUIRE(run_until(rig.loop,
                    [&] { return rig.published().find("camera: video0 video1 | ") != std::string::npos; }));
  rig.pass();
  CHECK(rig.slices(kDriver) == 2);
  rig.settled = true;
  rig.drivers->on_lists();
  CHECK(rig.publishes("camera: video0 video1 | "));
}

TEST_CASE("what claims hold stays in the slices of our node, whoever lists it") {
  Rig rig;
  rig.prepared("a", kDriver, "video1");
  rig.prepared("b", kDriver, "lens0", std::string("worker-1/") + kLens);
  rig.prepared("c", kDriver, "video2", std::string("worker-2/") + kCamera);
  rig.offers = {cameras({"video0"})};
  rig.start();
  rig.use(kDriver);
  REQUIRE(run_until(rig.loop, [&] { return rig.slices(kDriver) == 2; }));
  const std::string published = rig.published();
  CHECK(published.find("camera: video0 video1! | ") != std::string::npos);
  CHECK(published.find("lens: lens0! | ") != std::string::npos);
  rig.offers = {cameras({"video0", "video1"})};
  rig.drivers->on_lists();
  CHECK(run_until(rig.loop,
                  [&] { return rig.published().find("camera: video0 video1 | ") != std::string::npos; }));
  CHECK(rig.slices(kDriver) == 2);
}

TEST_CASE("a pool is told as it is published, and a driver with all that goes wrong") {
  Rig rig;
  rig.objects.keep({.sharing = false});
  auto seats = cameras({"seat"});
  seats->resource = kLens;
  Device seat = seats->inventory.devices()[0];
  seat.replicas = 2;
  seat.trouble = "hot";
  seats->inventory = Inventory({seat});
  rig.offers = {cameras({"video0"}), seats};
  rig.start();
  rig.use(kDriver);
  REQUIRE(run_until(rig.loop,
                    [&] { return rig.told(rig.offers[0]).published && rig.told(rig.offers[1]).published; }));
  PoolStatus pool = rig.told(rig.offers[1]);
  CHECK(pool.pool == "worker-1/example.com/lens");
  CHECK(pool.published_at);
  CHECK(pool.slices == 1);
  CHECK(pool.generation == 1);
  CHECK(pool.trouble.empty());
  CHECK(pool.taints ==
        std::map<std::string, std::string>{{"seat", "plughost.io/unhealthy=unhealthy:NoSchedule"}});
  CHECK(rig.told(rig.offers[0]).taints.empty());
  DriverStatus driver = rig.drivers->status().at(0);
  CHECK(driver.trouble.empty());
  CHECK(driver.api_version == "v1");
  REQUIRE(driver.features);
  CHECK(*driver.features == DraFeatures{.sharing = false});
  CHECK(driver.slice_writes == 2);
  CHECK_FALSE(driver.registered_since);
  // Of one alone.
  rig.objects.refuse("PUT", 422);
  rig.offers[1] = cameras({"seat", "sofa"});
  auto sofas = cameras({"seat", "sofa"});
  sofas->resource = kLens;
  rig.offers[1] = sofas;
  rig.drivers->on_lists();
  REQUIRE(run_until(rig.loop, [&] { return !rig.told(rig.offers[1]).trouble.empty(); }));
  pool = rig.told(rig.offers[1]);
  CHECK_FALSE(pool.published);
  CHECK(pool.trouble.find("422") != std::string::npos);
  CHECK(pool.taints.empty());
  CHECK(rig.told(rig.offers[0]).published);
  CHECK(rig.told(rig.offers[0]).trouble.empty());
  rig.server.use(std::nullopt);
  CHECK(rig.drivers->status().at(0).trouble == "the configuration names no API server");
  CHECK(rig.told(rig.offers[0]).trouble == "the configuration names no API server");
}

TEST_CASE("what claims hold is known by its first CDI name, once all claims are known") {
  Rig rig;
  rig.prepared("a", kDriver, "video0");
  rig.prepared("b", kOther, "video1");
  rig.start();
  CHECK_FALSE(rig.drivers->claimed_names());
  rig.use(kOther);
  REQUIRE(rig.is_loaded());
  CHECK(rig.drivers->claimed_names() ==
        std::set<std::string>{"example.com/camera=video0", "example.com/camera=video1"});
}

TEST_CASE("a driver whose claims are not known yet does not end") {
  Rig rig;
  rig.prepared("a", kDriver, "video0");
  rig.start();
  rig.use("", false);
  REQUIRE(run_until(rig.loop, [&] { return !rig.names().empty(); }));
  rig.drivers->on_lists();
  REQUIRE(rig.is_loaded());
  rig.drivers->on_lists();
  run_once(rig.loop);
  CHECK(rig.names() == std::string(kDriver) + '!');
  CHECK(rig.claims() == "a ");
}

TEST_CASE("an interface that is in a container is its entry's, also while the entry does not see it") {
  Rig rig;
  Device away = camera("video0");
  away.away = true;
  Device here = camera("video1");
  rig.lists = {{.entry = "cameras", .where = "1:3", .by_resource = {{kCamera, Inventory({away, here})}}},
               {.entry = "lenses",
                .dra = true,
                .where = "2:3",
                .by_resource = {{kLens, Inventory({camera("video0"), camera("video1")})}}}};
  rig.start();
  rig.use(kDriver);
  const std::string whose = "it is example.com/camera's (1:3), which offers it as a device plugin;";
  CHECK(Rig::taken(rig.drivers->occupied("cameras", {{kCamera, {here}}}), kLens) == whose + whose);
  CHECK(Rig::taken(rig.drivers->occupied("cameras", {}), kLens) == whose + ';');
  CHECK(Rig::taken(rig.drivers->occupied("cameras", {{kCamera, {camera("video0")}}}), kLens) == whose + ';');
}

}  // namespace
}  // namespace plughost
