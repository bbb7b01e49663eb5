#include "fleet/survey.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "device/assembly.hpp"
#include "device/inventory.hpp"
#include "host/device_nodes.hpp"

namespace plughost {
namespace {

// Nothing if there is nothing to be told of its devices, with the reason in all.
std::optional<DevicesOf> look(const ResourceConfig& entry, const HostRoot& host, Survey& all) {
  try {
    Scan scan = entry.source->look(host, *entry.recipe);
    std::ranges::transform(scan.unfinished, std::back_inserter(scan.remarks), unfinished_text);
    std::ranges::move(scan.remarks, std::back_inserter(all.remarks));
    if (scan.undecided) {
      all.undecided.push_back(entry.recipe->name.text());
      return std::nullopt;
    }
    Assembly assembly = assemble(*entry.recipe, std::move(scan.devices));
    std::ranges::move(assembly.remarks, std::back_inserter(all.remarks));
    for (const auto* places : {&scan.unmatched, &assembly.unmatched}) {
      for (const std::string& place : *places)
        all.unmatched.push_back(entry.where + ": " + entry.recipe->name.text() + ": `" + place +
                                "` matches no device that is here now");
    }
    return std::move(assembly.resources);
  } catch (const std::exception& error) {
    all.troubles.push_back(entry.where + ": " + entry.recipe->name.text() + ": " + error.what());
    return std::nullopt;
  }
}

DevicesOf look(const EntriesOfName& entries, const HostRoot& host, Survey& all) {
  if (entries.size() == 1) return look(*entries.front(), host, all).value_or(DevicesOf());
  std::vector<PartFound> parts;
  for (const ResourceConfig* entry : entries) {
    auto found = look(*entry, host, all);
    if (!found) continue;
    for (auto& [resource, devices] : *found) find_units(host, *entry->recipe, devices);
    parts.push_back({entry->recipe, std::make_shared<const DevicesOf>(std::move(*found))});
  }
  Assembly joint = join(parts);
  std::ranges::move(joint.remarks, std::back_inserter(all.remarks));
  return std::move(joint.resources);
}

}  // namespace

Survey survey(const Config& config, const HostRoot& host) {
  Survey all;
  Selection selection = select(config, host);
  const Config applies = applying(config, selection);
  std::ranges::move(selection.troubles, std::back_inserter(all.troubles));
  all.others = std::move(selection.others);
  for (const EntriesOfName& entries : by_name(applies.resources)) {
    for (auto& [name, devices] : look(entries, host, all))
      all.offers.push_back({name, Inventory(std::move(devices)), entries.front()->recipe});
  }
  std::ranges::stable_sort(all.offers, {}, &Offer::resource);
  return all;
}

}  // namespace plughost
