// Parses arbitrary bytes as a program's output: the result must be devices or DocumentError, and accepted
// devices can be listed, and allocated or refused with a reason. After a line "watch" each line is a document
// of its own; after a line "allocate" the rest is the output of an `allocate` program.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kinds/exec/document.hpp"
#include "model/allocate/allocation.hpp"
#include "model/device/assembly.hpp"
#include "model/device/inventory.hpp"

namespace {

using namespace plughost;

AllocationSpec spec() {
  AllocationSpec spec;
  spec.name = Template("example.com/disk");
  spec.env = {{Template("DISK"), Template("{id}")}};
  return spec;
}

void allocate_all(std::string_view resource, std::vector<Device> devices, const Allocation& more) {
  const ResourceSnapshot snapshot{.resource = std::string(resource),
                                  .inventory = Inventory(std::move(devices))};
  std::vector<std::string> ids;
  snapshot.inventory.for_each_id([&](const std::string& id, const Device& device) {
    if (device.healthy()) ids.push_back(id);
  });
  allocation_request(snapshot, ids);
  allocate(resource, spec(), snapshot.inventory, ids, more);
}

void take_document(std::string_view text) {
  try {
    for (auto& [resource, listed] : assemble(spec(), read_exec_document(text)).resources)
      allocate_all(resource, std::move(listed), {});
  } catch (const DocumentError&) {
    // Most inputs are invalid.
  }
}

void take_lines(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    take_document(line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
}

void take_answer(std::string_view text) {
  try {
    allocate_all("example.com/disk",
                 {{.id = "a", .nodes = {{.host_path = "/dev/null", .container_path = "/dev/disk"}}}},
                 read_allocation_document(text));
  } catch (const DocumentError&) {
    // Most inputs are invalid.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kWatch = "watch\n";
  constexpr std::string_view kAllocate = "allocate\n";
  if (text.starts_with(kWatch))
    take_lines(text.substr(kWatch.size()));
  else if (text.starts_with(kAllocate))
    take_answer(text.substr(kAllocate.size()));
  else
    take_document(text);
  return 0;
}
