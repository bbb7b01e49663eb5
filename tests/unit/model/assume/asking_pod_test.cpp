#include "model/assume/pod.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "unit/model/assume/pods.hpp"

using namespace plughost;

TEST_CASE("a pod is read with its identity, its containers' units, and its annotations") {
  PodText text{.units = {1, 0, 2}, .init = {4}};
  const AskingPod pod = text.asking();
  CHECK(pod.uid == "uid-a");
  CHECK(pod.name == "ns/a");
  CHECK(pod.phase == "Pending");
  CHECK(pod.created == "2026-11-23T12:00:00Z");
  CHECK(!pod.deleted);
  REQUIRE(pod.containers.size() == 3);
  CHECK(pod.containers[0] == AskingContainer{.name = "i0", .units = 4, .init = true});
  CHECK(pod.containers[1] == AskingContainer{.name = "c0", .units = 1, .init = false});
  CHECK(pod.containers[2] == AskingContainer{.name = "c2", .units = 2, .init = false});
  CHECK(pod.units() == 3);
  CHECK(pod.time == "100");
  CHECK(pod.assigned == "false");
  CHECK(pod.card == "0");
}

TEST_CASE("a pod without units, or without a UID, is ignored") {
  const AssumeTerms terms = terms_of(Dialect::kGpushare);
  CHECK(!asking_pod(pod_of(PodText{.units = {0}}.json()), kGpuMemory, terms));
  CHECK(!asking_pod(pod_of(PodText{.uid = ""}.json()), kGpuMemory, terms));
  CHECK(!asking_pod(pod_of(PodText{}.json()), "aliyun.com/gpu-count", terms));
  CHECK(!asking_pod(pod_of(Json()), kGpuMemory, terms));
  CHECK(!asking_pod(pod_of(Json(Json::Array{1, 2})), kGpuMemory, terms));
}

TEST_CASE("a pod that is being deleted is recognised by its timestamp") {
  CHECK(PodText{.more_metadata = R"("deletionTimestamp":"2026-11-23T12:00:01Z",)"}.asking().deleted);
}

TEST_CASE("doslab has two sets of annotation names, and the set whose time the pod has is used") {
  const AssumeTerms terms = terms_of(Dialect::kDoslab);
  PodText text{
      .annotations =
          R"("DOSLAB_IO_GPU_ASSUME_TIME":"7","DOSLAB_IO_GPU_ASSIGNED":"false","DOSLAB_IO_GPU_UUID":"GPU-1")"};
  AskingPod pod = text.asking(terms);
  CHECK(pod.names.card == "DOSLAB_IO_GPU_UUID");
  CHECK(pod.card == "GPU-1");
  text.annotations =
      R"("doslab.io/gpu-assume-time":"8","doslab.io/gpu-assigned":"false","doslab.io/gpu-uuid":"GPU-0")";
  pod = text.asking(terms);
  CHECK(pod.names.assigned == "doslab.io/gpu-assigned");
  CHECK(pod.time == "8");
  CHECK(pod.assigned == "false");
  CHECK(pod.card == "GPU-0");
  text.annotations = R"("other":"x")";
  pod = text.asking(terms);
  CHECK(pod.names.time == "DOSLAB_IO_GPU_ASSUME_TIME");
  CHECK(!pod.time);
  CHECK(!pod.card);
}

TEST_CASE("pods are ordered by the scheduler's time, then their creation, then their UIDs") {
  const AskingPod early = PodText{.uid = "z", .annotations = gpushare_annotations("9", "0")}.asking();
  const AskingPod late = PodText{.uid = "a", .annotations = gpushare_annotations("10", "0")}.asking();
  CHECK(earlier(early, late));
  CHECK(!earlier(late, early));
  const AskingPod unreadable = PodText{.uid = "0", .annotations = gpushare_annotations("soon", "0")}.asking();
  CHECK(unreadable.assumed_at() == std::numeric_limits<std::uint64_t>::max());
  CHECK(earlier(late, unreadable));
  const AskingPod large = PodText{.annotations = gpushare_annotations("18446744073709551614", "0")}.asking();
  CHECK(large.assumed_at() == 18446744073709551614u);
  CHECK(earlier(large, unreadable));
  const AskingPod younger =
      PodText{.uid = "0", .annotations = gpushare_annotations("9", "0"), .created = "2026-11-23T12:00:01Z"}
          .asking();
  CHECK(earlier(early, younger));
  const AskingPod twin = PodText{.uid = "y", .annotations = gpushare_annotations("9", "0")}.asking();
  CHECK(earlier(twin, early));
  CHECK(!earlier(early, early));
}

TEST_CASE("a pod with an unreadable creation time is ordered by its scheduler's time") {
  for (const std::string created :
       {"", "2026-13-23T12:00:00Z", "2026-11-23T12:00:00+01:00", "1960-01-01T00:00:00Z"})
    CHECK(PodText{.created = created}.asking().assumed_at() == 100);
  CHECK(PodText{.created = "1970-01-01T00:00:01Z"}.asking().assumed_at() == 1'000'000'000);
}

TEST_CASE("the next container is the first unanswered one, init containers before the others") {
  const AskingPod pod = PodText{.units = {1, 2}, .init = {4}}.asking();
  AnsweredContainers answered;
  CHECK(pod.next(answered)->name == "i0");
  answered.insert({"uid-a", "i0"});
  answered.insert({"uid-b", "c0"});
  CHECK(pod.next(answered)->name == "c0");
  answered.insert({"uid-a", "c0"});
  CHECK(pod.next(answered)->name == "c1");
  answered.insert({"uid-a", "c1"});
  CHECK(pod.next(answered) == nullptr);
}

TEST_CASE("the length of a pod's annotations and the number of its containers are limited") {
  PodText text;
  text.annotations = gpushare_annotations("1", std::string(100'000, '7'));
  text.units = std::vector<std::uint64_t>(1000, 1);
  const AskingPod pod = text.asking();
  CHECK(pod.card->size() == AskingPod::kLongestText);
  CHECK(pod.containers.size() == AskingPod::kMostContainers);
}

TEST_CASE("units are read as a quantity of the API, which must be a whole number, and are limited") {
  const auto units = [](const std::string& limit) {
    const auto pod = asking_pod(
        pod_of(Json::parse(
            R"({"metadata":{"uid":"u"},"spec":{"containers":[{"name":"c","resources":{"limits":{")" +
            std::string(kGpuMemory) + R"(":)" + limit + R"(}}}]},"status":{}})")),
        kGpuMemory, terms_of(Dialect::kGpushare));
    return pod ? pod->units() : 0;
  };
  CHECK(units("\"2\"") == 2);
  CHECK(units("2") == 2);
  CHECK(units("\"2k\"") == 2000);
  CHECK(units("-1") == 0);
  CHECK(units("\"-1\"") == 0);
  CHECK(units("\"many\"") == 0);
  CHECK(units("9223372036854775807") == 1ull << 50);
  CHECK(units("\"9223372036854775807\"") == 1ull << 50);
}

TEST_CASE("pods in the phases Succeeded and Failed have ended") {
  for (const std::string phase : {"Succeeded", "Failed"}) CHECK(PodText{.phase = phase}.asking().ended());
  for (const std::string phase : {"Pending", "Running", "Unknown", ""})
    CHECK_FALSE(PodText{.phase = phase}.asking().ended());
}
