#pragma once
// This node's Node object: one watch, shared by all users. Loop thread only.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/system/subscribers.hpp"
#include "base/text/json.hpp"
#include "kubernetes/apiserver/api_server.hpp"
#include "kubernetes/apiserver/api_watch.hpp"

namespace plughost {

struct NodeObject {
  std::string name;
  std::string uid;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> capacity;  // of its status: "2" for "example.com/gpu"

  bool operator==(const NodeObject&) const = default;
};

// Reads a v1 Node. Missing members, and members that are not texts, are left out.
NodeObject node_object_of(const Json& node);

class NodeWatch : ApiWatch::Owner {
 public:
  // `server` must outlive this object.
  explicit NodeWatch(ApiServer& server);
  NodeWatch& operator=(NodeWatch&&) = delete;

  // Watches while there are subscriptions. Calls `changed` when node() or error() may have changed, but never
  // from within follow().
  std::unique_ptr<Subscription> follow(std::function<void()> changed);

  // Returns the last known state; nullptr if it is unknown, or if the Node does not exist.
  const NodeObject* node() const { return node_ ? &*node_ : nullptr; }
  // Returns why node() is unknown or outdated; empty if it is current or the first answer has not arrived.
  std::string error() const;

 private:
  void begin();
  void on_list(std::vector<Json> nodes) override;
  void on_change(Json node) override { update(node_object_of(node)); }
  void on_gone(Json node) override;
  void on_error(const std::string& sentence) override;
  void forget();
  void update(std::optional<NodeObject> node);
  void notify();

  ApiServer& server_;
  std::optional<NodeObject> node_;
  bool missing_ = false;  // the Node does not exist
  std::string watch_error_;
  Subscribers followers_;
  Subscription user_;
  std::unique_ptr<ApiWatch> watch_;
};

}  // namespace plughost
