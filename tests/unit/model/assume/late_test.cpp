
#include <doctest/doctest.h>

#include <algorithm>
#include <variant>

#include "model/assume/answer.hpp"
#include "unit/model/assume/pods.hpp"

using namespace plughost;

using Ids = std::vector<std::string>;

namespace {

std::string late(std::string_view resource, const Ids& ids) { return late_device(IdSet::of(resource, ids)); }

IdSet set(const Ids& ids) { return IdSet::of(kGpuMemory, ids); }

}  // namespace

TEST_CASE("the device's name depends on the ids only, in any order") {
  Ids ids{"GPU-0::0", "GPU-0::1", "GPU-1::7"};
  const std::string name = late(kGpuMemory, ids);
  CHECK(name.size() == 37);
  CHECK(name.starts_with("late-"));
  while (std::ranges::next_permutation(ids).found) CHECK(late(kGpuMemory, ids) == name);
  CHECK(late("volcano.sh/gpu-memory", ids) != name);
  CHECK(late(kGpuMemory, Ids{"GPU-0::0", "GPU-0::1"}) != name);
  CHECK(late(kGpuMemory, Ids{"GPU-0::0", "GPU-0::1", "GPU-1::8"}) != name);
  // Checkpoints contain the name, so it must be the same in every version.
  CHECK(late("a/b", Ids{"1", "2"}) == "late-47ae9e21a48bf30420798c103990e187");
}

TEST_CASE("the holder is the container with exactly these ids") {
  const std::vector<HeldUnits> held{{.pod_uid = "a", .container = "c0", .ids = set({"1", "2"})},
                                    {.pod_uid = "b", .container = "c1", .ids = set({"3"})},
                                    {.pod_uid = "c", .container = "c2", .ids = set({"4", "5", "6"})}};
  CHECK(std::get<const HeldUnits*>(holder_of(held, set(Ids{"2", "1"})))->container == "c0");
  CHECK(std::get<const HeldUnits*>(holder_of(held, set(Ids{"3"})))->pod_uid == "b");
  for (const Ids& none : {Ids{"1"}, Ids{"1", "2", "3"}, Ids{"4", "5"}, Ids{}})
    CHECK(std::holds_alternative<std::string>(holder_of(held, set(none))));
  CHECK(std::get<std::string>(holder_of(held, set(Ids{"4", "5"}))) ==
        "the kubelet's checkpoint has no container with exactly these 2 devices");
}

TEST_CASE("an init container's ids may belong to a later container, and never to two pods") {
  std::vector<HeldUnits> held{{.pod_uid = "a", .container = "i0", .ids = set({"1", "2"})},
                              {.pod_uid = "a", .container = "c0", .ids = set({"1", "2"})}};
  CHECK(std::get<const HeldUnits*>(holder_of(held, set(Ids{"1", "2"})))->pod_uid == "a");
  held[1].pod_uid = "b";
  CHECK(std::get<std::string>(holder_of(held, set(Ids{"1", "2"}))) ==
        "the kubelet's checkpoint has these devices for two pods, a and b");
}

TEST_CASE("two equal pods get their own cards, in every order of creation, binding and assuming") {
  std::vector<std::size_t> created{0, 1};
  do {
    std::vector<std::size_t> assumed{0, 1};
    do {
      std::vector<std::size_t> admitted{0, 1};
      do {
        // The ids depend only on the order of admission. The scheduler's choice is only in the pod.
        std::vector<AskingPod> pods;
        std::vector<HeldUnits> held;
        for (std::size_t i = 0; i < 2; ++i) {
          const std::string uid = i == 0 ? "a" : "b";
          pods.push_back(
              PodText{.uid = uid,
                      .annotations = gpushare_annotations(std::to_string(assumed[i]), std::to_string(i)),
                      .created = "2026-11-23T12:00:0" + std::to_string(created[i]) + "Z"}
                  .asking());
          const std::string first = std::to_string(2 * admitted[i]);
          held.push_back(
              {.pod_uid = uid, .container = "c0", .ids = set({"GPU-0::" + first, "GPU-0::" + first + "1"})});
        }
        const Inventory cards = two_cards();
        for (std::size_t i = 0; i < 2; ++i) {
          const auto holder = holder_of(held, held[i].ids);
          REQUIRE(std::holds_alternative<const HeldUnits*>(holder));
          const auto pod =
              std::ranges::find(pods, std::get<const HeldUnits*>(holder)->pod_uid, &AskingPod::uid);
          const auto card = card_of(terms_of(Dialect::kGpushare), *pod, cards);
          CHECK(index_of(*std::get<const Device*>(card)) == std::to_string(i));
        }
      } while (std::ranges::next_permutation(admitted).found);
    } while (std::ranges::next_permutation(assumed).found);
  } while (std::ranges::next_permutation(created).found);
}
