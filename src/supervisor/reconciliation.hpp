#pragma once
// What a reload does to the entries that run. A pure function of values, thread-safe.

#include <string>
#include <vector>

#include "config/config.hpp"

namespace plughost {

// In the order in which it is done. Entries go by their names' texts.
struct Reconciliation {
  std::vector<std::string> retired;            // they end for good
  std::vector<std::string> ended;              // others of their names begin
  bool kubelet = false;                        // another one is meant: all that remain end and begin
  bool cdi = false;                            // specifications belong into another directory
  std::vector<const ResourceConfig*> kept;     // they may stand elsewhere in the file
  std::vector<const ResourceConfig*> updated;  // other devices and terms, and the streams stay
  std::vector<const ResourceConfig*> begun;
};

// The pointers are into wanted.
Reconciliation reconcile(const Config& running, const Config& wanted);

}  // namespace plughost
