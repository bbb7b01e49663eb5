#include "integration/fake_pods.hpp"

#include <algorithm>
#include <chrono>

namespace plughost::test {
namespace {

std::string status_json(int code) {
  return R"({"kind":"Status","status":"Failure","message":"as the test wants it","code":)" +
         std::to_string(code) + "}";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

FakePods::FakePods() {
  start();
}

FakePods::~FakePods() {
  stop();
}

void FakePods::start() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = false;
  }
  server_ = std::make_unique<FakeApiServer>(
      [this](const FakeRequest& request, FakeConnection& connection) { handle(request, connection); }, port_);
  port_ = server_->port();
}

void FakePods::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  server_.reset();
}

std::string FakePods::kubeconfig() const {
  return "current-context: c\ncontexts:\n- name: c\n  context: {cluster: k, user: u}\nclusters:\n- name: k\n"
         "  cluster:\n      server: http://127.0.0.1:" +
         std::to_string(port_) + "\nusers:\n- name: u\n  user:\n      token: secret\n";
}

void FakePods::note(const char* type, const Json& pod) {
  events_.push_back(Json{{"type", type}, {"object", pod}}.dump());
  changed_.notify_all();
}

void FakePods::put(const Json& pod) {
  const std::lock_guard lock(mutex_);
  const std::string uid = pod["metadata"]["uid"].text();
  const bool known = pods_.contains(uid);
  Json whole = pod;
  whole["metadata"]["resourceVersion"] = std::to_string(events_.size() + 1);
  pods_[uid] = whole;
  note(known ? "MODIFIED" : "ADDED", whole);
}

void FakePods::annotate(const std::string& uid,
                        const std::vector<std::pair<std::string, std::string>>& annotations) {
  Json pod;
  {
    const std::lock_guard lock(mutex_);
    pod = pods_.at(uid);
  }
  for (const auto& [key, value] : annotations) pod["metadata"]["annotations"][key] = value;
  put(pod);
}

void FakePods::set_phase(const std::string& uid, const std::string& phase) {
  Json pod;
  {
    const std::lock_guard lock(mutex_);
    pod = pods_.at(uid);
  }
  pod["status"]["phase"] = phase;
  put(pod);
}

void FakePods::remove(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  const Json pod = pods_.at(uid);
  pods_.erase(uid);
  note("DELETED", pod);
}

void FakePods::label_node(const std::string& key, const std::string& value) {
  const std::lock_guard lock(mutex_);
  labels_[key] = value;
}

void FakePods::hold_watches(bool hold) {
  const std::lock_guard lock(mutex_);
  held_ = hold;
  changed_.notify_all();
}

void FakePods::fail_with(int code) {
  const std::lock_guard lock(mutex_);
  failing_ = code;
}

void FakePods::fail_patches(int code, unsigned times) {
  const std::lock_guard lock(mutex_);
  failing_patches_ = code;
  patches_to_fail_ = times;
}

std::string FakePods::annotation(const std::string& uid, const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = pods_.find(uid);
  return found == pods_.end() ? "" : std::as_const(found->second)["metadata"]["annotations"][key].text();
}

std::vector<std::string> FakePods::patches() const {
  const std::lock_guard lock(mutex_);
  return patches_;
}

std::size_t FakePods::requests(const std::string& part_of_target) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      targets_, [&](const std::string& target) { return has(target, part_of_target); }));
}

void FakePods::handle(const FakeRequest& request, FakeConnection& connection) {
  int failing = 0;
  {
    const std::lock_guard lock(mutex_);
    targets_.push_back(request.method + ' ' + request.target);
    failing = failing_;
  }
  if (failing != 0) return connection.answer(failing, status_json(failing));
  if (request.method == "PATCH") return patch(request, connection);
  if (has(request.target, "watch=true")) return watch(request.target, connection);
  list(request.target, connection);
}

void FakePods::list(const std::string& target, FakeConnection& connection) {
  const std::lock_guard lock(mutex_);
  Json::Array items;
  if (has(target, "/nodes")) {
    items.push_back(Json{{"metadata", Json{{"name", "n1"}, {"uid", "node-uid"}, {"labels", labels_}}},
                         {"status", Json::Object()}});
  } else {
    for (const auto& [uid, pod] : pods_) {
      if (!has(target, "Pending") || pod["status"]["phase"].text() == "Pending") items.push_back(pod);
    }
  }
  connection.answer(
      200,
      Json{{"metadata", Json{{"resourceVersion", std::to_string(events_.size())}}}, {"items", items}}.dump());
}

void FakePods::watch(const std::string& target, FakeConnection& connection) {
  const std::size_t at = target.find("resourceVersion=") + 16;
  std::size_t next = std::stoul(target.substr(at));
  connection.begin();
  const bool pods = has(target, "/pods");
  for (;;) {
    std::string event;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(100),
                        [&] { return ending_ || (pods && !held_ && next < events_.size()); });
      if (ending_) return connection.cut();
      if (pods && !held_ && next < events_.size()) event = events_[next++] + '\n';
    }
    if (!event.empty() && !connection.chunk(event)) return;
  }
}

void FakePods::patch(const FakeRequest& request, FakeConnection& connection) {
  const std::lock_guard lock(mutex_);
  int code = 200;
  const Json body = Json::parse(request.body);
  // "/api/v1/namespaces/ns/pods/NAME/status"
  const std::size_t from = request.target.find("/pods/") + 6;
  const std::string name = request.target.substr(from, request.target.find('/', from) - from);
  const auto found = std::ranges::find_if(
      pods_, [&](const auto& item) { return std::as_const(item.second)["metadata"]["name"].text() == name; });
  if (patches_to_fail_ > 0) {
    --patches_to_fail_;
    code = failing_patches_;
  } else if (found == pods_.end()) {
    code = 404;
  } else if (body["metadata"]["uid"].text() != found->first) {
    code = 422;
  } else {
    for (const auto& [key, value] : body["metadata"]["annotations"].object())
      found->second["metadata"]["annotations"][key] = value;
    note("MODIFIED", found->second);
  }
  patches_.push_back(name + ' ' + std::to_string(code) + ' ' + request.body);
  connection.answer(code, code == 200 ? found->second.dump() : status_json(code));
}

}  // namespace plughost::test
