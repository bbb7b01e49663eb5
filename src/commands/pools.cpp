#include "commands/pools.hpp"

#include <algorithm>
#include <iterator>

#include "base/ascii.hpp"
#include "dra/advertised.hpp"
#include "dra/layout.hpp"
#include "dra/limits.hpp"
#include "dra/slice_json.hpp"
#include "host/machine_facts.hpp"

namespace plughost {

std::string node_here(const Config& config, const HostRoot& host) {
  if (config.api_server && !config.api_server->node.empty()) return config.api_server->node;
  const std::string told = host.node_name();
  return told.empty() ? to_lower(machine_facts(host).hostname) : told;
}

PublishedSlices published_slices(const std::vector<Offer>& offers, const std::string& driver,
                                 const std::string& node) {
  PublishedSlices all{.list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", Json::Array()}}};
  for (const Offer& offer : offers) {
    if (!offer.recipe->dra) continue;
    AdvertisedPool advertised = advertised_pool(offer, node, DraFeatures{});
    std::ranges::move(advertised.remarks, std::back_inserter(all.remarks));
    const Pool& pool = advertised.pool;
    for (const std::string& trouble : limits_broken(pool))
      all.broken.push_back(offer.resource + ": " + trouble);
    for (const Slice& slice : slices_of(pool, laid_out(pool, {}), driver, node))
      all.list["items"].push_back(slice_json(slice, {.driver = driver, .node = node, .node_uid = {}}, "v1"));
  }
  return all;
}

}  // namespace plughost
