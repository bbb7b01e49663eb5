#include "model/assume/pod.hpp"

#include <doctest/doctest.h>

#include "base/text/json.hpp"
#include "model/assume/answer.hpp"
#include "unit/model/assume/pods.hpp"

using namespace plughost;

namespace {

std::string env_text(const std::map<std::string, std::string>& env) { return Json(env).dump(); }

}  // namespace

TEST_CASE("doslab: a container's environment equals the first users' plugin's, byte for byte") {
  const AssumedCard card{
      .uuid = "GPU-b3f6", .index = "1", .units = 8192, .memory = 8192, .total_units = 16384};
  CHECK(env_text(card_env(terms_of(Dialect::kDoslab), card, 2048, 2048)) ==
        R"({"DOSLAB_IO_GPU_RESOURCE_TOTAL":"16384","DOSLAB_IO_GPU_RESOURCE_USED_BY_CONTAINER":"2048",)"
        R"("DOSLAB_IO_GPU_RESOURCE_USED_BY_POD":"2048","DOSLAB_IO_GPU_UUID":"GPU-b3f6",)"
        R"("NVIDIA_VISIBLE_DEVICES":"GPU-b3f6"})");
}

TEST_CASE("gpushare: a container's environment equals its plugin's, byte for byte") {
  const AssumedCard card{.uuid = "GPU-b3f6", .index = "1", .units = 15, .memory = 15360, .total_units = 30};
  const AssumeTerms terms = terms_of(Dialect::kGpushare);
  CHECK(env_text(card_env(terms, card, 2, 3)) ==
        R"({"ALIYUN_COM_GPU_MEM_CONTAINER":"2","ALIYUN_COM_GPU_MEM_DEV":"15","ALIYUN_COM_GPU_MEM_IDX":"1",)"
        R"("ALIYUN_COM_GPU_MEM_POD":"3","NVIDIA_VISIBLE_DEVICES":"1"})");
  CHECK(env_text(card_env(terms, card, 2, 2, true)) ==
        R"({"ALIYUN_COM_GPU_MEM_CONTAINER":"2","ALIYUN_COM_GPU_MEM_DEV":"15","ALIYUN_COM_GPU_MEM_IDX":"1",)"
        R"("ALIYUN_COM_GPU_MEM_POD":"2","NVIDIA_VISIBLE_DEVICES":"GPU-b3f6"})");
}

TEST_CASE("gpushare: a container that starts without a pod sees no card") {
  AssumeTerms terms = terms_of(Dialect::kGpushare);
  terms.unit = 1024;
  CHECK(env_text(no_card_env(terms, 5, 15)) ==
        R"({"ALIYUN_COM_GPU_MEM_CONTAINER":"5","ALIYUN_COM_GPU_MEM_DEV":"15","ALIYUN_COM_GPU_MEM_IDX":"-1",)"
        R"("ALIYUN_COM_GPU_MEM_POD":"5","NVIDIA_VISIBLE_DEVICES":"no-gpu-has-5GiB-to-run"})");
  terms.unit = 1;
  CHECK(no_card_env(terms, 5, 15).at("NVIDIA_VISIBLE_DEVICES") == "no-gpu-has-5MiB-to-run");
}

TEST_CASE("volcano: a container's environment equals its plugin's, byte for byte") {
  AssumeTerms terms = terms_of(Dialect::kVolcano);
  terms.unit = 10;
  const AssumedCard card{
      .uuid = "GPU-b3f6", .index = "1", .units = 1536, .memory = 15360, .total_units = 3072};
  CHECK(
      env_text(card_env(terms, card, 100, 300)) ==
      R"({"NVIDIA_VISIBLE_DEVICES":"1","VOLCANO_GPU_ALLOCATED":"1000","VOLCANO_GPU_MEMORY_TOTAL":"15360"})");
}

TEST_CASE("NVIDIA_VISIBLE_DEVICES is not set if the runtime gets the card otherwise") {
  for (const Dialect dialect : {Dialect::kDoslab, Dialect::kGpushare, Dialect::kVolcano}) {
    AssumeTerms terms = terms_of(dialect);
    CHECK(card_env(terms, {}, 1, 1).contains("NVIDIA_VISIBLE_DEVICES"));
    terms.sets_visible = false;
    CHECK(!card_env(terms, {}, 1, 1).contains("NVIDIA_VISIBLE_DEVICES"));
  }
}

