// Tests `identify: guess`. The test decides when the kubelet writes its checkpoint.

#include <doctest/doctest.h>

#include <absl/strings/escaping.h>

#include <filesystem>
#include <random>

#include "deviceplugin/v1beta1/deviceplugin.pb.h"
#include "kubernetes/kubelet/wire.hpp"
#include "kubernetes/pods/assuming.hpp"
#include "unit/kubernetes/pods/rig.hpp"
#include "unit/texts.hpp"

namespace plughost {
namespace {

using test::has;
using test::kAssigned;

using Ids = std::vector<std::string>;
using namespace std::chrono_literals;

const std::string kIndex = "ALIYUN_COM_GPU_MEM_IDX";

AssumeTerms guess(Dialect dialect = Dialect::kGpushare) {
  AssumeTerms terms = terms_of(dialect);
  terms.identify = Identify::kGuess;
  return terms;
}

SharedSnapshot snapshot_of(AssumeTerms terms, Inventory cards) {
  AllocationSpec spec;
  spec.units = true;
  spec.assume = std::move(terms);
  return std::make_shared<const ResourceSnapshot>(
      ResourceSnapshot{.resource = kGpuMemory,
                       .inventory = std::move(cards),
                       .spec = std::make_shared<const AllocationSpec>(std::move(spec))});
}

struct GuessedRig : test::PodsRig {
  // A container that the kubelet has admitted, with its ids and its response.
  struct Held {
    std::string pod;
    std::string container;
    Ids ids;
    Allocation answer;
  };
  // The state of a running plughost, and a second reader of the pods, whose card is the current annotation.
  struct Process {
    Process(GuessedRig& rig, const SharedSnapshot& snapshot)
        : assuming({.loop = rig.loop,
                    .log = rig.log,
                    .api_server = rig.server,
                    .node_watch = rig.nodes,
                    .checkpoint = [&rig]() -> CheckpointReader& { return rig.reader; },
                    .write_late = {},
                    .remove_other_late = {}},
                   rig.directory.at("pods-api.sock")),
          cards(AssumedCards::of(assuming, *snapshot)),
          pods(
              rig.loop, assuming.pods(), kGpuMemory,
              [] {
                AssumeTerms terms = terms_of(Dialect::kGpushare);
                terms.identify = Identify::kLate;
                return terms;
              }(),
              [](bool) {}) {}
    Assuming assuming;
    std::unique_ptr<AssumedCards> cards;
    PodSearch pods;
  };

  explicit GuessedRig(AssumeTerms terms = guess(), Inventory cards = two_cards())
      : snapshot(snapshot_of(std::move(terms), std::move(cards))) {
    write_checkpoint();
    start_again();
  }
  void start_again() {
    process.reset();
    process.emplace(*this, snapshot);
  }

  // Waits until plughost's watch shows the pod in the wanted state.
  bool sees(const std::string& uid, const std::function<bool(const AskingPod* pod)>& condition) {
    return until([&] { return condition(process->pods.book().find(uid)); });
  }
  void put(const PodText& text) {
    cluster.put_pod(text.json());
    REQUIRE(sees(text.uid, [](const AskingPod* pod) { return pod != nullptr; }));
  }
  void pod(const std::string& uid, const std::string& time, const std::string& card,
           std::vector<std::uint64_t> units = {2}) {
    put({.uid = uid,
         .name = uid,
         .units = std::move(units),
         .annotations = gpushare_annotations(time, card)});
  }
  void edit(const std::string& uid, const std::string& card) {
    cluster.annotate(uid, {{kIndex, card}});
    REQUIRE(sees(uid, [&](const AskingPod* pod) { return pod && pod->card == card; }));
  }
  void phase(const std::string& uid, const std::string& phase) {
    cluster.set_phase(uid, phase);
    REQUIRE(sees(uid, [&](const AskingPod* pod) { return !pod || pod->phase == phase; }));
  }
  void remove(const std::string& uid) {
    cluster.remove_pod(uid);
    REQUIRE(sees(uid, [](const AskingPod* pod) { return pod == nullptr; }));
  }

