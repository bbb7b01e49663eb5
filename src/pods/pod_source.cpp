#include "pods/pod_source.hpp"

#include <utility>

#include "apiserver/api_request.hpp"
#include "base/event_loop.hpp"
#include "base/workers.hpp"
#include "log/log.hpp"
#include "programs/programs.hpp"

namespace plughost {
namespace {

using Outcome = std::variant<std::vector<Pod>, std::string>;

// Of those that wait on one node.
constexpr std::size_t kLongestList = std::size_t{16} << 20u;

std::vector<Pod> pods_of(const std::vector<Json>& objects) {
  std::vector<Pod> pods;
  pods.reserve(objects.size());
  for (const Json& object : objects) pods.push_back(pod_of(object));
  return pods;
}

constexpr std::size_t kMostBytes = std::size_t{64} << 20u;

// The pods of a list by the API server.
Outcome pods_in(const ApiAnswer& list) {
  if (!list.ok()) return list.trouble;
  const auto parsed = parse_api_json(list.body);
  if (const auto* const trouble = std::get_if<std::string>(&parsed))
    return "the API server's list of pods cannot be read: " + *trouble;
  return pods_of(std::get<Json>(parsed)["items"].array());
}

}  // namespace

// No hook makes a follower or ends one: both come with a resource, whose lists are made elsewhere.
template <typename Call>
void PodSource::tell(Call call) {
  if (followers_.empty()) return watch_.reset();
  for (const auto& [number, hooks] : followers_) call(hooks);
}

// First the kubelet, then the API server.
class PodSource::Asking final : public Question {
 public:
  Asking(PodSource& source, const std::string& uid, std::function<void(const std::string& trouble)> done)
      : source_(source), done_(std::move(done)) {
    const auto told = lifetime_.bound([this, one = !uid.empty()](const PodsApi::Answer& answer) {
      source_.note(answer);
      if (answer.outcome != PodsApi::Outcome::kTold) return ask_server(answer);
      const auto end = ending();
      source_.tell([&](const Hooks& to) {
        if (!one) return to.listed(answer.pods);
        for (const Pod& pod : answer.pods) to.changed(pod);
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
      kubelet_trouble_ = "the kubelet: " + kubelet.why + "; ";
    ApiClient* const client = source_.server_.client();
    if (!client) return finish("the configuration names no API server any more");
    call_ = client->send({.verb = ApiVerb::kList,
                          .path =
                              [](const std::string& node) {
                                return "/api/v1/pods?fieldSelector=" +
                                       url_encoded("spec.nodeName=" + node + ",status.phase=Pending");
                              },
                          .deadline = kLastList,
                          .most_answer = kLongestList},
                         [this](const ApiAnswer& answer) { on_answer(answer); });
  }
  void on_answer(const ApiAnswer& answer) {
    const std::unique_ptr<ApiCall> call = std::move(call_);
    const auto list = pods_in(answer);
    if (const auto* const trouble = std::get_if<std::string>(&list)) return finish(*trouble);
    const auto end = ending();
    PodSource& source = source_;
    for (const Pod& pod : std::get<std::vector<Pod>>(list))
      source.tell([&](const Hooks& to) { to.changed(pod); });
    end(source.trouble());
  }
  // Who hears of pods may have enough then, and drop the question.
  std::function<void(const std::string& trouble)> ending() {
    return lifetime_.bound([this](const std::string& trouble) { finish(trouble); });
  }
  void finish(const std::string& trouble) {
    const auto done = std::move(done_);
    done(trouble.empty() ? "" : kubelet_trouble_ + trouble);
  }

  PodSource& source_;
  std::function<void(const std::string& trouble)> done_;
  std::string kubelet_trouble_;
  std::unique_ptr<ApiCall> call_;
  Lifetime lifetime_;
};

PodSource::PodSource(EventLoop& loop, ApiServer& server, std::filesystem::path kubelet)
    : loop_(loop),
      server_(server),
      kubelet_(std::make_unique<PodsApi>(loop, std::move(kubelet))),
      again_(loop, [this] { look(); }),
      user_(server.users(), [this] {
        watch_.reset();
        trouble_.clear();
        look();
      }) {}

PodSource::~PodSource() = default;

void PodSource::on_kubelet(const std::filesystem::path& socket) {
  // Its questions are never answered: nobody may have any.
  if (kubelet_->socket() != socket) kubelet_ = std::make_unique<PodsApi>(loop_, socket);
  look();
}

std::unique_ptr<PodSource::Follower> PodSource::follow(Hooks hooks) {
  const std::uint64_t number = next_++;
  followers_.emplace(number, std::move(hooks));
  watch_.reset();
  look();
  return std::unique_ptr<Follower>(new Follower(*this, number));
}

std::unique_ptr<PodSource::Question> PodSource::ask(const std::string& uid,
                                                    std::function<void(const std::string& trouble)> done) {
  return std::make_unique<Asking>(*this, uid, std::move(done));
}

void PodSource::look() {
  again_.cancel();
  if (followers_.empty()) return watch_.reset();
  kubelet_->list([this](const PodsApi::Answer& answer) {
    note(answer);
    if (answer.outcome == PodsApi::Outcome::kTold) tell([&](const Hooks& to) { to.listed(answer.pods); });
  });
}

void PodSource::note(const PodsApi::Answer& answer) {
  using enum PodsApi::Outcome;
  by_kubelet_ = answer.outcome == kTold || answer.outcome == kNotYet;
  if (!by_kubelet_) return watch();
  watch_.reset();
  trouble_.clear();
  if (answer.outcome == kNotYet && !again_.armed()) again_.arm(kNotYetPause);
}

void PodSource::watch() {
  ApiClient* const client = watch_ || followers_.empty() ? nullptr : server_.client();
  if (!client) return;
  watch_ = std::make_unique<ApiWatch>(
      *client, "/api/v1/pods", "spec.nodeName={node}",
      ApiWatch::Hooks{.listed =
                          [this](const std::vector<Json>& objects) {
                            const std::vector<Pod> pods = pods_of(objects);
                            tell([&](const Hooks& to) { to.listed(pods); });
                          },
                      .changed =
                          [this](const Json& object) {
                            const Pod pod = pod_of(object);
                            tell([&](const Hooks& to) { to.changed(pod); });
                          },
                      .gone =
                          [this](const Json& object) {
                            const std::string uid = object["metadata"]["uid"].text();
                            tell([&](const Hooks& to) { to.gone(uid); });
                          },
                      .trouble = [this](const std::string& sentence) { trouble_ = sentence; }});
}

Outcome pods_now(const std::filesystem::path& pods_api, const std::optional<ApiServerConfig>& server) {
  Outcome outcome = "`apiServer` is not there: nobody is asked for pods";
  EventLoop loop;
  Log log(LogLevel::kError, LogFormat::kAuto);
  Workers workers(loop, 1);
  Programs programs(loop);
  ApiServer api_server(loop, workers, programs, log);
  api_server.use(server);
  PodsApi kubelet(loop, pods_api);
  std::unique_ptr<ApiCall> call;
  kubelet.list([&](const PodsApi::Answer& answer) {
    ApiClient* const client = api_server.client();
    if (answer.outcome == PodsApi::Outcome::kTold) outcome = answer.pods;
    if (answer.outcome == PodsApi::Outcome::kTold || !client) return loop.stop();
    call = client->send({.verb = ApiVerb::kList,
                         .path =
                             [](const std::string& node) {
                               return "/api/v1/pods?fieldSelector=" + url_encoded("spec.nodeName=" + node);
                             },
                         .most_answer = kMostBytes},
                        [&](const ApiAnswer& told) {
                          outcome = pods_in(told);
                          loop.stop();
                        });
  });
  loop.run();
  return outcome;
}

}  // namespace plughost
