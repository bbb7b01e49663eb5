#include "model/assume/pod.hpp"

#include <doctest/doctest.h>

#include "unit/model/assume/pods.hpp"

using namespace plughost;

// The annotations are exactly those that the original plugins patch. plughost adds the UID, so that no later
// pod with the same name is marked.
TEST_CASE("gpushare's mark is the flag and the present time") {
  CHECK(mark_patch(terms_of(Dialect::kGpushare), PodText{}.asking(), 1764000000123456789) ==
        R"({"metadata":{"uid":"uid-a","annotations":{"ALIYUN_COM_GPU_MEM_ASSIGNED":"true",)"
        R"("ALIYUN_COM_GPU_MEM_ASSUME_TIME":"1764000000123456789"}}})");
}

TEST_CASE("doslab's mark is the flag alone, in the pod's own set of names") {
  const AssumeTerms terms = terms_of(Dialect::kDoslab);
  CHECK(mark_patch(terms, PodText{.annotations = R"("DOSLAB_IO_GPU_ASSUME_TIME":"7")"}.asking(terms), 1) ==
        R"({"metadata":{"uid":"uid-a","annotations":{"DOSLAB_IO_GPU_ASSIGNED":"true"}}})");
  CHECK(mark_patch(terms, PodText{.annotations = R"("doslab.io/gpu-assume-time":"7")"}.asking(terms), 1) ==
        R"({"metadata":{"uid":"uid-a","annotations":{"doslab.io/gpu-assigned":"true"}}})");
}

TEST_CASE("volcano's mark is the flag alone") {
  const AssumeTerms terms = terms_of(Dialect::kVolcano);
  CHECK(mark_patch(terms, PodText{}.asking(terms), 1) ==
        R"({"metadata":{"uid":"uid-a","annotations":{"volcano.sh/gpu-assigned":"true"}}})");
}

TEST_CASE("a pod is complete when its last container has been answered") {
  const AskingPod pod = PodText{.units = {1, 2}, .init = {4}}.asking();
  AnsweredContainers answered{{"uid-a", "i0"}, {"uid-a", "c0"}};
  CHECK(pod.next(answered));
  answered.insert({"uid-b", "c1"});
  CHECK(pod.next(answered));
  answered.insert({"uid-a", "c1"});
  CHECK(!pod.next(answered));
}

TEST_CASE("pods whose containers all hold their units and that have no mark yet are to be marked") {
  const std::vector<AskingPod> pods{
      PodText{.uid = "holds"}.asking(),
      PodText{.uid = "runs", .phase = "Running"}.asking(),
      PodText{.uid = "half", .units = {1, 2}}.asking(),
      PodText{.uid = "waits"}.asking(),
      PodText{.uid = "ended", .phase = "Failed"}.asking(),
      PodText{.uid = "marked",
              .annotations = R"("ALIYUN_COM_GPU_MEM_ASSUME_TIME":"1","ALIYUN_COM_GPU_MEM_ASSIGNED":"true")"}
          .asking(),
      PodText{.uid = "stranger", .annotations = R"("x":"y")"}.asking()};
  const AnsweredContainers holding{{"holds", "c0"}, {"runs", "c0"},   {"half", "c0"},
                                   {"ended", "c0"}, {"marked", "c0"}, {"stranger", "c0"}};
  std::string found;
  for (const AskingPod* pod : to_be_marked(pointers(pods), holding)) found += pod->uid + ' ';
  CHECK(found == "holds runs ");
}

TEST_CASE("only \"true\" marks a pod") {
  AskingPod pod = PodText{}.asking();
  for (const std::string not_yet : {"false", "True", "1", ""}) {
    pod.assigned = not_yet;
    CHECK_FALSE(marked(pod));
  }
  pod.assigned.reset();
  CHECK_FALSE(marked(pod));
  pod.assigned = "true";
  CHECK(marked(pod));
}
