#pragma once
// Builds pods as an API server shows them, and the devices of a node's cards.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/assume/pod.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

inline constexpr const char* kGpuMemory = "aliyun.com/gpu-mem";

// A pending pod of gpushare with one container per number in `units`, named c0, c1 and so on.
struct PodText {
  std::string uid = "uid-a";
  std::string name = "a";
  std::vector<std::uint64_t> units{2};
  std::vector<std::uint64_t> init{};
  std::string annotations =
      R"("ALIYUN_COM_GPU_MEM_ASSUME_TIME":"100","ALIYUN_COM_GPU_MEM_ASSIGNED":"false","ALIYUN_COM_GPU_MEM_IDX":"0")";
  std::string created = "2026-11-23T12:00:00Z";
  std::string phase = "Pending";
  std::string more_metadata{};
  std::string resource = kGpuMemory;

  static std::string containers(const std::vector<std::uint64_t>& units_of, const std::string& prefix,
                                const std::string& resource_name) {
    std::string text;
    for (std::size_t i = 0; i < units_of.size(); ++i) {
      const std::string limits =
          units_of[i] == 0 ? "" : "\"" + resource_name + "\":\"" + std::to_string(units_of[i]) + "\",";
      text += (i ? "," : "") + std::string(R"({"name":")") + prefix + std::to_string(i) +
              R"(","resources":{"limits":{)" + limits + R"("cpu":"1"}}})";
    }
    return text;
  }
  Json json() const {
    return Json::parse(R"({"metadata":{"namespace":"ns","name":")" + name + R"(","uid":")" + uid +
                       R"(","creationTimestamp":")" + created + R"(",)" + more_metadata +
                       R"("annotations":{)" + annotations +
                       R"(}},"spec":{"nodeName":"worker-1","initContainers":[)" +
                       containers(init, "i", resource) + R"(],"containers":[)" +
                       containers(units, "c", resource) + R"(]},"status":{"phase":")" + phase + R"("}})");
  }
  AskingPod asking(const AssumeTerms& terms = terms_of(Dialect::kGpushare)) const {
    return asking_pod(pod_of(json()), resource, terms).value();
  }
};

inline std::string gpushare_annotations(const std::string& time, const std::string& card) {
  return R"("ALIYUN_COM_GPU_MEM_ASSUME_TIME":")" + time +
         R"(","ALIYUN_COM_GPU_MEM_ASSIGNED":"false","ALIYUN_COM_GPU_MEM_IDX":")" + card + "\"";
}

// Returns the annotations of a pod that is marked as having its card.
inline std::string marked_annotations(const std::string& time, const std::string& card) {
  return R"("ALIYUN_COM_GPU_MEM_ASSUME_TIME":")" + time +
         R"(","ALIYUN_COM_GPU_MEM_ASSIGNED":"true","ALIYUN_COM_GPU_MEM_IDX":")" + card + "\"";
}

inline Device card_device(const std::string& index, unsigned units, const std::string& memory,
                          const std::string& error = "") {
  Device device;
  device.id = "fakeID---" + index;
  device.error = error;
  device.replicas = units;
  device.attributes = {{"uuid", "GPU-" + index}, {"index", index}, {"memory", memory}};
  return device;
}

// Returns card 0 with 16 units of 1 GiB, and card 1 with 80.
inline Inventory two_cards() {
  return Inventory({card_device("0", 16, "16384"), card_device("1", 80, "81920")});
}

inline std::vector<const AskingPod*> pointers(const std::vector<AskingPod>& pods) {
  std::vector<const AskingPod*> all;
  for (const AskingPod& pod : pods) all.push_back(&pod);
  return all;
}

}  // namespace plughost
