#include "kubernetes/pods/pod_source.hpp"

#include <utility>

#include "base/log/log.hpp"
#include "base/system/workers.hpp"
#include "base/text/text.hpp"
#include "host/programs/programs.hpp"
#include "kubernetes/apiserver/api_request.hpp"
#include "kubernetes/apiserver/api_watch.hpp"

namespace plughost {
namespace {

using Outcome = std::variant<std::vector<Pod>, std::string>;

constexpr std::chrono::seconds kListDeadline{10};

// Pods that have ended hold nothing, and a node may have thousands of them.
constexpr const char* kLive = "spec.nodeName={node},status.phase!=Succeeded,status.phase!=Failed";
constexpr const char* kPending = "spec.nodeName={node},status.phase=Pending";

// The fields that pod_of() reads.
ApiCollection pods_where(const char* selector) {
  return {.path = "/api/v1/pods",
          .selector = selector,
          .fields = {"metadata.uid", "metadata.creationTimestamp", "metadata.deletionTimestamp",
                     "metadata.annotations", "status.phase", "spec.initContainers.name",
                     "spec.initContainers.resources.limits", "spec.containers.name",
                     "spec.containers.resources.limits"}};
}

std::vector<Pod> pods_of(const std::vector<Json>& objects) {
  std::vector<Pod> pods;
  pods.reserve(objects.size());
  for (const Json& object : objects) pods.push_back(pod_of(object));
  return pods;
}

// One list of pods from the API server. Pods that are too large are left out: the watch warns of them.
class PodList : ObjectStream::Owner {
 public:
  // Calls `done` once, but not from within the constructor; `done` may destroy the list.
  PodList(ApiClient& client, const char* selector, std::chrono::milliseconds deadline,
          std::function<void(const Outcome& outcome)> done)
      : done_(std::move(done)), stream_(client, pods_where(selector), ApiVerb::kList, "", deadline, *this) {}

 private:
  void on_objects(std::vector<JsonPart> objects) override {
    for (const JsonPart& object : objects) {
      if (!object.error.empty() || bytes_ + object.bytes > ApiWatch::kMostKept) continue;
      bytes_ += object.bytes;
      pods_.push_back(pod_of(object.value));
    }
  }
  void on_end(const ApiAnswer& answer, const Json& /*list*/) override {
    const auto done = std::move(done_);
    if (!answer.ok()) return done(answer.error);
    done(std::move(pods_));
  }

  std::function<void(const Outcome& outcome)> done_;
  std::vector<Pod> pods_;
  std::size_t bytes_ = 0;
  ObjectStream stream_;
};

}  // namespace

template <typename Call>
void PodSource::notify(Call call) {
  if (followers_.empty()) return watch_.reset();
  for (Follower* const each : followers_) call(*each);
}

// Queries the kubelet first, then the API server.
class PodSource::Asking final : public Question {
 public:
  Asking(PodSource& source, const std::string& uid, std::function<void(const std::string& error)> done)
      : source_(source), done_(std::move(done)) {
    const auto told = lifetime_.bound([this, one = !uid.empty()](const PodsApi::Answer& answer) {
      source_.record_left_out(answer);
      if (answer.outcome != PodsApi::Outcome::kTold) return ask_server(answer);
      const auto end = ending();
      source_.notify([&](Follower& to) {
        if (!one) return to.on_list(answer.pods);
        for (const Pod& pod : answer.pods) to.on_change(pod);
      });
      end("");
    });
    if (uid.empty())
      source_.kubelet_->list(told);
    else
      source_.kubelet_->get(uid, told);
  }

 private:
  void ask_server(const PodsApi::Answer& kubelet) {
    if (kubelet.outcome != PodsApi::Outcome::kNotServed)
      kubelet_error_ = "the kubelet: " + kubelet.why + "; ";
    ApiClient* const client = source_.server_.client();
    if (!client) return finish("the configuration names no API server any more");
    list_ = std::make_unique<PodList>(*client, kPending, kLastList,
                                      [this](const Outcome& outcome) { on_list(outcome); });
  }
  void on_list(const Outcome& outcome) {
    const std::unique_ptr<PodList> list = std::move(list_);
    if (const auto* const error = std::get_if<std::string>(&outcome)) return finish(*error);
    const auto end = ending();
    PodSource& source = source_;
    for (const Pod& pod : std::get<std::vector<Pod>>(outcome))
      source.notify([&](Follower& to) { to.on_change(pod); });
    end(source.error());
  }
  // Returns finish(), which does nothing if a follower has dropped this query.
  std::function<void(const std::string& error)> ending() {
    return lifetime_.bound([this](const std::string& error) { finish(error); });
  }
  void finish(const std::string& error) {
    const auto done = std::move(done_);
    done(error.empty() ? "" : kubelet_error_ + error);
  }

