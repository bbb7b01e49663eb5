#include "supervisor/survey.hpp"

#include <algorithm>
#include <iterator>

namespace plughost {

Look look(const DeviceSource& source, const Recipe& recipe, const HostRoot& host) {
  Scan scan = source.scan(host);
  Assembly assembly = assemble(recipe, std::move(scan.devices));
  assembly.remarks.insert(assembly.remarks.begin(), std::make_move_iterator(scan.remarks.begin()),
                          std::make_move_iterator(scan.remarks.end()));
  return {std::move(assembly), std::move(scan)};
}

Survey survey(const Config& config, const HostRoot& host) {
  Survey all;
  for (const ResourceConfig& entry : config.resources) {
    try {
      Assembly assembly = look(*entry.source, *entry.recipe, host).assembly;
      std::ranges::move(assembly.remarks, std::back_inserter(all.remarks));
      for (auto& [name, devices] : assembly.resources)
        all.offers.push_back({name, Inventory(std::move(devices)), entry.recipe});
    } catch (const std::exception& error) {
      all.troubles.push_back(entry.where + ": " + entry.recipe->name.text() + ": " + error.what());
    }
  }
  std::ranges::sort(all.offers, {}, &Offer::resource);
  return all;
}

}  // namespace plughost
