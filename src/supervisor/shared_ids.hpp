#pragma once
// Ids that two entries list: the kubelet looks health up by id alone. Values, thread-safe.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "device/offer.hpp"

namespace plughost {

struct ListedIds {
  std::shared_ptr<const Offer> offer;
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