  PodSource& source_;
  std::function<void(const std::string& error)> done_;
  std::string kubelet_error_;
  std::unique_ptr<PodList> list_;
  Lifetime lifetime_;
};

PodSource::PodSource(EventLoop& loop, ApiServer& server, std::filesystem::path kubelet)
    : loop_(loop),
      server_(server),
      kubelet_(std::make_unique<PodsApi>(loop, std::move(kubelet))),
      again_(loop, [this] { choose_source(); }),
      user_(server.users(), [this] {
        watch_.reset();
        error_.clear();
        choose_source();
      }) {}

PodSource::~PodSource() = default;

void PodSource::on_kubelet(const std::filesystem::path& socket) {
  // Queries to the former socket would remain unanswered, so none may exist.
  if (kubelet_->socket() != socket) kubelet_ = std::make_unique<PodsApi>(loop_, socket);
  choose_source();
}

// A new follower gets all pods first. The other followers get them again.
PodSource::Follower::Follower(PodSource& source) : source_(source) {
  source.followers_.push_back(this);
  source.watch_.reset();
  source.choose_source();
}

std::unique_ptr<PodSource::Question> PodSource::query(const std::string& uid,
                                                      std::function<void(const std::string& error)> done) {
  return std::make_unique<Asking>(*this, uid, std::move(done));
}

void PodSource::choose_source() {
  again_.cancel();
  if (followers_.empty()) return watch_.reset();
  kubelet_->list([this](const PodsApi::Answer& answer) {
    record_left_out(answer);
    if (answer.outcome == PodsApi::Outcome::kTold) notify([&](Follower& to) { to.on_list(answer.pods); });
  });
}

void PodSource::record_left_out(const PodsApi::Answer& answer) {
  using enum PodsApi::Outcome;
  by_kubelet_ = answer.outcome == kTold || answer.outcome == kNotYet;
  Log& log = server_.log();
  for (const std::string& pod : answer.left_out) {
    if (left_out_.size() < ApiWatch::kMostNamed && left_out_.insert(pod).second)
      log.warn("pod of the kubelet left out: make its annotations smaller, or delete it",
               {{"pod", printable(pod)}});
  }
  if (!by_kubelet_) return watch();
  watch_.reset();
  error_.clear();
  if (answer.outcome == kNotYet && !again_.armed()) again_.arm(kNotYetPause);
}

void PodSource::watch() {
  ApiClient* const client = watch_ || followers_.empty() ? nullptr : server_.client();
  if (!client) return;
  ApiWatch::Owner& owner = *this;
  watch_ = std::make_unique<ApiWatch>(*client, pods_where(kLive), owner);
}

void PodSource::on_list(std::vector<Json> objects) {
  const std::vector<Pod> pods = pods_of(objects);
  notify([&](Follower& to) { to.on_list(pods); });
}

void PodSource::on_change(Json object) {
  const Pod pod = pod_of(object);
  notify([&](Follower& to) { to.on_change(pod); });
}

void PodSource::on_gone(Json object) {
  const std::string uid = object["metadata"]["uid"].text();
  notify([&](Follower& to) { to.on_gone(uid); });
}

Outcome pods_now(const std::filesystem::path& pods_api, const std::optional<ApiServerConfig>& server) {
  Outcome outcome = "there is no `apiServer` to read pods from";
  EventLoop loop;
  Log log(LogLevel::kError, LogFormat::kAuto);
  Workers workers(loop, 1);
  Programs programs(loop);
  ApiServer api_server(loop, workers, programs, log);
  api_server.use(server);
  PodsApi kubelet(loop, pods_api);
  std::optional<PodList> list;
  kubelet.list([&](const PodsApi::Answer& answer) {
    ApiClient* const client = api_server.client();
    if (answer.outcome == PodsApi::Outcome::kTold) outcome = answer.pods;
    if (answer.outcome == PodsApi::Outcome::kTold || !client) return loop.stop();
    list.emplace(*client, kLive, kListDeadline, [&](const Outcome& told) {
      outcome = told;
      loop.stop();
    });
  });
  loop.run();
  return outcome;
}

}  // namespace plughost
