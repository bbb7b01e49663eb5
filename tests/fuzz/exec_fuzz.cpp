// Any bytes as what a program prints of its devices: devices or a sentence, and whatever is taken can be
// listed and allocated, or is refused in words.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "device/allocation.hpp"
#include "device/assembly.hpp"
#include "kinds/exec_document.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plughost;
  Recipe recipe;
  recipe.name = Template("example.com/disk");
  try {
    auto devices = read_exec_document(std::string_view(reinterpret_cast<const char*>(data), size));
    for (auto& [resource, listed] : assemble(recipe, std::move(devices)).resources) {
      const Inventory inventory(std::move(listed));
      std::vector<std::string> ids;
      inventory.for_each_id([&](const std::string& id, const Device& device) {
        if (device.healthy()) ids.push_back(id);
      });
      allocate(resource, recipe, inventory, ids);
    }
  } catch (const DocumentError&) {
    // What most bytes get.
  }
  return 0;
}
