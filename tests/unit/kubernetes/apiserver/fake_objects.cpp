#include "unit/kubernetes/apiserver/fake_objects.hpp"

#include <algorithm>
#include <utility>

#include "base/text/ascii.hpp"
#include "base/text/text.hpp"

namespace plughost::test {
namespace {

Json status(int code, const std::string& message) {
  return {{"kind", "Status"}, {"status", "Failure"}, {"message", message}, {"code", code}};
}

const Json& constant(const Json& json) { return json; }

std::string line_of(const FakeRequest& request) { return request.method + ' ' + request.target; }

// Returns the decoded value of a parameter of the URL's query.
std::string parameter(const std::string& query, const std::string& name) {
  const std::string all = '&' + query;
  const std::size_t at = all.find('&' + name + '=');
  if (at == std::string::npos) return {};
  const std::size_t from = at + name.size() + 2;
  const std::string coded = all.substr(from, all.find('&', from) - from);
  std::string text;
  for (std::size_t i = 0; i < coded.size(); ++i) {
    if (coded[i] != '%') {
      text += coded[i];
      continue;
    }
    text += static_cast<char>(std::stoi(coded.substr(i + 1, 2), nullptr, 16));
    i += 2;
  }
  return text;
}

// Returns true if the selector, such as "spec.nodeName=worker-1,status.phase!=Failed", matches the object. An
// empty selector matches every object.
bool selected(const Json& object, const std::string& selector) {
  for (std::size_t from = 0; from < selector.size();) {
    const std::size_t end = std::min(selector.find(',', from), selector.size());
    const std::string term = selector.substr(from, end - from);
    const std::size_t dot = term.find('.');
    const std::size_t equals = term.find('=');
    const bool must_differ = term[equals - 1] == '!';
    const std::string name = term.substr(dot + 1, equals - dot - 1 - (must_differ ? 1 : 0));
    const std::string& value = object[term.substr(0, dot)][name].text();
    if ((value == term.substr(equals + 1)) == must_differ) return false;
    from = end + 1;
  }
  return true;
}

// Returns true if `one` is `collection`, or the same collection in one namespace.
bool is_in(const std::string& one, const std::string& collection) {
  if (one == collection) return true;
  const std::size_t slash = collection.rfind('/');
  return one.starts_with(collection.substr(0, slash) + "/namespaces/") &&
         one.ends_with(collection.substr(slash)) && collection.find("/namespaces/") == std::string::npos;
}

void without(Json& object, std::string_view name) {
  Json::Object rest;
  for (const auto& member : constant(object).object())
    if (member.first != name) rest.push_back(member);
  object = rest;
}

// Replaces "1000" by "1k", as the API server prints quantities.
void print_quantity(Json& value) {
  const std::string text = constant(value).text();
  if (is_digits(text) && text.size() > 3 && text.ends_with("000"))
    value = text.substr(0, text.size() - 3) + 'k';
}

Json merged(Json into, const Json& patch) {
  if (patch.object().empty()) return patch;
  for (const auto& [key, value] : patch.object()) {
    if (value.is_null())
      without(into, key);
    else
      into[key] = merged(constant(into)[key], value);
  }
  return into;
}

}  // namespace

FakeObjects::FakeObjects(std::uint16_t port) : port_(port) {
  make_node();
  start();
}

FakeObjects::~FakeObjects() { stop(); }

void FakeObjects::start() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = false;
  }
  server_ = std::make_unique<FakeApiServer>(
      [this](const FakeRequest& request, FakeConnection& out) { serve_request(request, out); }, port_);
  port_ = server_->port();
}

void FakeObjects::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  server_.reset();
}

std::string FakeObjects::kubeconfig(const TempDir& directory, const std::string& name) const {
  directory.file(name,
                 "current-context: c\ncontexts:\n- name: c\n  context: {cluster: k, user: u}\nclusters:\n"
                 "- name: k\n  cluster: {server: \"" +
                     url() + "\"}\nusers:\n- name: u\n  user: {token: secret}\n");
  return directory.at(name);
}

void FakeObjects::put(const std::string& collection, Json object) {
  const std::lock_guard lock(mutex_);
  const std::string path = collection + '/' + constant(object)["metadata"]["name"].text();
  store(collection, path, std::move(object));
}

void FakeObjects::make_node() {
  put(kNodes, Json{{"apiVersion", "v1"},
                   {"kind", "Node"},
                   {"metadata", Json{{"name", kNode}, {"uid", "node-uid"}, {"labels", Json::Object()}}},
                   {"status", Json{{"capacity", Json{{"cpu", "8"}, {"pods", "110"}}}}}});
}

void FakeObjects::change(const std::string& collection, const std::string& name,
                         const std::function<void(Json& object)>& how) {
  const std::lock_guard lock(mutex_);
  const std::string path = collection + '/' + name;
  Json object = objects_.at(path);
  how(object);
  store(collection, path, std::move(object));
}

void FakeObjects::remove(const std::string& collection, const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(collection + '/' + name);
  if (found == objects_.end()) return;
  const Json object = found->second;
  objects_.erase(found);
  note(collection, "DELETED", object, object);
}