TEST_CASE("a card's units are its own, and the total is the node's") {
  const Inventory cards = two_cards();
  const AssumedCard first = assumed_card(*cards.find("fakeID---0::0"), cards);
  CHECK(first.uuid == "GPU-0");
  CHECK(first.index == "0");
  CHECK(first.units == 16);
  CHECK(first.memory == 16384);
  CHECK(first.total_units == 96);
  CHECK(assumed_card(*cards.find("fakeID---1::0"), cards).units == 80);
}

TEST_CASE("each dialect has its own annotations") {
  CHECK(terms_of(Dialect::kDoslab).names.size() == 2);
  CHECK(terms_of(Dialect::kGpushare).names ==
        std::vector<AssumeNames>{{.time = "ALIYUN_COM_GPU_MEM_ASSUME_TIME",
                                  .assigned = "ALIYUN_COM_GPU_MEM_ASSIGNED",
                                  .card = "ALIYUN_COM_GPU_MEM_IDX"}});
  CHECK(terms_of(Dialect::kVolcano).names == std::vector<AssumeNames>{{.time = "volcano.sh/predicate-time",
                                                                       .assigned = "volcano.sh/gpu-assigned",
                                                                       .card = "volcano.sh/gpu-index"}});
  CHECK(terms_of(Dialect::kDoslab).card_is == CardIs::kUuid);
  CHECK(terms_of(Dialect::kGpushare).card_is == CardIs::kIndex);
  CHECK(terms_of(Dialect::kVolcano).card_is == CardIs::kIndexes);
}

TEST_CASE("a response's card is read from its variables, in the form of the dialect's annotation") {
  const AssumedCard card{.uuid = "GPU-b3f6", .index = "1", .units = 15, .memory = 15360, .total_units = 30};
  for (const Dialect dialect : {Dialect::kDoslab, Dialect::kGpushare, Dialect::kVolcano}) {
    for (const CardIs card_is : {CardIs::kUuid, CardIs::kIndex}) {
      AssumeTerms terms = terms_of(dialect);
      terms.card_is = card_is;
      CHECK(card_in(terms, card_env(terms, card, 2, 3)) == (card_is == CardIs::kUuid ? "GPU-b3f6" : "1"));
      CHECK(card_in(terms, {}).empty());
      CHECK(card_in(terms, {{"OTHER", "1"}}).empty());
      CHECK(card_in(terms, no_card_env(terms, 2, 15)).empty());
    }
  }
  // The dialect's own variable has the card, even if NVIDIA_VISIBLE_DEVICES is not set or has the UUID.
  AssumeTerms gpushare = terms_of(Dialect::kGpushare);
  CHECK(card_in(gpushare, card_env(gpushare, card, 2, 2, true)) == "1");
  gpushare.sets_visible = false;
  CHECK(card_in(gpushare, card_env(gpushare, card, 2, 2)) == "1");
  AssumeTerms doslab = terms_of(Dialect::kDoslab);
  doslab.sets_visible = false;
  CHECK(card_in(doslab, card_env(doslab, card, 2, 2)) == "GPU-b3f6");
}

TEST_CASE("if cards are given as mounts, NVIDIA_VISIBLE_DEVICES has no card to read") {
  AssumeTerms volcano = terms_of(Dialect::kVolcano);
  const std::map<std::string, std::string> env{
      {"NVIDIA_VISIBLE_DEVICES", "/var/run/nvidia-container-devices"}};
  volcano.sets_visible = false;
  CHECK(card_in(volcano, env).empty());
}

TEST_CASE("the settings of each dialect have defaults") {
  for (const Dialect dialect : {Dialect::kDoslab, Dialect::kGpushare, Dialect::kVolcano}) {
    const AssumeTerms terms = terms_of(dialect);
    CHECK(terms.dialect == dialect);
    CHECK(!terms.identify);
    CHECK(!terms.late());
    CHECK(!terms.only_card);
    CHECK(!terms.answer_without_card);
    CHECK(terms.sets_visible);
    CHECK(terms.unit == 1);
    CHECK(waits_unsaid(dialect) == (dialect == Dialect::kVolcano));
  }
  CHECK(terms_of(Dialect::kDoslab).names == std::vector<AssumeNames>{{.time = "DOSLAB_IO_GPU_ASSUME_TIME",
                                                                      .assigned = "DOSLAB_IO_GPU_ASSIGNED",
                                                                      .card = "DOSLAB_IO_GPU_UUID"},
                                                                     {.time = "doslab.io/gpu-assume-time",
                                                                      .assigned = "doslab.io/gpu-assigned",
                                                                      .card = "doslab.io/gpu-uuid"}});
}
