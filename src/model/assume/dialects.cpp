#include "model/assume/dialects.hpp"

namespace plughost {
namespace {

constexpr const char* kVisible = "NVIDIA_VISIBLE_DEVICES";
constexpr const char* kIndex = "ALIYUN_COM_GPU_MEM_IDX";
constexpr const char* kNoCard = "-1";

}  // namespace

AssumeTerms terms_of(Dialect dialect) {
  AssumeTerms terms;
  terms.dialect = dialect;
  switch (dialect) {
    case Dialect::kDoslab:
      terms.names = {{.time = "DOSLAB_IO_GPU_ASSUME_TIME",
                      .assigned = "DOSLAB_IO_GPU_ASSIGNED",
                      .card = "DOSLAB_IO_GPU_UUID"},
                     {.time = "doslab.io/gpu-assume-time",
                      .assigned = "doslab.io/gpu-assigned",
                      .card = "doslab.io/gpu-uuid"}};
      terms.card_is = CardIs::kUuid;
      break;
    case Dialect::kGpushare:
      terms.names = {{.time = "ALIYUN_COM_GPU_MEM_ASSUME_TIME",
                      .assigned = "ALIYUN_COM_GPU_MEM_ASSIGNED",
                      .card = "ALIYUN_COM_GPU_MEM_IDX"}};
      terms.card_is = CardIs::kIndex;
      break;
    case Dialect::kVolcano:
      terms.names = {{.time = "volcano.sh/predicate-time",
                      .assigned = "volcano.sh/gpu-assigned",
                      .card = "volcano.sh/gpu-index"}};
      terms.card_is = CardIs::kIndexes;
      break;
  }
  return terms;
}

// Volcano's scheduler never writes it.
bool waits_unsaid(Dialect dialect) { return dialect == Dialect::kVolcano; }

std::map<std::string, std::string> card_env(const AssumeTerms& terms, const AssumedCard& card,
                                            std::uint64_t units, std::uint64_t pod_units, bool by_uuid) {
  std::map<std::string, std::string> env;
  if (terms.sets_visible) env[kVisible] = by_uuid || terms.card_is == CardIs::kUuid ? card.uuid : card.index;
  switch (terms.dialect) {
    case Dialect::kDoslab:
      env["DOSLAB_IO_GPU_UUID"] = card.uuid;
      env["DOSLAB_IO_GPU_RESOURCE_USED_BY_POD"] = std::to_string(pod_units);
      env["DOSLAB_IO_GPU_RESOURCE_USED_BY_CONTAINER"] = std::to_string(units);
      env["DOSLAB_IO_GPU_RESOURCE_TOTAL"] = std::to_string(card.total_units);
      break;
    case Dialect::kGpushare:
      env[kIndex] = card.index;
      env["ALIYUN_COM_GPU_MEM_POD"] = std::to_string(pod_units);
      env["ALIYUN_COM_GPU_MEM_CONTAINER"] = std::to_string(units);
      env["ALIYUN_COM_GPU_MEM_DEV"] = std::to_string(card.units);
      break;
    case Dialect::kVolcano:
      env["VOLCANO_GPU_ALLOCATED"] = std::to_string(units * terms.unit);
      env["VOLCANO_GPU_MEMORY_TOTAL"] = std::to_string(card.memory);
      break;
  }
  return env;
}

std::string card_in(const AssumeTerms& terms, const std::map<std::string, std::string>& env) {
  const auto index = env.find(kIndex);
  if (index != env.end() && index->second == kNoCard) return "";
  const bool by_uuid = terms.card_is == CardIs::kUuid;
  const char* name = kVisible;
  if (by_uuid && terms.dialect == Dialect::kDoslab) name = "DOSLAB_IO_GPU_UUID";
  if (!by_uuid && terms.dialect == Dialect::kGpushare) name = kIndex;
  // Without sets_visible this variable says how cards are mounted, and names none.
  if (name == std::string_view(kVisible) && !terms.sets_visible) return "";
  const auto found = env.find(name);
  return found == env.end() ? "" : found->second;
}

std::map<std::string, std::string> no_card_env(const AssumeTerms& terms, std::uint64_t units,
                                               std::uint64_t card_units) {
  const std::string count = std::to_string(units);
  const std::string unit = terms.unit % 1024 == 0 ? "GiB" : "MiB";
  return {{kVisible, "no-gpu-has-" + count + unit + "-to-run"},
          {kIndex, kNoCard},
          {"ALIYUN_COM_GPU_MEM_POD", count},
          {"ALIYUN_COM_GPU_MEM_CONTAINER", count},
          {"ALIYUN_COM_GPU_MEM_DEV", std::to_string(card_units)}};
}

}  // namespace plughost
