#pragma once
// What is read of a pod, whoever shows it: the API server, or the kubelet. A plain value.

#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace plughost {

struct Pod {
  struct Container {
    std::string name;
    bool init = false;
    std::map<std::string, std::string, std::less<>> limits;  // quantities, by resource

    bool operator==(const Container&) const = default;
  };

  std::string uid;
  std::string name_space;
  std::string name;
  std::string created;   // RFC 3339, in UTC: such texts are in the order of their times
  bool deleted = false;  // it is being deleted
  std::string phase;
  std::map<std::string, std::string, std::less<>> annotations;
  std::vector<Container> containers;  // in the order of the kubelet's calls: init containers first

  bool operator==(const Pod&) const = default;
};

// Of a v1 Pod. What is not there, or is something else, is left out.
Pod pod_of(const Json& pod);

}  // namespace plughost
