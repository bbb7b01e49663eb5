#pragma once
// Who holds which card, where the kubelet's ids do not say it. Pure functions of values, thread-safe.

#include <functional>
#include <string>

#include "device/inventory.hpp"
#include "kubelet/pod_resources.hpp"

namespace plughost {

// The same holders of a resource, each with as many ids, but of the card that card() says: nullptr is 'nobody
// knows', and leaves the ids as they are, as far as no other holder has them by then.
Holdings by_card(Holdings holdings, const std::string& resource, const Inventory& inventory,
                 const std::function<const Device*(const Holder& holder)>& card);

// The same holders of a resource, each as known_as() says.
Holdings by_name(Holdings holdings, const std::string& resource,
                 const std::function<Holder(const Holder& holder)>& known_as);

}  // namespace plughost
