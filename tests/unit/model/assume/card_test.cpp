#include "model/assume/answer.hpp"

#include <doctest/doctest.h>

#include "unit/model/assume/pods.hpp"

using namespace plughost;

namespace {

AskingPod pod_with_card(const std::string& card) {
  return PodText{.annotations = gpushare_annotations("1", card)}.asking();
}

std::string refusal(const AssumeTerms& terms, const AskingPod& pod, const Inventory& cards) {
  const auto found = card_of(terms, pod, cards);
  return std::holds_alternative<std::string>(found) ? std::get<std::string>(found) : "";
}

}  // namespace

TEST_CASE("the card is the one that the annotation names, by index or by UUID") {
  const Inventory cards = two_cards();
  const AssumeTerms by_index = terms_of(Dialect::kGpushare);
  CHECK(std::get<const Device*>(card_of(by_index, pod_with_card("1"), cards))->id == "fakeID---1");
  CHECK(std::get<const Device*>(card_of(by_index, pod_with_card("0"), cards))->id == "fakeID---0");
  AssumeTerms by_uuid = by_index;
  by_uuid.card_is = CardIs::kUuid;
  CHECK(std::get<const Device*>(card_of(by_uuid, pod_with_card("GPU-1"), cards))->id == "fakeID---1");
  CHECK(
      refusal(by_uuid, pod_with_card("1"), cards) ==
      "pod ns/a: its annotation ALIYUN_COM_GPU_MEM_IDX is \"1\", and no card of this node is that; there are "
      "GPU-0, GPU-1");
}

TEST_CASE("an unknown card is refused with the known ones") {
  const AssumeTerms terms = terms_of(Dialect::kGpushare);
  CHECK(refusal(terms, pod_with_card("2"), two_cards()) ==
        "pod ns/a: its annotation ALIYUN_COM_GPU_MEM_IDX is \"2\", and no card of this node is that; there "
        "are 0, "
        "1");
  for (const std::string nonsense : {"", "-1", "one", "1 ", "99999999999999999999"}) {
    CAPTURE(nonsense);
    CHECK(refusal(terms, pod_with_card(nonsense), two_cards()).ends_with("there are 0, 1"));
  }
  CHECK(refusal(terms, pod_with_card("0"), Inventory()).ends_with("there are none"));
}

TEST_CASE("a pod without the annotation, and a pod whose card is Unhealthy, are refused with the reason") {
  const AssumeTerms terms = terms_of(Dialect::kGpushare);
  const AskingPod none = PodText{.annotations = R"("x":"y")"}.asking();
  CHECK(refusal(terms, none, two_cards()) ==
        "pod ns/a has no annotation ALIYUN_COM_GPU_MEM_IDX: its scheduler has not set the card");
  const Inventory sick({card_device("0", 16, "16384", "XID 79: the GPU has fallen off the bus")});
  CHECK(refusal(terms, pod_with_card("0"), sick) ==
        "pod ns/a: its annotation ALIYUN_COM_GPU_MEM_IDX is \"0\", and that card is Unhealthy: XID 79: the "
        "GPU has "
        "fallen off the bus");
  CHECK(card_named(terms, pod_with_card("0"), sick)->id == "fakeID---0");
  CHECK(card_named(terms, none, sick) == nullptr);
}

TEST_CASE("volcano's list may have only one card") {
  const AssumeTerms terms = terms_of(Dialect::kVolcano);
  AskingPod pod = pod_with_card("1");
  CHECK(std::get<const Device*>(card_of(terms, pod, two_cards()))->id == "fakeID---1");
  pod.card = "0,1";
  CHECK(refusal(terms, pod, two_cards()).ends_with("is \"0,1\", and a container's units are of one card"));
}

TEST_CASE("control characters in a pod's annotation are escaped in the error") {
  CHECK(refusal(terms_of(Dialect::kGpushare), pod_with_card(R"(0\nERROR)"), two_cards()).find('\n') ==
        std::string::npos);
}

TEST_CASE("the only card of a node counts while it is Healthy") {
  const Inventory one({card_device("0", 16, "16384")});
  REQUIRE(only_card(one));
  CHECK(only_card(one)->id == "fakeID---0");
  CHECK(!only_card(Inventory({card_device("0", 16, "16384", "sick")})));
  CHECK(!only_card(two_cards()));
  CHECK(!only_card(Inventory()));
}

TEST_CASE("a card is named as in the dialect's annotation") {
  const Inventory cards = two_cards();
  CHECK(card_text(terms_of(Dialect::kDoslab), cards.devices()[1]) == "GPU-1");
  CHECK(card_text(terms_of(Dialect::kGpushare), cards.devices()[1]) == "1");
  CHECK(uuid_of(Device{.id = "GPU-x"}) == "GPU-x");
}

TEST_CASE("of many cards the first sixteen are named") {
  const auto cards = [](unsigned count) {
    std::vector<Device> devices;
    for (unsigned n = 0; n < count; ++n) devices.push_back(card_device(std::to_string(n), 1, "1"));
    return Inventory(std::move(devices));
  };
  const AssumeTerms terms = terms_of(Dialect::kGpushare);
  CHECK(refusal(terms, pod_with_card("99"), cards(16)).find("…") == std::string::npos);
  CHECK(refusal(terms, pod_with_card("99"), cards(17)).ends_with(", 8, …"));
}

TEST_CASE("an index is a number in any form, and a UUID is compared as text") {
  CHECK(
      std::get<const Device*>(card_of(terms_of(Dialect::kGpushare), pod_with_card("01"), two_cards()))->id ==
      "fakeID---1");
  AssumeTerms by_uuid = terms_of(Dialect::kDoslab);
  CHECK_FALSE(refusal(by_uuid, pod_with_card("gpu-1"), two_cards()).empty());
  CHECK_FALSE(refusal(by_uuid, pod_with_card(""), Inventory({Device{}})).empty());
}

TEST_CASE(
    "a container may start only on the card that its pod's annotation names, and otherwise the reason is "
    "returned") {
  AssumeTerms terms = terms_of(Dialect::kGpushare);
  CHECK(why_not_on(terms, pod_with_card("1"), "1").empty());
  CHECK(why_not_on(terms, pod_with_card("01"), "1").empty());
  CHECK(why_not_on(terms, pod_with_card("1"), "0")
            .starts_with("the container was given card 0, but the scheduler chose card 1 for its pod ns/a "
                         "(annotation ALIYUN_COM_GPU_MEM_IDX): "));
  CHECK_FALSE(why_not_on(terms, pod_with_card("one"), "0").empty());
  CHECK(why_not_on(terms, pod_with_card("one"), "one").empty());
  terms.card_is = CardIs::kUuid;
  CHECK(why_not_on(terms, pod_with_card("GPU-1"), "GPU-1").empty());
  CHECK_FALSE(why_not_on(terms, pod_with_card("GPU-1"), "GPU-0").empty());
  CHECK_FALSE(why_not_on(terms, pod_with_card("01"), "1").empty());
  const AskingPod stranger = PodText{.annotations = R"("x":"y")"}.asking();
  CHECK(why_not_on(terms, stranger, "GPU-0").find("the scheduler chose none for its pod ns/a") !=
        std::string::npos);
}
