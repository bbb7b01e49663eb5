// plughost checkpoint: prints the kubelet's checkpoint.

#include "kubernetes/kubelet/checkpoint.hpp"

#include <iostream>

#include "base/text/text.hpp"
#include "model/allocate/allocation_text.hpp"
#include "tools/commands/command.hpp"

namespace plughost {
namespace {

void print_text(const Checkpoint& checkpoint) {
  for (const auto& entry : checkpoint.pod_devices) {
    std::cout << "pod " << entry.pod_uid << ", container " << entry.container << " holds of "
              << entry.resource << ":\n";
    for (const auto& [node, ids] : entry.ids) {
      std::cout << "  devices     ";
      for (std::size_t i = 0; i < ids.size(); ++i) std::cout << (i > 0 ? ", " : "") << ids[i];
      if (node >= 0) std::cout << " (NUMA node " << node << ")";
      std::cout << '\n';
    }
    std::cout << (entry.allocation ? text_of(*entry.allocation, "  ")
                                   : "  the stored response cannot be read\n");
  }
  if (checkpoint.pod_devices.empty()) std::cout << "no pod holds a device\n";
  for (const auto& [resource, ids] : checkpoint.registered)
    std::cout << resource << ": " << counted(ids.size(), "healthy device") << '\n';
}

Json json_of(const Checkpoint& checkpoint) {
  Json json{{"pods", Json::Array()}, {"registered", checkpoint.registered}};
  for (const auto& entry : checkpoint.pod_devices) {
    Json& pod = json["pods"].push_back(Json{{"podUID", entry.pod_uid},
                                            {"container", entry.container},
                                            {"resource", entry.resource},
                                            {"devices", Json::Array()}});
    for (const auto& [node, ids] : entry.ids) {
      for (const std::string& id : ids) {
        Json& device = pod["devices"].push_back(Json{{"id", id}});
        if (node >= 0) device["numa"] = node;
      }
    }
    if (entry.allocation) pod["answer"] = plughost::json_of(*entry.allocation);
  }
  return json;
}

}  // namespace

int checkpoint(const CheckpointOptions& options) {
  try {
    const Checkpoint read = Checkpoint::read(options.file);
    if (options.format == OutputFormat::kTable)
      print_text(read);
    else
      print(std::cout, json_of(read), options.format);
    return 0;
  } catch (const std::runtime_error& error) {
    std::cerr << options.file << ": " << error.what() << '\n';
    return 1;
  }
}

}  // namespace plughost
