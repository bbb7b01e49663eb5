#pragma once
// What entries have to do with each other: who is near whom, which share their cards, and ids that two list.
// Loop thread only.

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "log/log.hpp"
#include "supervisor/entries.hpp"

namespace plughost {

class Relations {
 public:
  // They outlive it.
  Relations(Log& log, Entries& entries) : log_(log), entries_(entries) {}

  // Which of these entries share their cards (see Recipe::same_card): known without a look at the machine,
  // and so from the first list on.
  void join(const std::vector<ResourceConfig>& entries);
  // As the lists are now: see Recipe::near, and what is told of ids that two entries list.
  void look();

 private:
  void tell_neighbours();
  void look_for_shared_ids();

  Log& log_;
  Entries& entries_;
  std::size_t shared_ids_ = 0;                                      // that were told of
  std::map<std::string, std::size_t> card_groups_;                  // see same_card_groups()
  std::map<std::size_t, std::shared_ptr<GivenCards>> given_cards_;  // by the number of the group
};

}  // namespace plughost
