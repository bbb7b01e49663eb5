#include "model/device/duplicate_serials.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace plughost {
namespace {

using Ids = Hardware::Ids;

const Ids& ids_of(const Device& device) { return device.hardware->ids; }

class DuplicateSerials {
 public:
  DuplicateSerials(std::vector<Device>& devices, const Inventory& listed) : listed_(listed) {
    for (Device& device : devices) {
      if (ids_of(device).by_place.empty()) continue;
      open_.push_back(&device);
      ++of_name_[ids_of(device).by_name];
    }
  }

  bool none() const { return open_.empty(); }

  // `by_place` and `by_name` return true if the device is listed by that id.
  template <typename ByPlace, typename ByName>
  void decide(const ByPlace& by_place, const ByName& by_name) {
    std::erase_if(open_, [&](Device* device) {
      const Ids& ids = ids_of(*device);
      if (by_place(*device)) {
        device->go_by_place();
        return true;
      }
      return by_name(*device) && taken_.insert(ids.by_name).second;
    });
  }

  // Returns true if the device was listed by this id at its present place.
  bool was_listed(const std::string& id, const Device& device) const {
    const Device* const former = device_of_id(listed_.devices(), id);
    return former && ids_of(*former) == ids_of(device);
  }

  bool has_duplicate(const Device& device) const {
    const Ids& ids = ids_of(device);
    return of_name_.at(ids.by_name) > 1 || std::ranges::any_of(listed_.devices(), [&](const Device& other) {
             return ids_of(other).by_name == ids.by_name && other.id == ids_of(other).by_place;
           });
  }

 private:
  const Inventory& listed_;
  std::vector<Device*> open_;
  std::map<std::string, unsigned> of_name_;
  std::set<std::string> taken_;  // ids by name
};

}  // namespace

void resolve_duplicate_serials(const std::string& resource, std::vector<Device>& devices,
                               const Inventory& listed, const WasGiven& was_given) {
  DuplicateSerials duplicates(devices, listed);
  if (duplicates.none()) return;
  duplicates.decide([&](const Device& each) { return duplicates.was_listed(ids_of(each).by_place, each); },
                    [&](const Device& each) { return duplicates.was_listed(ids_of(each).by_name, each); });
  for (const GivenBy least : {GivenBy::kPath, GivenBy::kName, GivenBy::kLink}) {
    if (!was_given) break;
    duplicates.decide(
        [&](const Device& each) { return was_given(resource, ids_of(each).by_place, each) >= least; },
        [&](const Device& each) { return was_given(resource, ids_of(each).by_name, each) >= least; });
  }
  duplicates.decide([&](const Device& each) { return duplicates.has_duplicate(each); },
                    [](const Device&) { return true; });
  // The rest is listed by place, because another device has the id by name.
  duplicates.decide([](const Device&) { return true; }, [](const Device&) { return false; });
}

}  // namespace plughost