  static IdSet set(const Ids& ids) { return IdSet::of(kGpuMemory, ids); }
  using Outcome = std::variant<Allocation, std::string>;
  Outcome allocate(const Ids& ids) {
    std::optional<Outcome> outcome;
    process->cards->allocate(snapshot, set(ids), [&](Outcome told) { outcome = std::move(told); });
    REQUIRE(until([&] { return outcome.has_value(); }));
    return *outcome;
  }
  // Returns the cards of two Allocates that overlap in time.
  std::vector<std::string> allocate_both(const Ids& one, const Ids& other) {
    std::vector<std::string> given;
    for (const Ids& ids : {one, other})
      process->cards->allocate(snapshot, set(ids), [&](const Outcome& told) {
        given.push_back(std::get<Allocation>(told).env.at(kIndex));
      });
    REQUIRE(until([&] { return given.size() == 2; }));
    return given;
  }
  // Runs an Allocate and admits the container: adds its ids and response to the checkpoint. Returns the
  // container's card, or the error.
  std::string admit(const std::string& pod, const Ids& ids, const std::string& container = "c0") {
    const Outcome outcome = allocate(ids);
    if (const auto* const why = std::get_if<std::string>(&outcome)) return *why;
    const Allocation& answer = std::get<Allocation>(outcome);
    held.push_back({pod, container, ids, answer});
    write_checkpoint();
    return answer.env.contains(kIndex) ? answer.env.at(kIndex) : "none";
  }
  // Removes everything that the pod holds from the checkpoint.
  void release(const std::string& pod) {
    std::erase_if(held, [&](const Held& each) { return each.pod == pod; });
    write_checkpoint();
  }
  void write_checkpoint() {
    std::string entries;
    for (const Held& each : held) {
      std::string ids;
      for (const std::string& id : each.ids) ids += (ids.empty() ? "\"" : ",\"") + id + '"';
      v1beta1::ContainerAllocateResponse message;
      write_allocation(each.answer, message);
      entries += std::string(entries.empty() ? "" : ",") + R"({"PodUID":")" + each.pod +
                 R"(","ContainerName":")" + each.container + R"(","ResourceName":")" + kGpuMemory +
                 R"(","DeviceIDs":{"-1":[)" + ids + R"(]},"AllocResp":")" +
                 absl::Base64Escape(message.SerializeAsString()) + R"("})";
    }
    directory.file(kCheckpointName, R"({"Data":{"PodDeviceEntries":[)" + entries +
                                        R"(],"RegisteredDevices":{}},"Checksum":1})");
  }
  // Runs the check before a container's start. Returns why the container may not start; empty: it may.
  std::string start(const Ids& ids) {
    std::optional<std::string> error;
    process->cards->prepare_start(snapshot, set(ids), [&](std::string told) { error = std::move(told); });
    REQUIRE(until([&] { return error.has_value(); }));
    return *error;
  }
  // Returns true if plughost's patches of pods contain only marks.
  bool marks_alone() const {
    for (const std::string& body : cluster.pod_patches()) {
      if (has(body, kIndex) || !has(body, "\"" + kAssigned + R"(":"true")")) return false;
    }
    return true;
  }
  bool marked(const std::string& uid) {
    return until([&] { return cluster.annotation(uid, kAssigned) == "true"; });
  }

  SharedSnapshot snapshot;
  NodeWatch nodes{server};
  CheckpointReader reader{workers, log, directory.at(kCheckpointName), directory.at("pods")};
  std::vector<Held> held;
  std::optional<Process> process;
};

const Ids kFirst{"1", "2"};
const Ids kSecond{"3", "4"};
const Ids kThird{"5", "6"};

}  // namespace