Json FakeObjects::get(const std::string& collection, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(collection + '/' + name);
  return found == objects_.end() ? Json() : found->second;
}

std::vector<Json> FakeObjects::all(const std::string& collection) const {
  const std::lock_guard lock(mutex_);
  const Answer listed = list(collection, "");
  return constant(listed.body)["items"].array();
}

void FakeObjects::refuse(const std::string& beginning, int code, unsigned times, const std::string& headers,
                         const std::string& message) {
  const std::lock_guard lock(mutex_);
  std::erase_if(refusals_, [&](const Refusal& each) { return each.beginning == beginning; });
  if (code != 0)
    refusals_.push_back(
        {.beginning = beginning, .code = code, .times = times, .headers = headers, .message = message});
}

void FakeObjects::hold(const std::string& beginning) {
  const std::lock_guard lock(mutex_);
  held_.insert(beginning);
}

void FakeObjects::release() {
  const std::lock_guard lock(mutex_);
  held_.clear();
  changed_.notify_all();
}

void FakeObjects::hold_watches(bool held) {
  const std::lock_guard lock(mutex_);
  watches_held_ = held;
  changed_.notify_all();
}

void FakeObjects::deny(const std::string& right) {
  const std::lock_guard lock(mutex_);
  denied_.insert(right);
}

void FakeObjects::end_watches(Versions versions) {
  const std::lock_guard lock(mutex_);
  ++watches_;
  if (versions != Versions::kKnown) oldest_ = events_.size() + 1;
  expired_by_event_ = versions == Versions::kExpiredByEvent;
  changed_.notify_all();
}

std::vector<std::string> FakeObjects::asked() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const FakeRequest& request : asked_) lines.push_back(line_of(request));
  return lines;
}

std::size_t FakeObjects::asked(const std::string& beginning) const {
  const auto lines = asked();
  return static_cast<std::size_t>(
      std::ranges::count_if(lines, [&](const std::string& line) { return line.starts_with(beginning); }));
}

std::vector<FakeRequest> FakeObjects::written() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

std::size_t FakeObjects::written(const std::string& method) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count(written_, method, &FakeRequest::method));
}

void FakeObjects::serve_request(const FakeRequest& request, FakeConnection& out) {
  const std::string line = line_of(request);
  const std::string path = request.target.substr(0, request.target.find('?'));
  const std::string query = path.size() < request.target.size() ? request.target.substr(path.size() + 1) : "";
  std::unique_lock lock(mutex_);
  asked_.push_back(request);
  changed_.wait(lock, [&] {
    return ending_ || std::ranges::none_of(
                          held_, [&](const std::string& beginning) { return line.starts_with(beginning); });
  });
  if (ending_) return out.cut();
  const auto refusal = std::ranges::find_if(
      refusals_, [&](const Refusal& each) { return each.times > 0 && line.starts_with(each.beginning); });
  if (refusal != refusals_.end()) {
    --refusal->times;
    return out.answer(refusal->code, status(refusal->code, refusal->message).dump(), refusal->headers);
  }
  if (parameter(query, "watch") == "true") {
    lock.unlock();
    return watch(path, query, out);
  }
  const Answer answered = answer(request);
  out.answer(answered.code, answered.body.dump());
}

FakeObjects::Answer FakeObjects::answer(const FakeRequest& request) {
  const std::string path = request.target.substr(0, request.target.find('?'));
  const std::string query = path.size() < request.target.size() ? request.target.substr(path.size() + 1) : "";
  if (path.ends_with("/selfsubjectaccessreviews")) {
    const Json review = Json::parse(request.body);
    const Json& right = review["spec"]["resourceAttributes"];
    const bool allowed = !denied_.contains(right["verb"].text() + ' ' + right["resource"].text());
    return {.code = 201, .body = Json{{"status", Json{{"allowed", allowed}}}}};
  }
  if (request.method == "POST") return create(path, request);
  std::string object_path = path;
  if (constexpr std::string_view kStatus = "/status"; path.ends_with(kStatus))
    object_path = path.substr(0, path.size() - kStatus.size());
  const auto found = objects_.find(object_path);
  const std::size_t slash = object_path.rfind('/');
  if (request.method == "GET" && found == objects_.end()) {
    static const std::set<std::string> kCollections{"events", "nodes", "pods"};
    if (kCollections.contains(path.substr(path.rfind('/') + 1))) return list(path, query);
  }
  if (found == objects_.end()) {
    const std::string collection = object_path.substr(0, slash);
    Json missing = status(404, "not found");
    missing["reason"] = "NotFound";
    missing["details"] = {{"name", object_path.substr(slash + 1)},
                          {"kind", collection.substr(collection.rfind('/') + 1)}};
    return {.code = 404, .body = missing};
  }
  if (request.method == "GET") return {.code = 200, .body = found->second};
  if (request.method == "PUT") return replace(object_path, Json::parse(request.body), request);
  if (request.method == "PATCH")
    return replace(object_path, merged(found->second, Json::parse(request.body)), request);
  written_.push_back(request);
  const Json object = found->second;
  objects_.erase(found);
  note(object_path.substr(0, slash), "DELETED", object, object);
  return {.code = 200, .body = Json{{"kind", "Status"}, {"status", "Success"}}};
}

