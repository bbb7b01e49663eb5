#pragma once
// FakeObjects in the words of one node: its labels and counts, its pods, and the Events that were written.
// Thread-safe.

#include <string>
#include <vector>

#include "unit/apiserver/fake_objects.hpp"

namespace plughost::test {

class FakeCluster : public FakeObjects {
 public:
  using FakeObjects::FakeObjects;

  void label(const std::string& key, const std::string& value);
  // The Node's capacity, which patches change, too.
  void show(const std::string& resource, const std::string& count);
  std::string shown(const std::string& resource) const;
  void remove_node() { remove(kNodes, kNode); }
  void add_pod(const std::string& name_space, const std::string& name, const std::string& uid);

  std::vector<Json> events() const;
  // The bodies of the merge patches of the Node's status.
  std::vector<std::string> patches() const;
};

}  // namespace plughost::test