TEST_CASE(
    "a pod's units are counted on the card in its annotation, whether the holder has the pod's UID or name") {
  GuessedRig rig;
  rig.pod("mine", "100", "1");
  const auto by_card = rig.process->cards->by_annotation(rig.snapshot->inventory);
  const Holder by_uid{.pod_namespace = "", .pod = "mine", .container = "c0"};
  const Holder by_name{.pod_namespace = "ns", .pod = "mine", .container = "c0"};
  const std::string card_1 = rig.snapshot->inventory.devices()[1].id;
  for (const Holder& holder : {by_uid, by_name})
    CHECK(by_card({{"x", holder}}) == HoldersOfIds{{card_1 + "::0", by_name}});
  const Holder elsewhere{.pod_namespace = "other", .pod = "mine", .container = "c0"};
  CHECK(by_card({{"x", elsewhere}}) == HoldersOfIds{{"x", elsewhere}});
  // The function works on copies, so it does not see later changes.
  rig.remove("mine");
  CHECK(by_card({{"x", by_uid}}) == HoldersOfIds{{card_1 + "::0", by_name}});
}

TEST_CASE("an edited annotation after an Allocate changes no other pod") {
  GuessedRig rig;
  rig.pod("mine", "100", "0");
  REQUIRE(rig.admit("mine", kFirst) == "0");
  REQUIRE(rig.marked("mine"));
  rig.pod("theirs", "200", "0");
  rig.edit("mine", "7");
  // The container keeps the card that it was given.
  CHECK(rig.start(kFirst) == "");
  CHECK(rig.admit("theirs", kSecond) == "0");
  CHECK(rig.start(kSecond) == "");
  REQUIRE(rig.marked("theirs"));
  CHECK(rig.cluster.annotation("theirs", kIndex) == "0");
  CHECK(rig.cluster.annotation("mine", kIndex) == "7");
  CHECK(rig.marks_alone());
  CHECK(rig.cluster.pod_patches().size() == 2);
}

TEST_CASE(
    "a container that was given the card chosen for a different pod does not start, and that pod's container "
    "does") {
  GuessedRig rig;
  rig.pod("a", "100", "0");
  rig.pod("b", "200", "1");
  // The kubelet admits the pods in the reverse order of their annotations.
  REQUIRE(rig.admit("b", kFirst) == "0");
  REQUIRE(rig.admit("a", kSecond) == "0");
  const std::string why = rig.start(kFirst);
  CHECK(
      why ==
      "the container was given card 0, but the scheduler chose card 1 for its pod ns/b (annotation "
      "ALIYUN_COM_GPU_MEM_IDX): plughost took its Allocate for another pod's, or the annotation has changed "
      "since. Delete the pod; its controller creates another");
  CHECK(rig.start(kSecond) == "");
  // If the owner of b edits the annotation, the container still does not start.
  rig.edit("b", "0");
  CHECK(rig.start(kFirst) == why);
  CHECK(rig.cluster.annotation("a", kIndex) == "0");
  CHECK(rig.marks_alone());
}

TEST_CASE("two pods that were mistaken for each other both start if they have the same card") {
  GuessedRig rig;
  rig.pod("a", "100", "1");
  rig.pod("b", "200", "1");
  REQUIRE(rig.admit("b", kFirst) == "1");
  REQUIRE(rig.admit("a", kSecond) == "1");
  CHECK(rig.start(kFirst) == "");
  CHECK(rig.start(kSecond) == "");
}

TEST_CASE("without a readable checkpoint no container starts, and with one it does") {
  GuessedRig rig;
  rig.pod("a", "100", "1");
  REQUIRE(rig.admit("a", kFirst) == "1");
  rig.directory.file(kCheckpointName, "{");
  CHECK(rig.start(kFirst) ==
        "the kubelet's checkpoint, which records the pod of these devices, cannot be read");
  rig.write_checkpoint();
  CHECK(rig.start(kFirst) == "");
}

TEST_CASE("a start whose ids are not in the checkpoint yet is refused, and retried") {
  GuessedRig rig;
  rig.pod("a", "100", "1");
  const Allocation answer = std::get<Allocation>(rig.allocate(kFirst));
  CHECK(has(rig.start(kFirst), "the kubelet's checkpoint has no container with exactly these 2 devices"));
  rig.held.push_back({"a", "c0", kFirst, answer});
  rig.write_checkpoint();
  CHECK(rig.start(kFirst) == "");
}