FakeObjects::Answer FakeObjects::list(const std::string& collection, const std::string& query) const {
  Json items = Json::Array();
  for (const auto& [path, object] : objects_) {
    if (is_in(path.substr(0, path.rfind('/')), collection) &&
        selected(object, parameter(query, "fieldSelector")))
      items.push_back(object);
  }
  return {.code = 200,
          .body = Json{{"kind", "List"},
                       {"metadata", Json{{"resourceVersion", std::to_string(events_.size())}}},
                       {"items", std::move(items)}}};
}

FakeObjects::Answer FakeObjects::create(const std::string& collection, const FakeRequest& request) {
  Json object = Json::parse(request.body);
  const std::string name = constant(object)["metadata"]["name"].text();
  const std::string path = collection + '/' + name;
  if (objects_.contains(path)) return {.code = 409, .body = status(409, name + " already exists")};
  if (request.target.find("dryRun=All") != std::string::npos) {
    object["metadata"]["uid"] = "dry-run";
    return {.code = 201, .body = object};
  }
  written_.push_back(request);
  store(collection, path, std::move(object));
  return {.code = 201, .body = objects_.at(path)};
}

FakeObjects::Answer FakeObjects::replace(const std::string& path, Json object, const FakeRequest& request) {
  const Json& before = constant(objects_.at(path));
  const std::string version = constant(object)["metadata"]["resourceVersion"].text();
  if (!version.empty() && version != before["metadata"]["resourceVersion"].text())
    return {.code = 409, .body = status(409, "the object has been modified")};
  if (path.starts_with(kNodes)) {
    const Json::Object capacity = constant(object)["status"]["capacity"].object();
    for (const auto& [name, ignored] : capacity) print_quantity(object["status"]["capacity"][name]);
  }
  const std::string uid = constant(object)["metadata"]["uid"].text();
  if (!uid.empty() && uid != before["metadata"]["uid"].text())
    return {.code = 422, .body = status(422, "metadata.uid: Invalid value: field is immutable")};
  written_.push_back(request);
  store(path.substr(0, path.rfind('/')), path, std::move(object));
  return {.code = 200, .body = objects_.at(path)};
}

void FakeObjects::store(const std::string& collection, const std::string& path, Json object) {
  const auto before = objects_.find(path);
  Json& metadata = object["metadata"];
  if (before != objects_.end())
    metadata["uid"] = constant(before->second)["metadata"]["uid"].text();
  else if (constant(metadata)["uid"].text().empty())
    metadata["uid"] = "uid-" + std::to_string(next_uid_++);
  metadata["resourceVersion"] = std::to_string(events_.size() + 1);
  metadata["managedFields"] = Json::Array{Json{{"manager", "somebody"}}};
  const char* const type = before == objects_.end() ? "ADDED" : "MODIFIED";
  const Json former = std::exchange(objects_[path], object);
  note(collection, type, former, object);
}

void FakeObjects::note(const std::string& collection, const char* type, const Json& before,
                       const Json& object) {
  Json whole = object;
  whole["metadata"]["resourceVersion"] = std::to_string(events_.size() + 1);
  events_.push_back({.collection = collection, .type = type, .before = before, .object = std::move(whole)});
  changed_.notify_all();
}

void FakeObjects::watch(const std::string& collection, const std::string& query, FakeConnection& out) {
  const std::string selector = parameter(query, "fieldSelector");
  std::size_t next = number_in<std::size_t>(parameter(query, "resourceVersion")).value_or(0);
  unsigned ending = 0;
  std::string expired;
  {
    const std::lock_guard lock(mutex_);
    ending = watches_;
    const Json too_old = status(410, "too old resource version");
    if (next < oldest_ && !expired_by_event_) return out.answer(410, too_old.dump());
    if (next < oldest_) expired = Json{{"type", "ERROR"}, {"object", too_old}}.dump() + '\n';
  }
  out.begin();
  if (!expired.empty()) {
    out.chunk(expired);
    return out.end();
  }
  for (;;) {
    std::string line;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(
          lock, [&] { return ending_ || ending != watches_ || (!watches_held_ && next < events_.size()); });
      if (ending_) return out.cut();
      if (ending != watches_) break;
      const Event& event = events_[next++];
      // For this watch, an object that no longer matches the selector is deleted, and an object that begins
      // to match is added.
      const bool is = selected(event.object, selector);
      const bool was = !event.before.is_null() && selected(event.before, selector);
      const std::string type = is == was ? event.type : is ? "ADDED" : "DELETED";
      if (is_in(event.collection, collection) && (is || was))
        line = Json{{"type", type}, {"object", event.object}}.dump() + '\n';
    }
    if (!line.empty() && !out.chunk(line)) return;
  }
  out.end();
}

}  // namespace plughost::test
