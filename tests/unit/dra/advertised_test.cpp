#include "dra/advertised.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "dra/limits.hpp"
#include "dra/names.hpp"
#include "dra/terms.hpp"

namespace plughost {
namespace {

using Attributes = std::map<std::string, AttributeValue>;
using Capacities = std::map<std::string, DeviceCapacity>;
using Range = RequestPolicy::Range;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;
const DraFeatures kNoSharing{.sharing = false};

struct Given {
  std::vector<Device> devices;
  DraTerms terms = {};
  Recipe recipe = {};
  DraFeatures features = {};
  DeviceNames held = {};
  UncountedReplicas uncounted = {};
};

AdvertisedPool advertised(Given given) {
  given.recipe.name = Template("example.com/{name}");
  given.recipe.dra = std::make_shared<const DraTerms>(given.terms);
  const Offer offer{.resource = "example.com/camera",
                    .inventory = Inventory(given.devices),
                    .recipe = std::make_shared<const Recipe>(given.recipe)};
  AdvertisedPool pool = advertised_pool(offer, "node-a", given.features, given.held, given.uncounted);
  CHECK(limits_broken(pool.pool).empty());
  return pool;
}

PoolDevice only(const Given& given) {
  const AdvertisedPool pool = advertised(given);
  REQUIRE(pool.pool.devices.size() == 1);
  return pool.pool.devices[0];
}

std::vector<std::string> names(const Given& given) {
  std::vector<std::string> found;
  for (const PoolDevice& device : advertised(given).pool.devices) found.push_back(device.name);
  return found;
}

// What it has beside what every device has.
Attributes more(const Given& given) {
  Attributes attributes = only(given).attributes;
  for (const std::string_view name : {kEntryAttribute, kResourceAttribute, kIdAttribute})
    CHECK(attributes.erase(std::string(name)) == 1);
  return attributes;
}

Device device(const std::string& id, std::vector<Attribute> attributes = {}) {
  return {.id = id, .attributes = std::move(attributes)};
}

Device card(unsigned replicas, const std::string& memory = "") {
  Device device{.id = "gpu-0"};
  if (!memory.empty()) device.attributes = {{"memory", memory}};
  device.replicas = replicas;
  return device;
}

DraTerms of_cards(CardUnit unit = {}) {
  return {.types = {{"memory", AttributeType::kMemory}, {"index", AttributeType::kNumber}}, .unit = unit};
}

Recipe divided() {
  Recipe recipe;
  recipe.units = CardUnits::kOfOneCard;
  return recipe;
}

TEST_CASE("a device is called after its id, and says which entry and resource it is of") {
  const AdvertisedPool pool = advertised({.devices = {device("ttyUSB0"), device("a")}});
  CHECK(pool.pool.name == "node-a/example.com/camera");
  CHECK(pool.pool.counters.empty());
  CHECK(pool.remarks.empty());
  REQUIRE(pool.pool.devices.size() == 2);
  CHECK(pool.pool.devices[0].name == "a");
  CHECK(pool.pool.devices[1].name == device_label("ttyUSB0"));
  const Attributes expected{{"entry", std::string("example.com/{name}")},
                            {"resource", std::string("example.com/camera")},
                            {"id", std::string("ttyUSB0")}};
  CHECK(pool.pool.devices[1].attributes == expected);
  CHECK_FALSE(pool.pool.devices[1].several_claims);
  CHECK(pool.pool.devices[1].capacity.empty());
  CHECK(pool.pool.devices[1].taints.empty());
}

TEST_CASE("an entry without devices is an empty pool") {
  const AdvertisedPool pool = advertised({.devices = {}});
  CHECK(pool.pool.name == "node-a/example.com/camera");
  CHECK(pool.pool.devices.empty());
}

TEST_CASE("the kind's attributes have its types, and what is empty is left out") {
  Given given{
      .devices = {
          device("a", {{"index", "3"}, {"serial", "0451"}, {"on", "true"}, {"off", "false"}, {"link", ""}})}};
  given.terms.types = {
      {"index", AttributeType::kNumber}, {"on", AttributeType::kFlag}, {"off", AttributeType::kFlag}};
  CHECK(
      more(given) ==
      Attributes{{"index", std::int64_t{3}}, {"serial", std::string("0451")}, {"on", true}, {"off", false}});
}

TEST_CASE("an entry's own attributes are templates, and come before the kind's") {
  Given given{.devices = {device("a", {{"numa", "1"}, {"model", "x"}, {"link", ""}})}};
  given.terms.attributes = {{"dra.net/numaNode", Template("{numa}"), AttributeType::kNumber},
                            {"model", Template("{model}-{id} of {resource}"), AttributeType::kText},
                            {"linked", Template("to {link}"), AttributeType::kText},
                            {"none", Template("{missing}"), AttributeType::kText},
                            {"lab", Template("true"), AttributeType::kFlag}};
  CHECK(more(given) == Attributes{{"dra.net/numaNode", std::int64_t{1}},
                                  {"model", std::string("x-a of example.com/camera")},
                                  {"lab", true},
                                  {"numa", std::string("1")}});
}

TEST_CASE("what no attribute can hold is left out, with one remark for all devices") {
  const std::string fits(64, 'x');
  Given given{.devices = {device("a", {{"serial", fits}, {"n", "7"}}),
                          device("b", {{"serial", fits + 'x'}, {"n", "x"}}),
                          device("c", {{"serial", fits + "xx"}}), device("d", {{"serial", "\xff"}})}};
  given.terms.types = {{"n", AttributeType::kNumber}};
  const AdvertisedPool pool = advertised(given);
  REQUIRE(pool.pool.devices.size() == 4);
  CHECK(pool.pool.devices[0].attributes.at("serial") == AttributeValue(fits));
  for (std::size_t i = 1; i < 4; ++i) CHECK_FALSE(pool.pool.devices[i].attributes.contains("serial"));
  CHECK(pool.remarks ==
        std::vector<std::string>{
            "example.com/camera: the attribute \"n\" of b is left out: its value is none of its type",
            "example.com/camera: the attribute \"serial\" of b and of 2 more is left out: it has 65 bytes, "
            "and may have 64"});
}

TEST_CASE("what the kind has beside an attribute of the entry's is no reason to say anything") {
  Given given{.devices = {device("a", {{"model", std::string(65, 'x')}})}};
  given.terms.attributes = {{"model", Template("mine"), AttributeType::kText}};
  const AdvertisedPool pool = advertised(given);
  CHECK(pool.pool.devices.at(0).attributes.at("model") == AttributeValue("mine"));
  CHECK(pool.remarks.empty());
}

TEST_CASE("a device has 32 attributes and capacities, the standard ones among them") {
  Given given{.devices = {card(1, "1024")}, .terms = of_cards()};
  Device& gpu = given.devices[0];
  for (int i = 0; i < 40; ++i) gpu.attributes.push_back({"a" + std::to_string(i), "x"});
  gpu.attributes.push_back({"pci", "0000:3b:00.0"});
  const AdvertisedPool pool = advertised(given);
  const PoolDevice& found = pool.pool.devices.at(0);
  CHECK(found.attributes.size() == 31);
  CHECK(found.attributes.contains(std::string(kPciBusId)));
  CHECK(found.capacity.contains("memory"));
  CHECK(found.attributes.contains("a26"));
  CHECK_FALSE(found.attributes.contains("a27"));
  REQUIRE(pool.remarks.size() == 14);
  CHECK(pool.remarks[0].ends_with("is left out: a device has at most 32 attributes and capacities"));
}

TEST_CASE("where a device is on the PCI buses is said as other drivers say it") {
  Given given{.devices = {device(
                  "a", {{"pci", "0000:3b:00.0"}, {"pciPath", "pci0000:3a/0000:3a:00.0/0000:3b:00.0"}})}};
  given.devices[0].numa_nodes = {1};
  CHECK(more(given) == Attributes{{std::string(kPcieRoot), std::string("pci0000:3a")},
                                  {std::string(kPciBusId), std::string("0000:3b:00.0")},
                                  {std::string(kNumaNode), std::int64_t{1}},
                                  {"pci", std::string("0000:3b:00.0")}});
  CHECK(kPcieRoot == "resource.kubernetes.io/pcieRoot");
  CHECK(kPciBusId == "resource.kubernetes.io/pciBusID");
  CHECK(kNumaNode == "resource.kubernetes.io/numaNode");
  given.devices[0].numa_nodes = {0, 1};
  CHECK_FALSE(more(given).contains(std::string(kNumaNode)));
  // A domain with more digits, as behind a VMD.
  given.devices[0].attributes = {{"pci", "10000:e1:00.0"}, {"pciPath", "pci10000:e0/10000:e1:00.0"}};
  CHECK(more(given).at(std::string(kPcieRoot)) == AttributeValue("pci10000:e0"));
  CHECK(more(given).at(std::string(kPciBusId)) == AttributeValue("10000:e1:00.0"));
}

TEST_CASE("several cards in one device have no one place") {
  const Given given{
      .devices = {device("a", {{"pci", "0000:3b:00.0,0000:3b:00.1"},
                               {"pciPath", "pci0000:3a/0000:3b:00.0,pci0000:3a/0000:3b:00.1"}})}};
  CHECK_FALSE(more(given).contains(std::string(kPcieRoot)));
  CHECK_FALSE(more(given).contains(std::string(kPciBusId)));
}

TEST_CASE("a device of udev is below a root, and is a PCI function only if it is one itself or its face") {
  const auto place = [](const std::string& syspath) {
    const Attributes found = more({.devices = {device("a", {{"syspath", syspath}})}});
    const auto text = [&](std::string_view name) {
      const auto value = found.find(std::string(name));
      return value == found.end() ? std::string() : std::get<std::string>(value->second);
    };
    return text(kPcieRoot) + ' ' + text(kPciBusId);
  };
  CHECK(place("/sys/devices/pci0000:00/0000:00:1c.0/0000:02:00.0/net/eth0") == "pci0000:00 0000:02:00.0");
  CHECK(place("/sys/devices/pci0000:00/0000:00:02.0/drm/card0") == "pci0000:00 0000:00:02.0");
  CHECK(place("/sys/devices/pci0000:00/0000:00:1f.3") == "pci0000:00 0000:00:1f.3");
  CHECK(place("/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1") == "pci0000:00 ");
  CHECK(place("/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0/ttyUSB0/tty/ttyUSB0") == "pci0000:00 ");
  CHECK(place("/sys/devices/platform/serial8250/tty/ttyS0") == " ");
  CHECK(place("/sys/devices/virtual/net/lo") == " ");
  CHECK(place("/sys/devices/pci0000:00/0000:00:14.0/usb1") == "pci0000:00 ");
  CHECK(place("/sys/devices/pci0000:00/0000:00:14.0/usb1/video4linux/video0") == "pci0000:00 ");
  CHECK(place("/sys/devices/platform/pcie/pci0000:00/0000:00:1f.3") == "pci0000:00 0000:00:1f.3");
  // What the kind says of its function comes before what the path shows.
  const std::string path = "pci0000:3a/0000:3b:00.0";
  CHECK_FALSE(more({.devices = {device("a", {{"pciPath", path}})}}).contains(std::string(kPciBusId)));
  CHECK(more({.devices = {device("a", {{"pci", "0000:01:00.0"}, {"syspath", '/' + path}})}})
            .at(std::string(kPciBusId)) == AttributeValue("0000:01:00.0"));
}

TEST_CASE("memory is a capacity of the whole card's") {
  const PoolDevice gpu = only({.devices = {card(1, "81559")}, .terms = of_cards()});
  CHECK(gpu.capacity == Capacities{{"memory", {.value = 81559 * kGiB / 1024, .policy = std::nullopt}}});
  CHECK_FALSE(gpu.several_claims);
  CHECK_FALSE(gpu.attributes.contains("memory"));
  CHECK(only({.devices = {card(1, "x")}, .terms = of_cards()}).capacity.empty());
  CHECK(only({.devices = {card(1, "99999999999999999")}, .terms = of_cards()}).capacity.empty());
  CHECK(only({.devices = {card(1, "0")}, .terms = of_cards()}).capacity.empty());
}

TEST_CASE("replicas are shares of one device, of which a claim has one by default") {
  const PoolDevice gpu = only({.devices = {card(4, "1024")}, .terms = of_cards()});
  CHECK(gpu.name == "gpu-0");
  CHECK(gpu.several_claims);
  const RequestPolicy policy{
      .default_amount = 1, .values = {}, .range = Range{.min = 1, .max = std::nullopt, .step = 1}};
  CHECK(gpu.capacity == Capacities{{"shares", {.value = 4, .policy = policy}}});
  // Whose capacity would be taken whole by who does not name it.
  CHECK(gpu.attributes.at("memory") == AttributeValue(std::int64_t{1024}));
}

TEST_CASE("where one share is all that a container may have, a claim has one") {
  Recipe recipe;
  recipe.one_share_only = true;
  const PoolDevice gpu = only({.devices = {card(4)}, .recipe = recipe});
  const RequestPolicy policy{.default_amount = 1, .values = {1}, .range = std::nullopt};
  CHECK(gpu.capacity == Capacities{{"shares", {.value = 4, .policy = policy}}});
}

TEST_CASE("what is held by ids of the kubelet's is missing in the capacity") {
  Given given{.devices = {card(4)}};
  given.devices[0].taken = {0, 2};
  CHECK(only(given).capacity.at("shares").value == 2);
  CHECK(only(given).taints.empty());
  given.devices[0].taken = {0, 1, 2};
  const RequestPolicy policy{.default_amount = 1, .values = {1}, .range = std::nullopt};
  CHECK(only(given).capacity == Capacities{{"shares", {.value = 1, .policy = policy}}});
  given.devices[0].taken = {0, 1, 2, 3};
  CHECK(only(given).capacity.at("shares").value == 4);
  CHECK(only(given).taints ==
        std::vector<DeviceTaint>{{"plughost.io/unhealthy", "held", TaintEffect::kNoSchedule}});
}

TEST_CASE("a card in units of memory has its own size, of which claims take units") {
  const DraTerms terms = of_cards({.memory = 2 * kGiB});
  const PoolDevice gpu = only({.devices = {card(39, "81559")}, .terms = terms, .recipe = divided()});
  CHECK(gpu.several_claims);
  const RequestPolicy policy{.default_amount = 2 * kGiB,
                             .values = {},
                             .range = Range{.min = 2 * kGiB, .max = std::nullopt, .step = 2 * kGiB}};
  CHECK(gpu.capacity == Capacities{{"memory", {.value = 81559 * kGiB / 1024, .policy = policy}}});
  CHECK_FALSE(gpu.attributes.contains("memory"));
  // Two units are a range, also where a container of a plugin's may have one alone.
  Recipe one_only = divided();
  one_only.one_share_only = true;
  const PoolDevice two = only({.devices = {card(2, "4096")}, .terms = terms, .recipe = one_only});
  CHECK(two.capacity == Capacities{{"memory", {.value = 4 * kGiB, .policy = policy}}});
  // One that does not say how large it is.
  CHECK(only({.devices = {card(3)}, .terms = terms, .recipe = divided()}).capacity.at("memory").value ==
        6 * kGiB);
  Device taken = card(39, "81559");
  taken.taken = {0, 5};
  CHECK(only({.devices = {taken}, .terms = terms, .recipe = divided()}).capacity.at("memory").value ==
        81559 * kGiB / 1024 - 4 * kGiB);
  // A card of one unit: no step leads anywhere.
  const PoolDevice small = only({.devices = {card(1, "3000")}, .terms = terms, .recipe = divided()});
  const RequestPolicy one{.default_amount = 2 * kGiB, .values = {2 * kGiB}, .range = std::nullopt};
  CHECK(small.several_claims);
  CHECK(small.capacity == Capacities{{"memory", {.value = 3000 * kGiB / 1024, .policy = one}}});
}

TEST_CASE("a card in units of cores has 100 of them") {
  const PoolDevice gpu =
      only({.devices = {card(10, "1024")}, .terms = of_cards({.cores = 10}), .recipe = divided()});
  const RequestPolicy policy{
      .default_amount = 10, .values = {}, .range = Range{.min = 10, .max = std::nullopt, .step = 10}};
  CHECK(gpu.capacity == Capacities{{"cores", {.value = 100, .policy = policy}}});
}

TEST_CASE("where devices cannot be shared each replica is a device of its own") {
  const Given given{.devices = {card(3, "1024"), device("b")}, .terms = of_cards(), .features = kNoSharing};
  const std::vector<std::string> expected{"b", device_label("gpu-0::0"), device_label("gpu-0::1"),
                                          device_label("gpu-0::2")};
  CHECK(names(given) == expected);
  for (const PoolDevice& each : advertised(given).pool.devices) {
    CHECK_FALSE(each.several_claims);
    if (each.name == "b") continue;
    CHECK(each.attributes.at("id") == AttributeValue("gpu-0"));
    CHECK(each.capacity.at("memory").value == kGiB);
  }
  const Given units{.devices = {card(2, "4100")},
                    .terms = of_cards({.memory = 2 * kGiB}),
                    .recipe = divided(),
                    .features = kNoSharing};
  CHECK(names(units).size() == 2);
  CHECK(advertised(units).pool.devices[1].capacity ==
        Capacities{{"memory", {.value = 2 * kGiB, .policy = std::nullopt}}});
  const Given cores{.devices = {card(1, "4100")},
                    .terms = of_cards({.cores = 100}),
                    .recipe = divided(),
                    .features = kNoSharing};
  CHECK(only(cores).capacity == Capacities{{"cores", {.value = 100, .policy = std::nullopt}}});
  CHECK(only(cores).name == device_label("gpu-0"));
}

TEST_CASE("one share that is held is one device that is tainted") {
  Given given{.devices = {card(2)}, .features = kNoSharing};
  given.devices[0].taken = {1};
  const AdvertisedPool pool = advertised(given);
  REQUIRE(pool.pool.devices.size() == 2);
  for (const PoolDevice& each : pool.pool.devices)
    CHECK(each.taints.empty() == (each.name == device_label("gpu-0::0")));
}

TEST_CASE("what claims have under former names is missing in the capacity, too") {
  Given given{.devices = {card(4), device("other")}, .uncounted = {{"gpu-0", 1}}};
  given.devices[0].taken = {3};
  // The shares that they have are not the pool's names now.
  given.held = {device_label("gpu-0::0"), device_label("gpu-0::1"), device_label("gpu-0::2")};
  const auto shares = [&] { return advertised(given).pool.devices.at(0).capacity.at("shares").value; };
  CHECK(shares() == 2);
  given.uncounted["gpu-0"] = 2;
  CHECK(shares() == 1);
  CHECK(advertised(given).pool.devices.at(0).taints.empty());
  given.uncounted["gpu-0"] = 3;
  CHECK(advertised(given).pool.devices.at(0).taints ==
        std::vector<DeviceTaint>{{"plughost.io/unhealthy", "held", TaintEffect::kNoSchedule}});
  CHECK(advertised(given).pool.devices.at(1).taints.empty());
  CHECK(only({.devices = {device("a")}, .uncounted = {{"a", 1}}}).taints.front().value == "held");
}

TEST_CASE("as many shares are tainted as claims have under former names, and those that nobody has") {
  Given given{.devices = {card(4)}, .features = kNoSharing, .uncounted = {{"gpu-0", 2}}};
  const auto free = [&] {
    std::vector<std::string> found;
    for (const PoolDevice& each : advertised(given).pool.devices)
      if (each.taints.empty()) found.push_back(each.name);
    return found;
  };
  const auto share = [](unsigned n) { return device_label("gpu-0::" + std::to_string(n)); };
  CHECK(free() == std::vector{share(0), share(1)});
  given.held = {share(3)};
  CHECK(free() == std::vector{share(0), share(3)});
  given.devices[0].taken = {0, 2};
  CHECK(free() == std::vector{share(3)});
  given.uncounted["gpu-0"] = 1;
  CHECK(free() == std::vector{share(3)});
  given.held = {};
  CHECK(free() == std::vector{share(1)});
}

DraTerms of_parts() {
  DraTerms terms = of_cards();
  terms.types.emplace("card", AttributeType::kWhole);
  terms.types.emplace("cardMemory", AttributeType::kMemoryOfWhole);
  terms.types.emplace("multiprocessors", AttributeType::kCountOfWhole);
  terms.types.emplace("memorySlices", AttributeType::kSlicesOfWhole);
  terms.types.emplace("parts", AttributeType::kParts);
  return terms;
}

Device part(const std::string& id, const std::string& card, const std::string& memory) {
  return device(id, {{"memory", memory}, {"card", card}, {"cardMemory", "40960"}});
}

TEST_CASE("parts of a card use up what the card has") {
  Given given{.devices = {part("a", "GPU-1", "20480"), part("b", "GPU-1", "10240"),
                          part("c", "GPU-2", "10240"), device("d")},
              .terms = of_parts()};
  const Pool pool = advertised(given).pool;
  const std::string first = device_label("GPU-1");
  const std::string second = device_label("GPU-2");
  std::map<std::string, std::map<std::string, std::int64_t>> sets;
  for (const CounterSet& set : pool.counters) sets[set.name] = set.counters;
  CHECK(sets == std::map<std::string, std::map<std::string, std::int64_t>>{
                    {first, {{"memory", 40 * kGiB}}}, {second, {{"memory", 40 * kGiB}}}});
  REQUIRE(pool.devices.size() == 4);
  CHECK(pool.devices[0].counters == std::vector<CounterUse>{{first, {{"memory", 20 * kGiB}}}});
  CHECK(pool.devices[1].counters == std::vector<CounterUse>{{first, {{"memory", 10 * kGiB}}}});
  CHECK(pool.devices[2].counters == std::vector<CounterUse>{{second, {{"memory", 10 * kGiB}}}});
  CHECK(pool.devices[3].counters.empty());
  CHECK(pool.devices[0].attributes.at("card") == AttributeValue("GPU-1"));
  CHECK(pool.devices[0].attributes.at("cardMemory") == AttributeValue(std::int64_t{40960}));
  CHECK(pool.devices[0].capacity.at("memory").value == 20 * kGiB);

  given.features.partitions = false;
  CHECK(advertised(given).pool.counters.empty());
  CHECK(advertised(given).pool.devices[0].counters.empty());
}

TEST_CASE("parts that would be more than their card have each its own all the same") {
  const Given given{.devices = {part("a", "GPU-1", "30720"), part("b", "GPU-1", "20480")},
                    .terms = of_parts()};
  CHECK(advertised(given).pool.counters.at(0).counters.at("memory") == 50 * kGiB);
}

TEST_CASE("a part that does not say of which card it is uses nothing up") {
  const Given given{.devices = {part("a", "", "20480")}, .terms = of_parts()};
  CHECK(advertised(given).pool.counters.empty());
  CHECK(only(given).counters.empty());
}

TEST_CASE("a part that several claims share is in no counters") {
  Given given{.devices = {part("a", "GPU-1", "20480")}, .terms = of_parts()};
  given.devices[0].replicas = 2;
  CHECK(advertised(given).pool.counters.empty());
  given.features.sharing = false;
  CHECK(advertised(given).pool.counters.empty());
}

// slices: "4:2"
Device placed(const std::string& id, const std::string& slices, const std::string& multiprocessors = "14") {
  Device made = part(id, "GPU-1", "10240");
  made.attributes.insert(made.attributes.end(),
                         {{"uuid", id}, {"memorySlices", slices}, {"multiprocessors", multiprocessors}});
  return made;
}

Device whole_of(const std::string& parts) {
  return device("0-whole", {{"uuid", "GPU-1"}, {"card", "GPU-1"}, {"memory", "40960"}, {"parts", parts}});
}

using Counts = std::map<std::string, std::int64_t>;

TEST_CASE("a part uses its place in the card, and the whole card all that there is") {
  const Given given{.devices = {placed("a", "4:1"), placed("b", "0:2", "28"), whole_of("2"), device("d")},
                    .terms = of_parts()};
  const Pool pool = advertised(given).pool;
  const std::string card = device_label("GPU-1");
  const Counts all{{"memory", 40 * kGiB},
                   {"multiprocessors", 42},
                   {"memory-slice-0", 1},
                   {"memory-slice-1", 1},
                   {"memory-slice-4", 1}};
  REQUIRE(pool.counters.size() == 1);
  CHECK(pool.counters[0] == CounterSet{card, all});
  REQUIRE(pool.devices.size() == 4);
  CHECK(pool.devices[0].counters ==
        std::vector<CounterUse>{
            {card, {{"memory", 10 * kGiB}, {"multiprocessors", 14}, {"memory-slice-4", 1}}}});
  CHECK(
      pool.devices[1].counters ==
      std::vector<CounterUse>{
          {card,
           {{"memory", 10 * kGiB}, {"multiprocessors", 28}, {"memory-slice-0", 1}, {"memory-slice-1", 1}}}});
  CHECK(pool.devices[2].name == "d");
  CHECK(pool.devices[2].counters.empty());
  // The last one, so that who may have any device has a part.
  CHECK(pool.devices[3].name == "0-whole");
  CHECK(pool.devices[3].counters == std::vector<CounterUse>{{card, all}});
  CHECK(pool.devices[3].attributes.at("parts") == AttributeValue(std::int64_t{2}));
  CHECK(pool.devices[0].attributes.at("multiprocessors") == AttributeValue(std::int64_t{14}));
  CHECK(pool.devices[0].attributes.at("memorySlices") == AttributeValue("4:1"));
  CHECK(pool.devices[3].capacity.at("memory").value == 40 * kGiB);
}

TEST_CASE("compute instances of one GPU instance share its slices, and the whole card excludes each") {
  const Given given{.devices = {placed("a", "4:1"), placed("b", "4:1"), whole_of("2")}, .terms = of_parts()};
  const Pool pool = advertised(given).pool;
  CHECK(pool.counters.at(0).counters.at("memory-slice-4") == 2);
  CHECK(pool.devices.at(0).counters.at(0).counters.at("memory-slice-4") == 1);
  CHECK(pool.devices.at(2).counters.at(0).counters.at("memory-slice-4") == 2);
}

TEST_CASE("a part that is gone, and held, takes the room of those in its place") {
  Given given{.devices = {placed("a", "4:2", "28"), placed("b", "4:1"), placed("c", "6:1"), whole_of("2")},
              .terms = of_parts(),
              .held = {"a"}};
  given.devices[0].gone = true;
  const Pool pool = advertised(given).pool;
  CHECK(pool.counters.at(0).counters == Counts{{"memory", 40 * kGiB},
                                               {"multiprocessors", 28},
                                               {"memory-slice-4", 1},
                                               {"memory-slice-5", 1},
                                               {"memory-slice-6", 1}});
  REQUIRE(pool.devices.size() == 4);
  CHECK(pool.devices[0].counters.at(0).counters.at("memory-slice-4") == 1);
  CHECK(pool.devices[3].name == "0-whole");
  CHECK(pool.devices[3].taints.empty());
  given.held.clear();
  CHECK(advertised(given).pool.counters.at(0).counters.count("memory-slice-5") == 0);
}

TEST_CASE("slices that are none, or more than a card has, are no counters") {
  for (const char* wrong : {"", "4", "x:1", "4:x", "16:0", "15:2", "0:17", "-1:1", "4294967295:2"}) {
    CAPTURE(wrong);
    const Given given{.devices = {placed("a", wrong)}, .terms = of_parts()};
    CHECK(advertised(given).pool.counters.at(0).counters ==
          Counts{{"memory", 40 * kGiB}, {"multiprocessors", 14}});
  }
  const Given last{.devices = {placed("a", "15:1")}, .terms = of_parts()};
  CHECK(advertised(last).pool.counters.at(0).counters.at("memory-slice-15") == 1);
}

TEST_CASE("without counters a whole card is not there beside its parts, unless a claim holds it") {
  Given given{.devices = {placed("a", "0:1"), whole_of("1")}, .terms = of_parts()};
  given.features.partitions = false;
  CHECK(names(given) == std::vector<std::string>{"a"});
  given.held = {"0-whole"};
  CHECK(names(given) == std::vector<std::string>{"a", "0-whole"});
  given.features.partitions = true;
  given.held = {};
  given.devices[0].attributes.clear();
  CHECK(names(given) == std::vector<std::string>{"a"});
}

TEST_CASE("who has a whole card has each of its parts: it is tainted as the first that cannot be had") {
  Given given{.devices = {placed("a", "0:1"), placed("b", "1:1"), whole_of("2")}, .terms = of_parts()};
  const auto word = [&] {
    const Pool pool = advertised(given).pool;
    const PoolDevice& whole = pool.devices.at(pool.devices.size() - 1);
    REQUIRE(whole.name == "0-whole");
    return whole.taints.empty() ? "" : whole.taints[0].value;
  };
  CHECK(word().empty());
  given.devices[1].trouble = "it is hot";
  CHECK(word() == "unhealthy");
  given.devices[1].trouble = "drained: repair";
  given.devices[1].drained = true;
  CHECK(word() == "drained");
  given.devices[1] = placed("b", "1:1");
  given.devices[1].taken = {0};
  CHECK(word() == "held");
  given.devices[2].trouble = "it is hot";
  CHECK(word() == "unhealthy");
  given.devices[2].trouble.clear();
  // Another card's.
  given.devices[1].attributes[1].value = "GPU-2";
  CHECK(word().empty());
}

struct Sick {
  const char* word;
  Device device;
};

std::vector<Sick> sick() {
  std::vector<Sick> all{{"unhealthy", device("a")}, {"drained", device("a")}, {"held", device("a")}};
  all[0].device.trouble = "it is hot";
  all[1].device.trouble = "drained: repair";
  all[1].device.drained = true;
  all[2].device.taken = {0};
  all[2].device.taken_by = "held by pod x";
  return all;
}

TEST_CASE("a sick device is tainted with one word, and evicts only if the entry says so") {
  for (const OnUnhealthy on : {OnUnhealthy::kTaint, OnUnhealthy::kEvict}) {
    for (const Sick& each : sick()) {
      CAPTURE(each.word);
      const bool evicts = on == OnUnhealthy::kEvict && each.word == std::string("unhealthy");
      const PoolDevice found = only({.devices = {each.device}, .terms = {.on_unhealthy = on}});
      CHECK(found.taints ==
            std::vector<DeviceTaint>{{"plughost.io/unhealthy", each.word,
                                      evicts ? TaintEffect::kNoExecute : TaintEffect::kNoSchedule}});
    }
  }
}

TEST_CASE("a sick device that is withdrawn stays while a claim holds it, tainted") {
  for (const Sick& each : sick()) {
    CAPTURE(each.word);
    Given given{.devices = {each.device, device("b")}, .terms = {.on_unhealthy = OnUnhealthy::kWithdraw}};
    CHECK(names(given) == std::vector<std::string>{"b"});
    given.held = {"a"};
    CHECK(names(given) == std::vector<std::string>{"a", "b"});
    CHECK(advertised(given).pool.devices[0].taints ==
          std::vector<DeviceTaint>{{"plughost.io/unhealthy", each.word, TaintEffect::kNoSchedule}});
  }
}

TEST_CASE("without taints a sick device is withdrawn unless a claim holds it") {
  for (const Sick& each : sick()) {
    CAPTURE(each.word);
    Given given{.devices = {each.device}, .features = {.taints = false}};
    CHECK(names(given).empty());
    given.held = {"a"};
    CHECK(only(given).taints.empty());
  }
}

TEST_CASE("a device that is gone stays only while a claim holds it") {
  Given given{.devices = {device("a")}};
  given.devices[0].gone = true;
  given.devices[0].trouble = "it is gone";
  CHECK(names(given).empty());
  given.held = {"a"};
  CHECK(only(given).taints ==
        std::vector<DeviceTaint>{{"plughost.io/unhealthy", "gone", TaintEffect::kNoSchedule}});
  given.terms.on_unhealthy = OnUnhealthy::kEvict;
  CHECK(only(given).taints[0].effect == TaintEffect::kNoExecute);
  given.features.taints = false;
  CHECK(only(given).taints.empty());
}

DraFeatures used(const Given& given) {
  Recipe recipe = given.recipe;
  recipe.dra = std::make_shared<const DraTerms>(given.terms);
  return features_used({.resource = "example.com/camera",
                        .inventory = Inventory(given.devices),
                        .recipe = std::make_shared<const Recipe>(recipe)});
}

TEST_CASE(
    "what an entry uses of the API server: taints, unless it withdraws, shares, and parts with a whole") {
  const DraFeatures taints{.taints = true, .sharing = false, .partitions = false};
  CHECK(used({.devices = {}}) == taints);
  CHECK(used({.devices = {device("a")}}) == taints);
  CHECK(used({.devices = {device("a")}, .terms = {.on_unhealthy = OnUnhealthy::kEvict}}) == taints);
  CHECK(used({.devices = {device("a")}, .terms = {.on_unhealthy = OnUnhealthy::kWithdraw}}) ==
        DraFeatures{.taints = false, .sharing = false, .partitions = false});
  const DraFeatures shares{.taints = true, .sharing = true, .partitions = false};
  CHECK(used({.devices = {device("a"), card(2)}}) == shares);
  CHECK(used({.devices = {card(1)}, .recipe = divided()}) == shares);
  // Counters of parts alone exclude nothing.
  CHECK(used({.devices = {placed("a", "4:1")}, .terms = of_parts()}) == taints);
  CHECK(used({.devices = {placed("a", "4:1"), whole_of("1")}, .terms = of_parts()}) ==
        DraFeatures{.taints = true, .sharing = false, .partitions = true});
}

}  // namespace
}  // namespace plughost
