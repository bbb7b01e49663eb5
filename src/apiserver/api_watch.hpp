#pragma once
// The objects of a collection, as they are and as they change. Loop thread only.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/api_client.hpp"
#include "base/event_loop.hpp"
#include "base/json.hpp"

namespace plughost {

// Lists, then watches, for as long as it lives; after what was missed it lists again. It keeps no object.
class ApiWatch {
 public:
  // None is called from within the constructor, and any may end the watch. Objects have no `managedFields`;
  // a number that is no integer of 64 bits is a text.
  struct Hooks {
    std::function<void(std::vector<Json> objects)>
        listed;                                // all that there are: what was known before is void
    std::function<void(Json object)> changed;  // it is new, or another
    std::function<void(Json object)> gone;     // as it was last
    std::function<void(const std::string& sentence)> trouble;  // what is known grows old; empty: that is over
  };

  // field_selector: "spec.nodeName={node}"; {node} stands for the node's name. Empty: all of them. The client
  // outlives it.
  ApiWatch(ApiClient& client, std::string collection, std::string field_selector, Hooks hooks);
  ~ApiWatch();
  ApiWatch& operator=(ApiWatch&&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plughost
