#pragma once
// Our Node in the API server: one watch of it, for all that want to know it. Loop thread only.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/system/subscribers.hpp"
#include "base/text/json.hpp"
#include "kubernetes/apiserver/api_server.hpp"
#include "kubernetes/apiserver/api_watch.hpp"

namespace plughost {

struct NodeObject {
  std::string name;
  std::string uid;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> capacity;  // of its status: "2" of "example.com/gpu"

  bool operator==(const NodeObject&) const = default;
};

// Of a v1 Node. What is not there, or is no text, is left out.
NodeObject node_object_of(const Json& node);

class NodeWatch {
 public:
  // server outlives it.
  explicit NodeWatch(ApiServer& server);
  NodeWatch& operator=(NodeWatch&&) = delete;

  // It is watched while somebody follows: changed comes when node() or error() may say something else,
  // never from within.
  std::unique_ptr<Subscription> follow(std::function<void()> changed);

  // As it was last; nullptr: it is not known, or is not there.
  const NodeObject* node() const { return node_ ? &*node_ : nullptr; }
  // Why node() is not known, or grows old; empty: all is well, or the first answer is not there yet.
  std::string error() const;

 private:
  void begin();
  void forget();
  void update(std::optional<NodeObject> node);
  void notify();

  ApiServer& server_;
  std::optional<NodeObject> node_;
  bool missing_ = false;  // there is none
  std::string watch_error_;
  Subscribers followers_;
  Subscription user_;
  std::unique_ptr<ApiWatch> watch_;
};

}  // namespace plughost
