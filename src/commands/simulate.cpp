// plughost simulate: the exact Allocate answer, before any pod asks.

#include <iostream>
#include <sstream>

#include "allocate/allocation_text.hpp"
#include "allocate/preferred.hpp"
#include "commands/command.hpp"
#include "commands/output.hpp"
#include "commands/simulate_pod.hpp"
#include "config/config.hpp"
#include "fleet/survey.hpp"
#include "host/device_nodes.hpp"
#include "text/text.hpp"
#include "userprograms/container_programs.hpp"

namespace plughost {
namespace {

std::vector<std::string> healthy_ids(const Inventory& inventory) {
  std::vector<std::string> ids;
  inventory.for_each_share([&](std::string id, const Device& /*device*/, bool is_healthy) {
    if (is_healthy) ids.push_back(std::move(id));
  });
  return ids;
}

std::vector<std::string> chosen_ids(const Offer& offer, const std::string& which) {
  const auto count = number_in<std::size_t>(which);
  if (count && offer.inventory.find(which) == nullptr) {
    const std::vector<std::string> free = healthy_ids(offer.inventory);
    if (*count == 0) throw std::runtime_error("a container asks for at least one device");
    if (*count > free.size())
      throw std::runtime_error(offer.resource + " has " + std::to_string(free.size()) +
                               " healthy devices, not " + which);
    return preferred(offer.recipe->policy, offer.inventory, free, {}, *count, {},
                     {.of = offer.recipe->shares, .same = {}});
  }
  std::vector<std::string> ids;
  std::istringstream list(which);
  for (std::string id; std::getline(list, id, ',');) ids.push_back(id);
  return ids;
}

const Offer& offer_of(const Survey& found, const std::string& name) {
  for (const Offer& offer : found.offers) {
    if (offer.resource == name) return offer;
  }
  std::string known;
  for (const Offer& offer : found.offers) known += (known.empty() ? "" : ", ") + offer.resource;
  throw std::runtime_error("there is no resource " + name + "; there are " +
                           (known.empty() ? "none" : known));
}

// nullopt: was not said.
std::optional<std::uint64_t> units_asked(const Offer& offer, const std::string& what) {
  if (!offer.recipe->assume)
    throw std::runtime_error(offer.resource + ": --pod is for an entry with `assume`");
  const std::size_t equals = what.find('=');
  if (equals == std::string::npos) return std::nullopt;
  const auto units = number_in<std::uint64_t>(what.substr(equals + 1));
  if (units && *units > 0) return units;
  throw std::runtime_error("with --pod a number of units is wanted, as in " + offer.resource + "=2");
}

}  // namespace

int simulate(const SimulateOptions& options) {
  const HostRoot host;
  const Config config = load_config(options.file);
  const Survey found = survey(config, host);
  const std::size_t equals = options.what.find('=');
  const Offer& offer = offer_of(found, options.what.substr(0, equals));
  if (!options.pod.empty())
    return simulate_pod(host, config, offer, options.pod, units_asked(offer, options.what), options.format);
  if (offer.recipe->assume)
    throw std::runtime_error(offer.resource +
                             ": its pods' scheduler chooses the card (`assume`): name a pod of this node, as "
                             "in --pod default/trainer");
  const std::vector<std::string> ids =
      chosen_ids(offer, equals == std::string::npos ? "1" : options.what.substr(equals + 1));
  const auto outcome = allocate_with_program(offer, ids);
  if (const auto* why = std::get_if<std::string>(&outcome)) throw std::runtime_error(*why);
  const auto& allocation = std::get<Allocation>(outcome);
  if (const std::string missing = missing_device_node(host, allocation); !missing.empty())
    throw std::runtime_error(offer.resource + ": " + missing);

  if (options.format != OutputFormat::kTable) {
    print(std::cout, {{"resource", offer.resource}, {"devices", ids}, {"answer", json_of(allocation)}},
          options.format);
    return 0;
  }
  std::cout << offer.resource << " gives a container\n";
  for (const std::string& id : ids) std::cout << "  device      " << id << '\n';
  std::cout << text_of(allocation, "  ");
  return 0;
}

}  // namespace plughost
