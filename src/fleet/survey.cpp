#include "fleet/survey.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "device/assembly.hpp"
#include "device/inventory.hpp"

namespace plughost {

Survey survey(const Config& config, const HostRoot& host) {
  Survey all;
  Selection selection = select(config, host);
  std::ranges::move(selection.troubles, std::back_inserter(all.troubles));
  all.others = std::move(selection.others);
  for (std::size_t i = 0; i < config.resources.size(); ++i) {
    if (!selection.applies[i]) continue;
    const ResourceConfig& entry = config.resources[i];
    try {
      Scan scan = entry.source->look(host, *entry.recipe);
      std::ranges::transform(scan.unfinished, std::back_inserter(scan.remarks), unfinished_text);
      if (scan.undecided) {
        std::ranges::move(scan.remarks, std::back_inserter(all.remarks));
        all.undecided.push_back(entry.recipe->name.text());
        continue;
      }
      Assembly assembly = assemble(*entry.recipe, std::move(scan.devices));
      std::ranges::move(scan.remarks, std::back_inserter(all.remarks));
      std::ranges::move(assembly.remarks, std::back_inserter(all.remarks));
      for (const auto* places : {&scan.unmatched, &assembly.unmatched}) {
        for (const std::string& place : *places)
          all.unmatched.push_back(entry.where + ": " + entry.recipe->name.text() + ": `" + place +
                                  "` matches no device that is here now");
      }
      for (auto& [name, devices] : assembly.resources)
        all.offers.push_back({name, Inventory(std::move(devices)), entry.recipe});
    } catch (const std::exception& error) {
      all.troubles.push_back(entry.where + ": " + entry.recipe->name.text() + ": " + error.what());
    }
  }
  std::ranges::stable_sort(all.offers, {}, &Offer::resource);
  return all;
}

}  // namespace plughost