TEST_CASE("after a restart of plughost, a stored response is compared with the current annotation") {
  GuessedRig rig;
  rig.pod("right", "100", "0");
  REQUIRE(rig.admit("right", kFirst) == "0");
  rig.pod("a", "200", "0");
  rig.pod("wrong", "300", "1");
  REQUIRE(rig.admit("wrong", kSecond) == "0");
  rig.pod("edited", "400", "1");
  REQUIRE(rig.admit("a", kThird) == "0");
  REQUIRE(rig.admit("edited", {"7", "8"}) == "1");
  rig.edit("edited", "0");
  CHECK(rig.start({"7", "8"}) == "");
  rig.start_again();
  CHECK(rig.start(kFirst) == "");
  CHECK(has(rig.start(kSecond), "given card 0, but the scheduler chose card 1 for its pod ns/wrong"));
  CHECK(rig.start(kThird) == "");
  // After a restart an edited annotation looks like a wrong guess.
  CHECK(has(rig.start({"7", "8"}), "given card 1, but the scheduler chose card 0 for its pod ns/edited"));
  rig.edit("edited", "1");
  rig.start_again();
  CHECK(rig.start({"7", "8"}) == "");
}

TEST_CASE("a container whose pod is unknown is refused after a wait, and starts when the pod is known") {
  GuessedRig rig;
  rig.pod("a", "100", "1");
  REQUIRE(rig.admit("a", kFirst) == "1");
  rig.remove("a");
  const std::string why = rig.start(kFirst);
  CHECK_MESSAGE(why == "no pod on this node has the UID a, as far as is known", why);
  rig.cluster.stop();
  rig.start_again();
  CHECK(rig.start(kFirst).starts_with("no pod on this node has the UID a, as far as is known: "));
  rig.cluster.start();
  rig.cluster.put_pod(PodText{.uid = "a", .name = "a", .annotations = gpushare_annotations("1", "1")}.json());
  CHECK(rig.until([&] { return rig.start(kFirst).empty(); }));
}

TEST_CASE(
    "a pod that no scheduler has assumed does not start on the card that was chosen for a different pod") {
  GuessedRig rig;
  rig.pod("a", "100", "0");
  rig.put({.uid = "stranger", .name = "stranger", .annotations = R"("x":"y")"});
  REQUIRE(rig.admit("stranger", kFirst) == "0");
  CHECK(has(rig.start(kFirst), "given card 0, but the scheduler chose none for its pod ns/stranger"));
  CHECK(rig.admit("a", kSecond) == "0");
  CHECK(rig.start(kSecond) == "");
}

TEST_CASE(
    "a pod that no scheduler has assumed gets the node's only card with onlyCard, or none with "
    "answerWithoutCard") {
  AssumeTerms terms = guess();
  terms.only_card = true;
  {
    GuessedRig rig(terms, Inventory({card_device("0", 16, "16384")}));
    rig.put({.uid = "stranger", .name = "stranger", .annotations = R"("x":"y")"});
    REQUIRE(rig.admit("stranger", kFirst) == "0");
    CHECK(rig.start(kFirst) == "");
    REQUIRE(rig.admit("unknown", kSecond) == "0");
    CHECK(rig.start(kSecond) == "");
  }
  terms = guess();
  terms.answer_without_card = true;
  GuessedRig rig(terms);
  rig.put({.uid = "stranger", .name = "stranger", .annotations = R"("x":"y")"});
  REQUIRE(rig.admit("stranger", kFirst) == "-1");
  CHECK(rig.start(kFirst) == "");
}

TEST_CASE("of two containers with the same ids neither starts if one has a wrong card") {
  GuessedRig rig;
  rig.put(
      {.uid = "b", .name = "b", .units = {2}, .init = {2}, .annotations = gpushare_annotations("200", "1")});
  rig.pod("a", "100", "0");
  REQUIRE(rig.admit("b", kFirst, "i0") == "0");
  rig.remove("a");
  REQUIRE(rig.admit("b", kFirst, "c0") == "1");
  CHECK(has(rig.start(kFirst), "given card 0, but the scheduler chose card 1"));
}

