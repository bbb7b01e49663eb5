#include "model/assume/answer.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "unit/model/assume/pods.hpp"

using namespace plughost;

namespace {

const AssumeTerms kTerms = terms_of(Dialect::kGpushare);

AskingPod waiting(const std::string& uid, std::vector<std::uint64_t> units, const std::string& time,
                  const std::string& card = "0") {
  return PodText{
      .uid = uid, .name = uid, .units = std::move(units), .annotations = gpushare_annotations(time, card)}
      .asking();
}

std::string found(const std::vector<AskingPod>& pods, std::uint64_t units,
                  const AnsweredContainers& answered = {}, const Inventory& cards = two_cards()) {
  const auto outcome = match(pointers(pods), units, answered, kTerms, cards);
  if (const auto* why = std::get_if<std::string>(&outcome)) return *why;
  const PodMatch& it = std::get<PodMatch>(outcome);
  std::string text = it.pod->uid;
  for (const std::string& container : it.containers) text += ' ' + container;
  return text;
}

}  // namespace

TEST_CASE("of the pods whose next container requests this number of units the earliest is chosen") {
  std::vector<AskingPod> pods{waiting("a", {2}, "300"), waiting("b", {2}, "100"), waiting("c", {3}, "50"),
                              waiting("d", {2}, "soon")};
  std::ranges::sort(pods, {}, &AskingPod::uid);
  do {
    CHECK(found(pods, 2) == "b c0");
    CHECK(found(pods, 3) == "c c0");
    CHECK(found(pods, 2, {{"b", "c0"}}) == "a c0");
    CHECK(found(pods, 2, {{"a", "c0"}, {"b", "c0"}}) == "d c0");
  } while (std::ranges::next_permutation(pods, {}, &AskingPod::uid).found);
}

TEST_CASE("of two equal pods the earlier is chosen first, and the other one after it") {
  const std::vector<AskingPod> pods{waiting("a", {2}, "2", "0"), waiting("b", {2}, "1", "1")};
  CHECK(found(pods, 2) == "b c0");
  CHECK(found(pods, 2, {{"b", "c0"}}) == "a c0");
  CHECK(found(pods, 2, {{"a", "c0"}}) == "b c0");
}

TEST_CASE("containers of 1, 2 and 2 units and an init container are answered one by one") {
  AskingPod pod = PodText{.uid = "a", .units = {1, 2, 2}, .init = {4}}.asking();
  AnsweredContainers answered;
  for (const auto& [units, name] : {std::pair{4u, "i0"}, {1u, "c0"}, {2u, "c1"}, {2u, "c2"}}) {
    CHECK(found({pod}, units, answered) == "a " + std::string(name) + "");
    answered.insert({"a", name});
  }
  CHECK(found({pod}, 2, answered).ends_with("ns/a: each of its containers has been answered"));
}

TEST_CASE("a container is not chosen before the containers in front of it") {
  const AskingPod pod = waiting("a", {1, 2}, "1");
  CHECK(found({pod}, 2) == "no pod on this node waits for 2 units: ns/a: its container c0 asks for 1");
  CHECK(found({pod}, 2, {{"a", "c0"}}) == "a c1");
}

TEST_CASE("a pod that already has a container with a response has priority") {
  const std::vector<AskingPod> pods{waiting("a", {2, 2}, "1", "0"), waiting("b", {2, 2}, "2", "1")};
  CHECK(found(pods, 2) == "a c0");
  CHECK(found(pods, 2, {{"b", "c0"}}) == "b c1");
  CHECK(found(pods, 2, {{"b", "c0"}, {"b", "c1"}}) == "a c0");
}

TEST_CASE(
    "if no single container fits, a pod whose containers fit together is chosen with all its containers") {
  const AskingPod pod = waiting("a", {1, 2}, "1");
  CHECK(found({pod}, 3) == "a c0 c1");
  CHECK(found({pod, waiting("b", {3}, "2")}, 3) == "b c0");
  CHECK(found({pod}, 3, {{"a", "c0"}}).find("its container c1 asks for 2") != std::string::npos);
  // Init containers do not count, because the schedulers do not count them.
  CHECK(found({PodText{.uid = "a", .units = {1, 2}, .init = {4}}.asking()}, 3) == "a i0 c0 c1");
}

