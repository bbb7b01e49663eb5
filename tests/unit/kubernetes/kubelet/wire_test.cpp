#include "kubernetes/kubelet/wire.hpp"

#include <absl/strings/escaping.h>
#include <doctest/doctest.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "deviceplugin/v1beta1/deviceplugin.pb.h"
#include "places.hpp"

using namespace plughost;

namespace {

using nlohmann::json;

json golden(const std::string& name) {
  std::ifstream file(test::in_source("/tests/golden/" + name), std::ios::binary);
  REQUIRE(file);
  return json::parse(file);
}

// Returns the ids in the order in which the plugin's Allocate received them, which its variable has.
std::vector<std::string> asked_order(const Allocation& answer) {
  std::vector<std::string> ids;
  std::istringstream list(answer.env.begin()->second);
  for (std::string id; std::getline(list, id, ',');) ids.push_back(id);
  return ids;
}

// Returns the bytes that the kubelet stores. Equal allocations give equal bytes.
std::string bytes_of(const Allocation& allocation) {
  v1beta1::ContainerAllocateResponse message;
  write_allocation(allocation, message);
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);  // without this the order of a map is random
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

}  // namespace

TEST_CASE("for the same Allocate, plughost's response has the same bytes as the first users' plugin stored") {
  for (const char* file : {"checkpoint-one-pod.json", "checkpoint-two-resources.json"}) {
    const json document = golden(file);
    for (const json& entry : document["Data"]["PodDeviceEntries"]) {
      const std::string resource = entry["ResourceName"];
      CAPTURE(resource);
      std::string stored;
      REQUIRE(absl::Base64Unescape(entry["AllocResp"].get_ref<const std::string&>(), &stored));
      const std::optional<Allocation> theirs = parse_allocation(stored);
      REQUIRE(theirs.has_value());

      std::vector<Device> devices;
      for (int n = 0; n < 10; ++n) devices.push_back({.id = resource + "-" + std::to_string(n)});
      // The pod of the first file is from a version of that plugin without the variable's suffix.
      const bool suffix = theirs->env.begin()->first.find('/') != std::string::npos;
      AllocationSpec spec;
      spec.env.emplace_back(Template(suffix ? "NVIDIA_VISIBLE_DEVICES/{resource}" : "NVIDIA_VISIBLE_DEVICES"),
                            Template("{id}"));
      const auto outcome = allocate(resource, spec, Inventory(std::move(devices)), asked_order(*theirs));
      REQUIRE(std::holds_alternative<Allocation>(outcome));
      CHECK(bytes_of(std::get<Allocation>(outcome)) == stored);
    }
  }
}

TEST_CASE("an allocation is unchanged on the way to the kubelet and back") {
  Allocation allocation;
  allocation.env = {{"A", "1"}, {"B", "2"}};
  allocation.mounts = {{"/etc/licence", "/licence", true}};
  allocation.nodes = {{"/dev/fuse", "/dev/fuse", "rwm"}};
  allocation.annotations = {{"example.com/x", "y"}};
  allocation.cdi = {"example.com/class=x"};
  CHECK(parse_allocation(bytes_of(allocation)) == allocation);
}

TEST_CASE("invalid bytes are not read as a response") { CHECK_FALSE(parse_allocation("\xff\xff\xff")); }

TEST_CASE("a replica that is held elsewhere is Unhealthy in the list, and the other replicas are Healthy") {
  const Inventory inventory({{.id = "gpu", .replicas = 3, .reasons = {Reason::holder("held", {1})}}});
  v1beta1::ListAndWatchResponse list;
  write_list(inventory, list);
  REQUIRE(list.devices_size() == 3);
  CHECK(list.devices(0).health() == "Healthy");
  CHECK(list.devices(1).id() == "gpu::1");
  CHECK(list.devices(1).health() == "Unhealthy");
  CHECK(list.devices(2).health() == "Healthy");
}