TEST_CASE("a pod that claims an early time and a card that does not exist gets no other pod's card") {
  GuessedRig rig;
  rig.pod("claims", "1", "7");
  std::optional<GuessedRig::Outcome> outcome;
  rig.process->cards->allocate(rig.snapshot, GuessedRig::set(kFirst),
                               [&](GuessedRig::Outcome told) { outcome = std::move(told); });
  // The pod whose Allocate this is appears later.
  rig.pod("honest", "900", "1");
  REQUIRE(rig.until([&] { return outcome.has_value(); }));
  REQUIRE(std::holds_alternative<Allocation>(*outcome));
  CHECK(std::get<Allocation>(*outcome).env.at(kIndex) == "1");
  rig.held.push_back({"honest", "c0", kFirst, std::get<Allocation>(*outcome)});
  rig.write_checkpoint();
  CHECK(rig.admit("claims", kSecond) ==
        "pod ns/claims: its annotation ALIYUN_COM_GPU_MEM_IDX is \"7\", and no card of this node is that; "
        "there are 0, 1");
}

TEST_CASE("a wrong guess is refused although volcano's response does not name the card") {
  AssumeTerms terms = guess(Dialect::kVolcano);
  terms.sets_visible = false;
  GuessedRig rig(terms);
  const auto put = [&](const std::string& uid, const std::string& time, const std::string& card) {
    rig.put({.uid = uid,
             .name = uid,
             .annotations =
                 R"("volcano.sh/predicate-time":")" + time + R"(","volcano.sh/gpu-index":")" + card + "\""});
  };
  put("a", "100", "0");
  put("b", "200", "1");
  REQUIRE(rig.admit("b", kFirst) == "none");
  REQUIRE(rig.admit("a", kSecond) == "none");
  CHECK(has(rig.start(kFirst), "given card 0, but the scheduler chose card 1 for its pod ns/b"));
  CHECK(rig.start(kSecond) == "");
  CHECK(has(rig.start(kFirst), "given card 0, but the scheduler chose card 1 for its pod ns/b"));
  // The next container with the same ids has a different card.
  rig.release("b");
  rig.remove("b");
  put("c", "300", "1");
  REQUIRE(rig.admit("c", kFirst) == "none");
  CHECK(rig.start(kFirst) == "");
}

TEST_CASE("after a wrong guess the guessed pod can be guessed again, for one of two overlapping Allocates") {
  GuessedRig rig;
  rig.pod("a", "100", "0");
  rig.pod("b", "200", "1");
  REQUIRE(rig.admit("b", kFirst) == "0");
  CHECK_FALSE(rig.start(kFirst).empty());
  rig.pod("c", "300", "1");
  CHECK(rig.allocate_both(kSecond, kThird) == std::vector<std::string>{"0", "1"});
}

TEST_CASE("if the kubelet refuses a pod after its Allocate, the pod that was guessed still gets its card") {
  for (const Ids& ids : {kFirst, kSecond}) {
    GuessedRig rig;
    rig.pod("a", "100", "0");
    rig.pod("refused", "200", "1");
    // The checkpoint is not written, as if a different resource of the container had failed.
    REQUIRE(std::get<Allocation>(rig.allocate(kFirst)).env.at(kIndex) == "0");
    rig.phase("refused", "Failed");
    CHECK(rig.admit("a", ids) == "0");
    CHECK(rig.start(ids) == "");
    CHECK(rig.marked("a"));
  }
}

TEST_CASE("a guess stays while the checkpoint cannot be read, and before the kubelet has the response") {
  GuessedRig rig;
  rig.pod("a", "100", "0");
  rig.pod("b", "200", "1");
  rig.directory.file(kCheckpointName, "{");
  REQUIRE(std::get<Allocation>(rig.allocate(kFirst)).env.at(kIndex) == "0");
  CHECK(std::get<Allocation>(rig.allocate(kSecond)).env.at(kIndex) == "1");
  rig.write_checkpoint();
  CHECK(rig.allocate_both(kFirst, kSecond) == std::vector<std::string>{"0", "1"});
}

