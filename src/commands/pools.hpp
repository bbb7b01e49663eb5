#pragma once
// What a survey's offers would be in the API server. Pure functions of values; node_here asks the machine.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "config/config.hpp"
#include "device/offer.hpp"
#include "host/host_root.hpp"

namespace plughost {

// What our node is called, as far as that is known without the API server's credentials.
std::string node_here(const Config& config, const HostRoot& host);

struct PublishedSlices {
  Json list;                         // a List of ResourceSlices, as kubectl takes it
  std::vector<std::string> remarks;  // what was left out of them
  std::vector<std::string> broken;   // the limits of the API server's that they would break
};
// Of the offers that are advertised by DRA.
PublishedSlices published_slices(const std::vector<Offer>& offers, const std::string& driver,
                                 const std::string& node);

}  // namespace plughost