TEST_CASE("pods that are marked, being deleted, running or ended are not chosen") {
  const std::string time = R"("ALIYUN_COM_GPU_MEM_ASSUME_TIME":"1")";
  const std::string assigned = R"("ALIYUN_COM_GPU_MEM_ASSIGNED":)";
  const auto why = [](PodText text) { return why_no_candidate(text.asking(), kTerms); };
  CHECK(why({}).empty());
  CHECK(why({.phase = "Running"}) == "it is Running");
  CHECK(why({.phase = "Failed"}) == "it is Failed");
  CHECK(why({.phase = ""}) == "it is in no phase");
  CHECK(why({.more_metadata = R"("deletionTimestamp":"x",)"}) == "it is being deleted");
  CHECK(why({.annotations = assigned + R"("false")"}) ==
        "it has no annotation ALIYUN_COM_GPU_MEM_ASSUME_TIME, which its scheduler writes");
  CHECK(why({.annotations = time}) == "it has no annotation ALIYUN_COM_GPU_MEM_ASSIGNED");
  CHECK(why({.annotations = time + ',' + assigned + R"("true")"}) ==
        "its annotation ALIYUN_COM_GPU_MEM_ASSIGNED is \"true\"");
  CHECK(why({.annotations = time + ',' + assigned + R"("False")"}) ==
        "its annotation ALIYUN_COM_GPU_MEM_ASSIGNED is \"False\"");
  for (PodText text :
       {PodText{.phase = "Failed"}, PodText{.annotations = time + ',' + assigned + R"("true")"},
        PodText{.more_metadata = R"("deletionTimestamp":"x",)"}})
    CHECK(found({text.asking()}, 2).starts_with("no pod on this node waits for 2 units: ns/a: it"));
}

TEST_CASE(
    "with volcano a pod without the flag is a candidate, because volcano's scheduler does not set it to "
    "false") {
  const AssumeTerms volcano = terms_of(Dialect::kVolcano);
  PodText text{.annotations = R"("volcano.sh/predicate-time":"1","volcano.sh/gpu-index":"0")"};
  CHECK(why_no_candidate(text.asking(volcano), volcano).empty());
  text.annotations += R"(,"volcano.sh/gpu-assigned":"false")";
  CHECK(why_no_candidate(text.asking(volcano), volcano).empty());
  text.annotations = R"("volcano.sh/predicate-time":"1","volcano.sh/gpu-assigned":"true")";
  CHECK(!why_no_candidate(text.asking(volcano), volcano).empty());
}

TEST_CASE("if no pod fits, the error names a few candidates with the reason") {
  CHECK(found({}, 1) == "no pod on this node waits for 1 unit: there is none that asks for any");
  CHECK(found({waiting("a", {2}, "1"), PodText{.uid = "b", .name = "b", .phase = "Running"}.asking()}, 7) ==
        "no pod on this node waits for 7 units: ns/a: its container c0 asks for 2; ns/b: it is Running");
  std::vector<AskingPod> many;
  for (int i = 0; i < 200; ++i) many.push_back(waiting("p" + std::to_string(i), {2}, "1"));
  const std::string text = found(many, 7);
  CHECK(text.ends_with("; and 195 more"));
  CHECK(text.size() < 1000);
  many.resize(5);
  CHECK(found(many, 7).find("more") == std::string::npos);
  // Pending pods are named first.
  for (AskingPod& pod : many) pod.phase = "Running";
  many.push_back(waiting("late", {3}, "9"));
  CHECK(found(many, 7).starts_with(
      "no pod on this node waits for 7 units: ns/late: its container c0 asks for 3; ns/p0: it is Running;"));
  CHECK(found(many, 7).ends_with("; and 1 more"));
}

TEST_CASE("pods with an unknown or Unhealthy card are chosen last, whatever time they claim") {
  const Inventory cards({card_device("0", 16, "16384"), card_device("1", 80, "81920", "lost")});
  const std::vector<AskingPod> pods{waiting("invented", {2}, "1", "7"), waiting("sick", {2}, "2", "1"),
                                    waiting("several", {2}, "3", "0,1"), waiting("honest", {2}, "900", "0")};
  CHECK(found(pods, 2, {}, cards) == "honest c0");
  CHECK(found(pods, 2, {{"honest", "c0"}}, cards) == "invented c0");
  CHECK(found({pods[1]}, 2, {}, cards) == "sick c0");
  // A pod whose containers fit together ranks before one with an unknown card, and after one with a Healthy
  // card.
  const AskingPod sum = waiting("sum", {1, 1}, "950", "0");
  CHECK(found({pods[0], sum}, 2, {}, cards) == "sum c0 c1");
  CHECK(found({pods[3], sum}, 2, {}, cards) == "honest c0");
  // A pod that already has a container with a response ranks first, even if its card has become Unhealthy.
  CHECK(found({waiting("begun", {1, 2}, "990", "1"), pods[3]}, 2, {{"begun", "c0"}}, cards) == "begun c1");
}

TEST_CASE("a time before the pod's creation counts as its creation") {
  const auto created = [](const std::string& uid, const std::string& time, const std::string& at) {
    return PodText{.uid = uid, .name = uid, .annotations = gpushare_annotations(time, "0"), .created = at}
        .asking();
  };
  // The times in annotations: 1795435200 s is 2026-11-23T12:00:00Z.
  const std::vector<AskingPod> pods{created("early", "1795435201000000000", "2026-11-23T12:00:00Z"),
                                    created("claims", "1", "2026-11-23T12:00:02Z"),
                                    created("late", "1795435203000000000", "2026-11-23T12:00:01Z")};
  CHECK(found(pods, 2) == "early c0");
  CHECK(found(pods, 2, {{"early", "c0"}}) == "claims c0");
  CHECK(found(pods, 2, {{"early", "c0"}, {"claims", "c0"}}) == "late c0");
}
