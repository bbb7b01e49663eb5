#include "model/assume/answer.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "model/assume/pod.hpp"
#include "unit/model/assume/pods.hpp"

namespace plughost {
namespace {

using Env = std::map<std::string, std::string>;

const AskingPod kTrainer = PodText{.name = "trainer", .units = {2, 3}, .init = {4}}.asking();

ResourceSnapshot snapshot(AssumeTerms terms, Inventory inventory = two_cards()) {
  AllocationSpec spec;
  spec.units = true;
  spec.env = {{Template("WHICH"), Template("{index}")}};
  spec.assume = std::move(terms);
  return {.resource = kGpuMemory,
          .inventory = std::move(inventory),
          .spec = std::make_shared<const AllocationSpec>(std::move(spec))};
}

TEST_CASE(
    "a response for a card has the dialect's variables, the entry's own, and CGPU_DISABLE on nodes without "
    "isolation") {
  const ResourceSnapshot gpushare = snapshot(terms_of(Dialect::kGpushare));
  const Device& card = gpushare.inventory.devices()[1];
  Env env{{"NVIDIA_VISIBLE_DEVICES", "1"},  {"ALIYUN_COM_GPU_MEM_IDX", "1"},
          {"ALIYUN_COM_GPU_MEM_POD", "5"},  {"ALIYUN_COM_GPU_MEM_CONTAINER", "2"},
          {"ALIYUN_COM_GPU_MEM_DEV", "80"}, {"WHICH", "1"}};
  const auto answer = [&](bool by_uuid, bool without_isolation) {
    return std::get<Allocation>(
        answer_on_card(gpushare, *gpushare.spec, card, 2, &kTrainer, by_uuid, without_isolation));
  };
  CHECK(answer(false, false).env == env);
  env["CGPU_DISABLE"] = "true";
  CHECK(answer(false, true).env == env);
  CHECK(answer(true, false).env.at("NVIDIA_VISIBLE_DEVICES") == "GPU-1");

  AllocationSpec other = *gpushare.spec;
  other.env = {{Template("ALIYUN_COM_GPU_MEM_IDX"), Template("7")}};
  const auto refused = answer_on_card(gpushare, other, card, 2, &kTrainer, false, false);
  CHECK(std::get<std::string>(refused).starts_with("the environment variable ALIYUN_COM_GPU_MEM_IDX would"));
}

TEST_CASE(
    "without a pod the response is an error, the only card with onlyCard, or no card with "
    "answerWithoutCard") {
  AssumeTerms terms = terms_of(Dialect::kGpushare);
  CHECK(std::get<std::string>(answer_without_pod(snapshot(terms), 2, "nobody", false)) == "nobody");
  terms.only_card = true;
  CHECK(std::get<std::string>(answer_without_pod(snapshot(terms), 2, "nobody", false)) == "nobody");
  const Inventory one({card_device("0", 16, "16384")});
  const auto only = std::get<Allocation>(answer_without_pod(snapshot(terms, one), 2, "nobody", true));
  CHECK(only.env.at("NVIDIA_VISIBLE_DEVICES") == "GPU-0");
  CHECK(only.env.at("ALIYUN_COM_GPU_MEM_POD") == "2");
  CHECK(only.env.at("CGPU_DISABLE") == "true");
  terms.answer_without_card = true;
  terms.unit = 1024;
  const auto none = std::get<Allocation>(answer_without_pod(snapshot(terms), 2, "nobody", false));
  CHECK(none.env == no_card_env(terms, 2, 16));
  const auto nothing =
      std::get<Allocation>(answer_without_pod(snapshot(terms, Inventory{}), 2, "nobody", false));
  CHECK(nothing.env == no_card_env(terms, 2, 0));
}

TEST_CASE("a late response has all variables and mounts in its CDI edits") {
  ResourceSnapshot late = snapshot(terms_of(Dialect::kGpushare));
  AllocationSpec spec = *late.spec;
  spec.cdi = CdiNames::kCri;
  spec.mounts = {{.host_path = Template("/a"), .container_path = Template("/b"), .read_only = true}};
  late.spec = std::make_shared<const AllocationSpec>(spec);
  const Device& card = late.inventory.devices()[0];
  const auto edits = std::get<CdiEdits>(late_edits(late, card, 2, kTrainer, true));
  CHECK(edits.env.at("ALIYUN_COM_GPU_MEM_POD") == "5");
  CHECK(edits.env.at("ALIYUN_COM_GPU_MEM_CONTAINER") == "2");
  CHECK(edits.env.at("WHICH") == "0");
  CHECK(edits.env.at("CGPU_DISABLE") == "true");
  CHECK(edits.mounts ==
        std::vector<ContainerMount>{{.host_path = "/a", .container_path = "/b", .read_only = true}});
}

TEST_CASE("an entry's variables can have the pod's name and units, and are refused if the pod is unknown") {
  AssumeTerms terms = terms_of(Dialect::kGpushare);
  terms.only_card = true;
  ResourceSnapshot one = snapshot(terms, Inventory({card_device("0", 16, "16384")}));
  const Device& card = one.inventory.devices()[0];
  AllocationSpec spec = *one.spec;
  spec.env = {{Template("WHO"), Template("{namespace} {pod} {podUnits} {units} {cardUnits} {totalUnits}")}};
  one.spec = std::make_shared<const AllocationSpec>(spec);
  const auto answer = std::get<Allocation>(answer_on_card(one, spec, card, 2, &kTrainer, false, false));
  CHECK(answer.env.at("WHO") == "ns trainer 5 2 16 16");
  CHECK(std::get<CdiEdits>(late_edits(one, card, 3, kTrainer, false)).env.at("WHO") ==
        "ns trainer 5 3 16 16");
  for (const char* const name : {"podUnits", "pod", "namespace"}) {
    spec.env = {{Template("WHO"), Template("{" + std::string(name) + "}")}};
    one.spec = std::make_shared<const AllocationSpec>(spec);
    CHECK(std::get<std::string>(answer_without_pod(one, 2, "nobody", false)) ==
          "the requesting pod is unknown, and this resource's configuration needs its {" + std::string(name) +
              "}");
  }
}

}  // namespace
}  // namespace plughost
