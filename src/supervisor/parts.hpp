#pragma once
// The entries of one name, and what all of them have found. Loop thread only.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocate/offer.hpp"
#include "config/config.hpp"
#include "supervisor/part.hpp"

namespace plughost {

class Parts {
 public:
  // Of one name, in the order in which they stand; never empty.
  using Configs = std::vector<ResourceConfig>;
  using Lists = std::map<std::string, Inventory>;

  // They outlive it.
  Parts(Platform& platform, PartOwner& owner, Configs configs);

  // Each looks at once.
  void begin();
  // One that says the same as before goes on; another looks at once, and has until then what the one in whose
  // place it stands had. listed: by the only one that there was.
  void update(Configs configs, const Lists& listed);
  // The same entries stand elsewhere in the file.
  void set_where(const Configs& configs);
  // What is said of the whole: the first one's words, with the labels and counts of all.
  ResourceConfig whole() const;

  bool several() const { return parts_.size() > 1; }
  Part& first() { return *parts_.front(); }
  void hint();
  void forgive(const Device& device);
  // Is a specification of ours written for some of the devices?
  bool names_by_cdi() const;
  std::vector<Stall> stalls() const;
  std::vector<EntryStatus> status() const;
  Scanner::Parts others_of(const Part& part) const;

  // Does the look, which has ended, know the entries that there are? One that began before an update does
  // not, and another has been asked for.
  bool counts(Part& part, const Scanner::Found& found) const;
  // The devices of all, with what the part has found; nothing: one of them has not looked yet, and the
  // kubelet would take the devices of running pods away.
  std::optional<DevicesOf> take(Part& part, Scanner::Found& found, const Lists& listed);
  // Are the devices of all to be taken without a look? After an update that begins none, or when the last one
  // that the others have waited for could not look.
  bool is_due() const { return !taken_ && all_have_looked(); }
  // If they are. Each looks again: who holds what, they know then.
  std::optional<DevicesOf> take_what_is_due(const Lists& listed);

 private:
  Part* make(ResourceConfig config);
  bool all_have_looked() const;
  std::vector<PartFound> found() const;

  Platform& platform_;
  PartOwner& owner_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::uint64_t version_ = 0;  // see Scanner::Parts
  std::uint64_t updated_ = 0;  // the version since which the parts are these
  bool taken_ = false;         // the devices of all, since then
};

}  // namespace plughost