TEST_CASE("the mark of a pod that has ended, or does not exist, is not retried") {
  GuessedRig rig;
  rig.cluster.refuse("PATCH", 403);
  for (const std::string uid : {"ended", "gone", "stays"}) {
    rig.pod(uid, "100", "0");
    REQUIRE(rig.admit(uid, {uid + "1", uid + "2"}) == "0");
    CHECK(rig.start({uid + "1", uid + "2"}) == "");
  }
  rig.phase("ended", "Failed");
  rig.remove("gone");
  rig.cluster.refuse("PATCH", 0);
  REQUIRE(rig.marked("stays"));
  test::pass(rig.loop, PodMarks::kLongestPause);
  CHECK_FALSE(rig.cluster.annotation("ended", kAssigned) == "true");
}

TEST_CASE("onlyCard and answerWithoutCard give nothing to a pod whose annotation names no card of the node") {
  AssumeTerms terms = guess();
  terms.only_card = true;
  terms.answer_without_card = true;
  GuessedRig rig(terms, Inventory({card_device("0", 16, "16384")}));
  rig.pod("a", "1", "7");
  CHECK(has(rig.admit("a", kFirst), "is \"7\", and no card of this node is that; there are 0"));
}

// A random sequence: pods are created, admitted in any order, started and removed, their annotations are
// edited, and plughost restarts.
TEST_CASE(
    "in random sequences a container starts only on the card that its pod's annotation named first, and only "
    "marks are written") {
  for (const bool edits : {true, false}) {
    CAPTURE(edits);
    for (const unsigned seed : {1u, 2u, 3u}) {
      CAPTURE(seed);
      std::mt19937 random(seed);
      const auto any = [&](std::size_t count) { return random() % count; };
      struct Known {
        std::string uid;
        std::string card;
        std::size_t units;
        std::string given;
        Ids ids;
      };
      GuessedRig rig;
      std::vector<Known> pods;
      unsigned next = 0;
      unsigned started = 0;
      unsigned refused = 0;
      const auto free_ids = [&](std::size_t count) {
        Ids ids;
        for (unsigned n = 0; ids.size() < count; ++n) {
          const std::string id = std::to_string(n);
          const bool taken = std::ranges::any_of(
              rig.held, [&](const GuessedRig::Held& each) { return std::ranges::count(each.ids, id) != 0; });
          if (!taken) ids.push_back(id);
        }
        return ids;
      };
      for (int step = 0; step < 150; ++step) {
        const std::size_t what = any(10);
        if (pods.size() < 4 || (what < 2 && pods.size() < 10)) {
          const std::size_t n = next++;
          pods.push_back({.uid = "p" + std::to_string(n),
                          .card = std::to_string(any(2)),
                          .units = 1 + any(2),
                          .given = "",
                          .ids = {}});
          rig.pod(pods.back().uid, std::to_string(100 + any(100)), pods.back().card, {pods.back().units});
          continue;
        }
        Known& pod = pods[any(pods.size())];
        if (what < 5 && pod.ids.empty()) {
          const Ids ids = free_ids(pod.units);
          // Sometimes the kubelet refuses the pod after the response.
          if (any(5) == 0) rig.allocate(ids);
          pod.given = rig.admit(pod.uid, ids);
          pod.ids = ids;
          CHECK((pod.given == "0" || pod.given == "1"));
        } else if (what < 8 && !pod.ids.empty()) {
          const std::string error = rig.start(pod.ids);
          CAPTURE(error);
          CHECK(error.empty() == (pod.given == pod.card));
          ++(error.empty() ? started : refused);
        } else if (what == 8) {
          if (edits)
            rig.edit(pod.uid, std::to_string(any(2)));
          else
            rig.start_again();
        } else if (what == 9) {
          rig.release(pod.uid);
          rig.remove(pod.uid);
          std::erase_if(pods, [&](const Known& each) { return each.uid == pod.uid; });
        }
      }
      CHECK(started > 5);
      CHECK(refused > 0);
      CHECK(rig.marks_alone());
    }
  }
}

}  // namespace plughost
