#include "kubernetes/apiserver/node_watch.hpp"

#include <utility>

namespace plughost {
namespace {

// In bytes: Node Feature Discovery writes some hundred labels.
constexpr std::size_t kMostKept = std::size_t{1} << 20u;

std::map<std::string, std::string> texts_of(const Json& map) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : map.object()) {
    if (value == Json(value.text())) texts[key] = value.text();
  }
  return texts;
}

}  // namespace

NodeObject node_object_of(const Json& node) {
  const Json& metadata = node["metadata"];
  return {.name = metadata["name"].text(),
          .uid = metadata["uid"].text(),
          .labels = texts_of(metadata["labels"]),
          .capacity = texts_of(node["status"]["capacity"])};
}

NodeWatch::NodeWatch(ApiServer& server)
    : server_(server), user_(server.users(), [this] {
        forget();
        begin();
        followers_.notify();
      }) {}

std::unique_ptr<Subscription> NodeWatch::follow(std::function<void()> changed) {
  auto subscription = std::make_unique<Subscription>(followers_, std::move(changed));
  begin();
  return subscription;
}

std::string NodeWatch::error() const {
  if (!watch_error_.empty() || !missing_) return watch_error_;
  return "the API server has no Node of our name";
}

void NodeWatch::begin() {
  ApiClient* const client = watch_ || followers_.empty() ? nullptr : server_.client();
  if (!client) return;
  ApiWatch::Owner& owner = *this;
  watch_ = std::make_unique<ApiWatch>(
      *client,
      ApiCollection{.path = "/api/v1/nodes",
                    .selector = "metadata.name={node}",
                    .fields = {"metadata.uid", "metadata.labels", "status.capacity"},
                    .most_kept = kMostKept},
      owner);
}

void NodeWatch::on_list(std::vector<Json> nodes) {
  if (nodes.empty()) return update(std::nullopt);
  update(node_object_of(nodes.front()));
}

void NodeWatch::on_gone(Json /*node*/) { update(std::nullopt); }

void NodeWatch::on_error(const std::string& sentence) {
  if (std::exchange(watch_error_, sentence) != sentence) notify();
}

void NodeWatch::forget() {
  watch_.reset();
  node_.reset();
  missing_ = false;
  watch_error_.clear();
}

void NodeWatch::update(std::optional<NodeObject> node) {
  if (node_ == node && missing_ == !node) return;
  missing_ = !node;
  node_ = std::move(node);
  notify();
}

// Notifies the subscribers. Ends the watch if none is left.
void NodeWatch::notify() {
  if (followers_.empty()) return forget();
  followers_.notify();
}

}  // namespace plughost
