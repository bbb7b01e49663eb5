#pragma once
// Devices that containers hold by ids with which they are not listed, or were given other nodes for.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/inventory.hpp"
#include "kubelet/checkpoint.hpp"
#include "kubelet/pod_resources.hpp"
#include "listing/adoption.hpp"

namespace plughost {

// The devices of an entry that containers hold by ids with which they are not listed, or for which they were
// given nodes that lead elsewhere by now, until these have gone.
// A value; not thread-safe.
class AdoptedDevices final : public Overlay {
 public:
  struct Name {
    std::string resource;
    std::string id;

    auto operator<=>(const Name&) const = default;
  };
  // What a log should say.
  struct News {
    struct Device {
      Name device;
      FormerId holder;
    };
    std::vector<Device> adopted;                // from now on
    std::vector<std::pair<Name, Stale>> moved;  // so
    std::vector<Name> over;                     // ids of former days that nobody holds any more
    // No device of theirs is recognised; told of once, when the kubelet says who holds it.
    std::vector<std::pair<Name, Holder>> strangers;
  };

  // What a look has found, of all the resources that it has seen.
  News take(std::map<std::string, Adoption> found);
  // Who holds what now: an id that nobody holds is adopted no longer. final: the answer may be taken at its
  // word; otherwise it only names those who hold.
  News learn(const Holdings& holdings, bool final);
  // The checkpoint has been read anew: what is over may have begun again.
  void read_again() { over_.clear(); }

  bool touches(const std::string& resource) const override;
  // Takes the shares that are held so.
  void lay(const std::string& resource, std::vector<Device>& devices) const override;
  // Hardware of others to which leads what was given for the resource's devices, by the device's id.
  std::map<std::string, std::vector<std::string>> units_elsewhere(const std::string& resource) const;
  // Of all resources.
  const std::map<std::string, std::set<std::string>>& ids() const { return ids_; }
  // Ids that a checkpoint has, and the resources list or have listed.
  const std::map<std::string, IdsPointer>& own() const { return own_; }
  // Is there anything that the kubelet should be asked?
  bool open() const { return !ids_.empty() || !strangers_.empty() || !stale_.empty(); }

 private:
  std::string pod_of(const std::string& resource, const FormerId& held) const;
  std::string holder_text(const std::string& resource, const std::vector<FormerId>& holders) const;
  void forget_over();

  std::map<std::string, Adoption> found_;
  std::map<std::string, std::set<std::string>> ids_;  // adopted, and not over; none of the sets is empty
  std::map<std::string, IdsPointer> own_;
  // Ids for which containers that hold them have stale nodes. true: with none of the device's, which was
  // told.
  std::map<Name, bool> stale_;
  std::map<Name, Holder> holders_;  // of ids_ and stale_, as far as the kubelet has told
  std::set<Name> strangers_;        // nobody has told yet whether they hold on
  std::set<Name> told_;             // of strangers
  std::set<Name> over_;
};

}  // namespace plughost
