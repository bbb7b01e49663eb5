#include "dra/device_shares.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "device/cdi.hpp"
#include "dra/names.hpp"
#include "dra/terms.hpp"

namespace plughost {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr const char* kBusy =
    "; a scheduler that did not know of them has allocated it once more: delete a pod of one of them, or "
    "this "
    "one together with its claim, which is allocated anew then";

// A device, and the claims that have it.
struct Shared {
  Device device;
  Recipe recipe;
  DraTerms terms;
  std::vector<PreparedClaim> claims = {};

  explicit Shared(unsigned replicas) {
    device.id = "ann";
    device.replicas = replicas;
  }
  static Shared card(unsigned replicas, CardUnit unit, const std::string& mebibytes = {}) {
    Shared card(replicas);
    card.recipe.units = CardUnits::kOfOneCard;
    card.terms = {.types = {{"memory", AttributeType::kMemory}}, .unit = unit};
    if (!mebibytes.empty()) card.device.attributes = {{"memory", mebibytes}};
    return card;
  }
  Offer offer() const {
    Recipe made = recipe;
    made.dra = std::make_shared<const DraTerms>(terms);
    return {.resource = "example.com/serial",
            .inventory = Inventory({device}),
            .recipe = std::make_shared<const Recipe>(made)};
  }
  static ClaimedDevice claimed(const AllocatedDevice& allocated, const std::string& id = "ann") {
    return {.allocated = allocated, .cdi = {cdi_qualified_name("example.com/serial", id), "other"}};
  }
  void hold(const std::string& claim, const std::vector<AllocatedDevice>& allocated) {
    PreparedClaim& held = claims.emplace_back();
    held.ref = {.uid = claim, .name_space = "default", .name = claim};
    for (const AllocatedDevice& each : allocated) held.devices.push_back(claimed(each));
  }
  // "", "never", or the trouble.
  std::string with(const std::vector<AllocatedDevice>& wanted) const {
    const Offer its = offer();
    std::vector<const PreparedClaim*> others;
    for (const PreparedClaim& claim : claims) others.push_back(&claim);
    DeviceShares shares(its, device, others);
    for (const AllocatedDevice& each : wanted) shares.add(each);
    return shares.never_fits() ? "never" : shares.trouble();
  }
  bool fits(const std::vector<AllocatedDevice>& wanted) const { return with(wanted).empty(); }
};

AllocatedDevice named(const std::string& device) {
  return {.request = "r", .pool = "node-a/example.com/serial", .device = device};
}

AllocatedDevice replica(unsigned n) {
  return named(device_label("ann::" + std::to_string(n)));
}

AllocatedDevice some(const std::string& capacity, std::int64_t amount) {
  AllocatedDevice allocated = named("ann");
  allocated.share_id = "5b0f";
  allocated.consumed = {{capacity, amount}};
  return allocated;
}

TEST_CASE("claims divide a device by its replicas, its cores or its memory") {
  const auto capacity_of = [](const Shared& shared) {
    return shared_capacity(shared.offer(), shared.device);
  };
  CHECK(capacity_of(Shared(3)) == SharedCapacity{.name = "shares", .size = 3, .unit = 1});
  CHECK(capacity_of(Shared::card(3, {.cores = 30})) ==
        SharedCapacity{.name = "cores", .size = 100, .unit = 30});
  CHECK(capacity_of(Shared::card(4, {.memory = kGiB})) ==
        SharedCapacity{.name = "memory", .size = 4 * kGiB, .unit = kGiB});
  // The rest that is no unit is there, too.
  CHECK(capacity_of(Shared::card(4, {.memory = kGiB}, "4608")) ==
        SharedCapacity{.name = "memory", .size = 4 * kGiB + kGiB / 2, .unit = kGiB});
  CHECK(capacity_of(Shared::card(4, {})) == SharedCapacity{.name = "shares", .size = 4, .unit = 1});
}

TEST_CASE("a claim counts by what it consumes, or as one share, or as a whole card") {
  const auto taken = [](const Shared& shared, const AllocatedDevice& allocated) {
    return amount_taken(shared.offer(), shared.device, allocated);
  };
  const Shared serial(3);
  CHECK(taken(serial, named("ann")) == 1);
  CHECK(taken(serial, some("shares", 2)) == 2);
  CHECK(taken(serial, some("shares", 0)) == 1);
  CHECK(taken(serial, some("memory", 2)) == 1);
  CHECK(taken(serial, replica(1)) == 1);
  const Shared card = Shared::card(4, {.memory = kGiB});
  CHECK(taken(card, named("ann")) == 4 * kGiB);
  CHECK(taken(card, some("cores", 10)) == 4 * kGiB);
  CHECK(taken(card, some("memory", 1)) == 1);
  CHECK(taken(card, some("memory", 0)) == kGiB);
  CHECK(taken(card, replica(3)) == kGiB);
}

TEST_CASE("there is room up to the last share, whatever the shares are called") {
  const std::pair<AllocatedDevice, AllocatedDevice> pairs[] = {{named("ann"), named("ann")},
                                                               {named("ann"), replica(0)},
                                                               {replica(1), named("ann")},
                                                               {replica(0), replica(1)},
                                                               {some("shares", 1), replica(1)}};
  for (const auto& pair : pairs) {
    CAPTURE(pair.first.device);
    CAPTURE(pair.second.device);
    Shared serial(3);
    serial.hold("one", {pair.first});
    serial.hold("two", {pair.second});
    CHECK(serial.fits({named("ann")}));
    CHECK(serial.fits({replica(2)}));
    CHECK_FALSE(serial.fits({some("shares", 2)}));
    serial.device.replicas = 2;
    CHECK_FALSE(serial.fits({named("ann")}));
    CHECK_FALSE(serial.fits({some("shares", 1)}));
    CHECK_FALSE(serial.fits({replica(0)}));
    CHECK_FALSE(serial.fits({replica(1)}));
  }
}

TEST_CASE("a share that is a device of its own is one claim's, while others are free") {
  Shared serial(3);
  serial.hold("one", {replica(1)});
  CHECK(serial.with({replica(1)}) ==
        "device \"ann\" of example.com/serial is still held by claim default/one, which has not been given "
        "back");
  CHECK(serial.fits({replica(0)}));
  CHECK(serial.fits({replica(0), replica(2)}));
  CHECK_FALSE(serial.fits({replica(0), replica(1)}));
}

TEST_CASE("shares that the device has no more are held, too") {
  Shared serial(2);
  serial.hold("one", {replica(3)});
  CHECK(serial.fits({replica(0)}));
  serial.hold("two", {replica(2)});
  CHECK_FALSE(serial.fits({replica(0)}));
  Shared alone(1);
  CHECK(alone.fits({named("ann")}));
  alone.hold("one", {replica(1)});
  CHECK(alone.with({named("ann")}) ==
        "device \"ann\" of example.com/serial is still held by claim default/one, which has not been given "
        "back");
}

TEST_CASE("what consumes more than there is fits never, and what is left is had to the last byte") {
  Shared card = Shared::card(4, {.memory = kGiB}, "4608");
  const std::int64_t all = 4 * kGiB + kGiB / 2;
  CHECK(card.fits({some("memory", all)}));
  CHECK(card.with({some("memory", all + 1)}) == "never");
  CHECK(card.with({some("memory", all), some("memory", 1)}) == "never");
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(card.with({some("memory", most), some("memory", most)}) == "never");
  card.hold("one", {some("memory", kGiB / 2)});
  card.hold("two", {some("memory", kGiB)});
  CHECK(card.fits({some("memory", 3 * kGiB)}));
  CHECK(card.fits({some("memory", 2 * kGiB), replica(0)}));
  CHECK_FALSE(card.fits({some("memory", 3 * kGiB + 1)}));
  CHECK_FALSE(card.fits({named("ann")}));
  card.hold("greedy", {some("memory", most), some("memory", most)});
  CHECK_FALSE(card.fits({some("memory", 1)}));
  CHECK(card.with({some("memory", 1)}).find("claim default/greedy holds 4608Mi") != std::string::npos);
}

TEST_CASE("what pods have by ids of the kubelet's counts with what claims have") {
  Shared serial(3);
  serial.device.taken = {0};
  serial.device.taken_by = "held by pod default/old";
  CHECK(serial.fits({some("shares", 2)}));
  CHECK(serial.with({some("shares", 3)}) ==
        "device \"ann\" of example.com/serial is in use: held by pod default/old");
  serial.hold("one", {named("ann")});
  CHECK(serial.fits({named("ann")}));
  CHECK(
      serial.with({some("shares", 2)}) ==
      std::string("device \"ann\" of example.com/serial has no room for 2 of its 3 shares: claim default/one "
                  "holds 1, and 1 of its 3 replicas are in use: held by pod default/old") +
          kBusy);
  Shared card = Shared::card(4, {.cores = 25});
  card.device.taken = {1, 2};
  CHECK(card.fits({some("cores", 50)}));
  CHECK_FALSE(card.fits({some("cores", 51)}));
}

TEST_CASE("only this device counts, and not what somebody has for administration") {
  Shared serial(2);
  AllocatedDevice admin = named("ann");
  admin.admin_access = true;
  serial.hold("admin", {admin, admin});
  PreparedClaim other;
  other.devices = {Shared::claimed(named("bob"), "bob"), Shared::claimed(named("ann"), "ann::0")};
  serial.claims.push_back(other);
  other.devices = {{.allocated = named("ann"), .cdi = {}}};
  serial.claims.push_back(other);
  CHECK(serial.fits({some("shares", 2)}));
}

TEST_CASE("who has a device that is full is told, three of them at most") {
  Shared serial(4);
  serial.hold("one", {replica(0)});
  serial.hold("two", {some("shares", 2)});
  serial.hold("three", {named("ann")});
  const std::string begin = "device \"ann\" of example.com/serial has no room for 1 of its 4 shares: ";
  CHECK(serial.with({named("ann")}) ==
        begin + "claim default/one holds 1, claim default/two holds 2, claim default/three holds 1" + kBusy);
  serial.hold("four", {named("ann")});
  serial.hold("five", {named("ann")});
  CHECK(
      serial.with({named("ann")}) ==
      begin +
          "claim default/one holds 1, claim default/two holds 2, claim default/three holds 1 and 2 more hold "
          "some" +
          kBusy);
}

TEST_CASE("replicas that a scheduler does not count are those of names that the pool does not show") {
  const auto uncounted = [](const Shared& shared, const std::vector<AllocatedDevice>& held, bool sharing) {
    Shared its = shared;
    for (const AllocatedDevice& each : held) its.hold("one", {each});
    PreparedClaim other;
    AllocatedDevice admin = replica(9);
    admin.admin_access = true;
    other.devices = {
        Shared::claimed(admin), Shared::claimed(named("bob"), "bob"), {.allocated = named("ann"), .cdi = {}}};
    its.claims.push_back(other);
    const UncountedReplicas all = replicas_uncounted(its.offer(), its.claims, sharing);
    CHECK(all.size() == all.count("ann"));
    return all.empty() ? 0 : all.at("ann");
  };
  CHECK(replicas_uncounted(Shared(2).offer(), {}, false).empty());
  const Shared serial(3);
  CHECK(uncounted(serial, {named("ann"), replica(0), replica(4)}, true) == 2);
  CHECK(uncounted(serial, {some("shares", 2), replica(0), replica(2)}, false) == 2);
  CHECK(uncounted(serial, {replica(3)}, false) == 1);
  CHECK(uncounted(serial, {some("shares", 2), some("shares", 2)}, false) == 3);
  CHECK(uncounted(Shared(1), {named("ann")}, false) == 0);
  CHECK(uncounted(Shared(1), {named("ann")}, true) == 0);
  CHECK(uncounted(Shared(1), {replica(0)}, false) == 1);
  const Shared card = Shared::card(4, {.memory = kGiB});
  CHECK(uncounted(card, {some("memory", kGiB)}, false) == 1);
  CHECK(uncounted(card, {some("memory", kGiB + 1)}, false) == 2);
  CHECK(uncounted(card, {some("memory", kGiB / 2), some("memory", kGiB / 2)}, false) == 1);
  CHECK(uncounted(card, {named("ann")}, false) == 4);
  CHECK(uncounted(card, {named("ann")}, true) == 0);
  // A card of one unit is shown as a share, too.
  CHECK(uncounted(Shared::card(1, {.memory = kGiB}), {named("ann")}, false) == 0);
}

}  // namespace
}  // namespace plughost
