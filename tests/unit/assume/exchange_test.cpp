#include "assume/holders.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "unit/assume/pods.hpp"

using namespace plughost;

namespace {

AskingPod with_card(const std::string& uid, const std::string& card, const std::string& time = "1") {
  return PodText{.uid = uid, .annotations = gpushare_annotations(time, card)}.asking();
}

// What the annotations of pods would be then.
void annotate(std::vector<AskingPod>& pods, const std::vector<NewCard>& news) {
  std::map<std::string, std::string> by_uid;
  for (const NewCard& each : news) by_uid[each.pod->uid] = each.card;
  for (AskingPod& pod : pods) {
    if (by_uid.contains(pod.uid)) pod.card = by_uid[pod.uid];
  }
}

}  // namespace

TEST_CASE("a pod that has its own card exchanges nothing") {
  const std::vector<AskingPod> pods{with_card("a", "0"), with_card("b", "0")};
  CHECK(exchange(pointers(pods), pods[0], "0", "b").empty());
}

TEST_CASE("two pods that were taken for each other have each other's cards afterwards") {
  const std::vector<AskingPod> pods{with_card("a", "0"), with_card("b", "1")};
  const std::vector<NewCard> news = exchange(pointers(pods), pods[0], "1", "b");
  REQUIRE(news.size() == 2);
  CHECK(news[0].pod->uid == "a");
  CHECK(news[0].card == "1");
  CHECK(news[1].pod->uid == "b");
  CHECK(news[1].card == "0");
}

TEST_CASE("of several pods on the card it is the one that was meant, else the earliest that waits") {
  std::vector<AskingPod> pods{with_card("a", "0"), with_card("b", "1", "5"), with_card("c", "1", "3"),
                              with_card("d", "1", "9")};
  CHECK(exchange(pointers(pods), pods[0], "1", "d")[1].pod->uid == "d");
  CHECK(exchange(pointers(pods), pods[0], "1", "b")[1].pod->uid == "b");
  CHECK(exchange(pointers(pods), pods[0], "1", "gone")[1].pod->uid == "c");
  pods[2].phase = "Running";
  CHECK(exchange(pointers(pods), pods[0], "1", "gone")[1].pod->uid == "b");
  pods[3].phase = "Running";
  CHECK(exchange(pointers(pods), pods[0], "1", "d")[1].pod->uid == "d");
}

TEST_CASE("where the pod that was meant is gone, only one that asks for as much takes the other card") {
  std::vector<AskingPod> pods{with_card("a", "0"), with_card("b", "1")};
  pods[1].containers[0].units = 3;
  CHECK(exchange(pointers(pods), pods[0], "1", "gone").size() == 1);
  CHECK(exchange(pointers(pods), pods[0], "1", "b").size() == 2);
}

TEST_CASE("no scheduler has chosen for a pod without a time, and one without a card gives none away") {
  std::vector<AskingPod> pods{with_card("a", "0"), with_card("b", "1")};
  pods[1].time.reset();
  CHECK(exchange(pointers(pods), pods[0], "1", "b").size() == 1);
  pods[1].time = "1";
  pods[0].card.reset();
  const std::vector<NewCard> news = exchange(pointers(pods), pods[0], "1", "b");
  REQUIRE(news.size() == 1);
  CHECK(news[0].pod->uid == "a");
}

TEST_CASE("who has ended keeps what it had") {
  std::vector<AskingPod> pods{with_card("a", "0"), with_card("b", "1")};
  pods[1].phase = "Failed";
  const std::vector<NewCard> news = exchange(pointers(pods), pods[0], "1", "b");
  REQUIRE(news.size() == 1);
  CHECK(news[0].pod->uid == "a");
  CHECK(news[0].card == "1");
}

TEST_CASE("whoever got whose card, and in whatever order they start: annotations say it in the end") {
  const std::vector<std::string> uids{"a", "b", "c"};
  std::vector<std::string> given{"0", "1", "2"};  // by position: what a, b and c see
  do {
    std::vector<std::size_t> starts{0, 1, 2};
    do {
      std::vector<AskingPod> pods{with_card("a", "0"), with_card("b", "1"), with_card("c", "2")};
      for (const std::size_t i : starts) {
        const std::size_t meant = std::stoul(given[i]);
        annotate(pods, exchange(pointers(pods), pods[i], given[i], uids[meant]));
      }
      for (std::size_t i = 0; i < 3; ++i) CHECK(pods[i].card == given[i]);
    } while (std::ranges::next_permutation(starts).found);
  } while (std::ranges::next_permutation(given).found);
}
