#include "supervisor/relations.hpp"

#include <algorithm>
#include <utility>

namespace plughost {

void Relations::join(const std::vector<ResourceConfig>& entries) {
  std::vector<const Recipe*> recipes;
  for (const ResourceConfig& entry : entries) recipes.push_back(entry.recipe.get());
  std::map<std::string, std::size_t> groups = same_card_groups(recipes);
  if (groups != card_groups_) given_cards_.clear();
  card_groups_ = std::move(groups);
  entries_.for_each([&](const std::string& name, Entry& entry) {
    const auto group = card_groups_.find(name);
    if (group == card_groups_.end()) return entry.publication().set_joined(nullptr);
    std::shared_ptr<GivenCards>& given = given_cards_[group->second];
    if (!given) given = std::make_shared<GivenCards>();
    entry.publication().set_joined(given);
  });
}

void Relations::look() {
  look_for_shared_ids();
  tell_neighbours();
}

void Relations::tell_neighbours() {
  entries_.for_each([&](const std::string&, Entry& entry) {
    const Entry* const other = entries_.find(entry.config().recipe->near);
    if (!other) return;
    Neighbours neighbours{.given = other->publication().given()};
    other->publication().for_each_resource([&](const Resource& resource) {
      for (const Device& device : resource.offer()->inventory.devices()) {
        const std::string* const path = device.attribute("pciPath");
        if (device.healthy() && path) neighbours.healthy.push_back(*path);
      }
    });
    std::ranges::sort(neighbours.healthy);
    entry.publication().set_neighbours(std::move(neighbours));
  });
}

void Relations::look_for_shared_ids() {
  std::vector<ListedIds> lists;
  entries_.for_each_resource([&](const Resource& resource, const Entry& entry) {
    lists.push_back({resource.offer(), entry.config().where});
  });
  const SharedIds shared = shared_ids(lists);
  if (shared.count > shared_ids_)
    log_.warn(
        "two entries list the same id: if it is one device, keep one of them; "
        "if not, give one an `id` such as \"{resource}-{id}\", because the kubelet looks health up by id "
        "alone",
        {{"id", shared.first},
         {"resource", shared.one->offer->resource},
         {"at", shared.one->where},
         {"other", shared.other->offer->resource},
         {"other_at", shared.other->where},
         {"ids", std::to_string(shared.count)}});
  shared_ids_ = shared.count;
}

}  // namespace plughost
