#pragma once
// Which entry serves which resource: one name, one entry, or the kubelet would get two lists for it. A value;
// not thread-safe.

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "model/allocate/resource_snapshot.hpp"

namespace plughost {

// Entries go by their names' texts.
class ResourceNames {
 public:
  // The entry that has the resource's name: this one from now on, unless another has it already.
  const std::string& claim(const std::string& resource, const std::string& entry);
  // The entry does not serve, or want, the resource any more.
  void release(const std::string& resource, const std::string& entry);
  // The entry serves and wants no resource any more.
  void release_all(const std::string& entry);
  // Those that were refused a name that has been released since. Each is told of once.
  std::set<std::string> take_waiting();

 private:
  struct Claim {
    std::string owner;
    std::set<std::string> refused;
  };
  using Claims = std::map<std::string, Claim>;  // by resource

  // The next claim.
  Claims::iterator release(Claims::iterator claim, const std::string& entry);

  Claims claims_;
  std::set<std::string> waiting_;
};

// Ids that two entries list: the kubelet looks health up by id alone. Values, thread-safe.

struct ListedIds {
  SharedSnapshot snapshot;
  std::string where;  // its entry: "file:line:col"
};

struct SharedIds {
  std::size_t count = 0;  // ids that stand in more than one list
  std::string first;      // of these, by name; and who lists it, in the order of the lists
  const ListedIds* one = nullptr;
  const ListedIds* other = nullptr;
};

// The result points into lists.
SharedIds shared_ids(std::span<const ListedIds> lists);

}  // namespace plughost
