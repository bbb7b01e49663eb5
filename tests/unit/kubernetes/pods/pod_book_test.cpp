#include "kubernetes/pods/pod_search.hpp"

#include <doctest/doctest.h>

#include "unit/model/assume/pods.hpp"

namespace plughost {
namespace {

Pod pod(const std::string& uid, const std::string& annotations, const std::string& phase = "Pending") {
  return pod_of(
      PodText{.uid = uid, .name = "name-of-" + uid, .annotations = annotations, .phase = phase}.json());
}
Pod waiting(const std::string& uid, const std::string& card) {
  return pod(uid, gpushare_annotations("1", card));
}

PodBook book() { return PodBook(kGpuMemory, terms_of(Dialect::kGpushare)); }

TEST_CASE("a pod is found by its UID until it is removed, or missing in a new list") {
  PodBook pods = book();
  pods.replace({waiting("a", "0"), waiting("b", "1")});
  CHECK(pods.all().size() == 2);
  CHECK(pods.find("b")->card == "1");
  CHECK_FALSE(pods.find("c"));
  pods.remove("b");
  CHECK_FALSE(pods.find("b"));
  pods.replace({waiting("c", "0")});
  CHECK_FALSE(pods.find("a"));
  CHECK(pods.all().size() == 1);
}

TEST_CASE("a pod that does not request the resource is not kept") {
  PodBook pods("example.com/other", terms_of(Dialect::kGpushare));
  pods.put(waiting("a", "0"));
  CHECK(pods.all().empty());
}

TEST_CASE("ended pods are not kept, and free their places") {
  PodBook pods = book();
  for (std::size_t i = 0; i < PodBook::kMostPods; ++i)
    pods.put(
        pod("over-" + std::to_string(i), gpushare_annotations("1", "0"), i % 2 ? "Failed" : "Succeeded"));
  pods.put(waiting("a", "0"));
  CHECK(pods.all().size() == 1);
  pods.put(pod("a", gpushare_annotations("1", "0"), "Succeeded"));
  CHECK(pods.all().empty());
}

TEST_CASE("guess: the card of a pod is the first annotation, whatever is written later") {
  PodBook pods = book();
  pods.put(pod("a", R"("x":"y")"));
  CHECK_FALSE(pods.find("a")->card);
  pods.put(waiting("a", "0"));
  CHECK(pods.find("a")->card == "0");
  pods.put(pod("a", gpushare_annotations("1", "1"), "Running"));
  CHECK(pods.find("a")->card == "0");
  CHECK(pods.find("a")->phase == "Running");
  pods.replace({waiting("a", "1"), waiting("b", "1")});
  CHECK(pods.find("a")->card == "0");
  pods.put(pod("a", R"("x":"y")"));
  CHECK(pods.find("a")->card == "0");
  CHECK(pods.find("b")->card == "1");
  pods.remove("a");
  pods.put(waiting("a", "1"));
  CHECK(pods.find("a")->card == "1");
}

TEST_CASE("guess: the first card stays if annotations of the dialect's other names are added") {
  PodBook pods(kGpuMemory, terms_of(Dialect::kDoslab));
  const std::string newer = R"("doslab.io/gpu-assume-time":"1","doslab.io/gpu-uuid":"GPU-0")";
  pods.put(pod("a", newer));
  CHECK(pods.find("a")->card == "GPU-0");
  pods.put(pod("a", newer + R"(,"DOSLAB_IO_GPU_ASSUME_TIME":"1","DOSLAB_IO_GPU_UUID":"GPU-1")"));
  CHECK(pods.find("a")->card == "GPU-0");
}

TEST_CASE("late: the card of a pod is its present annotation") {
  AssumeTerms terms = terms_of(Dialect::kGpushare);
  terms.identify = Identify::kLate;
  PodBook pods(kGpuMemory, terms);
  pods.put(waiting("a", "0"));
  pods.put(waiting("a", "1"));
  CHECK(pods.find("a")->card == "1");
}

TEST_CASE("a pod that was marked stays marked despite older events, until an event has the mark") {
  PodBook pods = book();
  pods.put(waiting("a", "0"));
  pods.set_marked("a");
  CHECK(pods.find("a")->assigned == "true");
  pods.put(pod("a", gpushare_annotations("1", "0"), "Running"));
  CHECK(pods.find("a")->assigned == "true");
  pods.put(pod("a", marked_annotations("1", "0")));
  pods.put(waiting("a", "0"));
  CHECK(pods.find("a")->assigned == "false");
}

TEST_CASE("neither the mark nor the card of a former pod is used for a later pod with its UID") {
  PodBook pods = book();
  for (const bool listed : {true, false}) {
    pods.put(waiting("a", "0"));
    pods.set_marked("a");
    if (listed)
      pods.replace({});
    else
      pods.remove("a");
    pods.put(waiting("a", "1"));
    CHECK(pods.find("a")->card == "1");
    CHECK(pods.find("a")->assigned == "false");
    pods.remove("a");
  }
  pods.set_marked("b");
  pods.put(waiting("b", "0"));
  CHECK(pods.find("b")->assigned == "false");
}

TEST_CASE("a pod that has ended is removed from the book, whether an event or a list reports the end") {
  PodBook pods = book();
  for (std::size_t n = 0; n < PodBook::kMostPods; ++n)
    pods.put(
        pod("ended-" + std::to_string(n), gpushare_annotations("1", "0"), n % 2 ? "Failed" : "Succeeded"));
  CHECK(pods.all().empty());
  pods.put(waiting("a", "0"));
  CHECK(pods.find("a"));
  pods.put(pod("a", gpushare_annotations("1", "0"), "Failed"));
  CHECK_FALSE(pods.find("a"));
  pods.replace({waiting("a", "0")});
  pods.replace({pod("a", gpushare_annotations("1", "0"), "Succeeded")});
  CHECK_FALSE(pods.find("a"));
}

TEST_CASE("pods beyond the limit are not kept, and known pods are still updated") {
  PodBook pods = book();
  for (std::size_t n = 0; n < PodBook::kMostPods; ++n) pods.put(waiting(std::to_string(n), "0"));
  pods.put(waiting("one more", "0"));
  CHECK(pods.all().size() == PodBook::kMostPods);
  pods.put(pod("7", gpushare_annotations("1", "0"), "Running"));
  CHECK(pods.find("7")->phase == "Running");
}

}  // namespace
}  // namespace plughost
