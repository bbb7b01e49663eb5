#pragma once
// FakeObjects for one node: the labels and counts of the Node, the node's pods, and the Events that were
// written. Thread-safe.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "unit/kubernetes/apiserver/fake_objects.hpp"

namespace plughost::test {

class FakeCluster : public FakeObjects {
 public:
  using FakeObjects::FakeObjects;

  void label(const std::string& key, const std::string& value);
  // Sets a resource's capacity in the Node. Patches of the client change it, too.
  void show(const std::string& resource, const std::string& count);
  std::string shown(const std::string& resource) const;
  void remove_node() { remove(kNodes, kNode); }
  void add_pod(const std::string& name_space, const std::string& name, const std::string& uid);
  // The collection for put_pod(): the pods of the namespace ns.
  static constexpr const char* kPods = "/api/v1/namespaces/ns/pods";
  void put_pod(const Json& pod) { put(kPods, pod); }
  void remove_pod(const std::string& name) { remove(kPods, name); }
  void set_phase(const std::string& name, const std::string& phase);
  void annotate(const std::string& name, const std::map<std::string, std::string>& annotations);
  std::string annotation(const std::string& name, const std::string& key) const;
  // Returns the bodies of the merge patches of pods' statuses.
  std::vector<std::string> pod_patches() const;

  std::vector<Json> events() const;
  // Returns the bodies of the merge patches of the Node's status.
  std::vector<std::string> patches() const;

 private:
  std::vector<std::string> bodies_of_patches(const std::function<bool(const std::string& target)>& of) const;
};

}  // namespace plughost::test
