#include "driver/slice_publisher.hpp"

#include <algorithm>
#include <random>
#include <utility>
#include <variant>

#include "apiserver/api_json.hpp"
#include "apiserver/api_watch.hpp"
#include "base/backoff.hpp"
#include "base/joined.hpp"
#include "dra/slice_json.hpp"
#include "dra/slice_keeper.hpp"
#include "dra/slice_to_try.hpp"

namespace plughost {
namespace {

constexpr std::string_view kGroupPath = "/apis/resource.k8s.io";
constexpr std::chrono::milliseconds kFirstAsking{500};
constexpr std::chrono::milliseconds kLongestAsking{30'000};
// Of a version that is not served nobody can say whether a slice is there: as if the server were away.
constexpr int kUnserved = 503;

// "" if it serves none that we know.
std::string served_version(const std::string& body) {
  const auto parsed = parse_api_json(body);
  const auto* const group = std::get_if<Json>(&parsed);
  if (!group) return {};
  std::vector<std::string> served;
  for (const Json& each : (*group)["versions"].array()) served.push_back(each["version"].text());
  return version_of_slices(served);
}

std::optional<ShownSlice> slice_in(const std::string& body) {
  const auto parsed = parse_api_json(body);
  const auto* const object = std::get_if<Json>(&parsed);
  if (!object) return std::nullopt;
  ShownSlice shown = shown_slice(*object);
  if (shown.slice.name.empty()) return std::nullopt;
  return shown;
}

// A 404 that is not about an object.
bool is_unserved(const ApiAnswer& answer) {
  if (answer.code != ApiAnswer::kNotFound) return false;
  const auto parsed = parse_api_json(answer.body);
  const auto* const status = std::get_if<Json>(&parsed);
  return !status || (*status)["details"]["name"].text().empty();
}

bool is_passing(const ApiAnswer& answer) {
  return answer.code == 0 || answer.code == ApiAnswer::kTooManyRequests || answer.code >= 500 ||
         answer.code == ApiAnswer::kUnauthorized;
}

}  // namespace

class SlicePublisher::Impl {
 public:
  Impl(EventLoop& loop, Log& log, ApiServer& server, NodeWatch& node, Hooks hooks)
      : log_(log),
        server_(server),
        node_(node),
        hooks_(std::move(hooks)),
        discover_again_(loop, [this] { discover(); }),
        try_again_(loop, [this] { try_features(true); }),
        due_(loop, [this] { go(); }),
        end_(loop,
             [this] {
               if (busy()) return;
               watch_.reset();
               following_.reset();
             }),
        tell_(loop, [this] { tell(); }),
        user_(server.users(), [this] { begin_anew(); }) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void use(std::string driver) {
    if (driver_ == driver) return;
    driver_ = std::move(driver);
    forget_features();
    own();
    watch_.reset();  // what there is of the new one is not known
    if (version_.empty())
      discover();
    else
      follow();
    note_change();
  }

  void publish(std::map<std::string, Pool> pools, std::set<std::string> undecided) {
    pools_.clear();
    for (auto& item : pools) pools_.push_back(std::move(item.second));
    undecided_ = std::move(undecided);
    told_ = true;
    keeper_.want(pools_, undecided_);
    std::erase_if(published_, [&](const auto& each) {
      return std::ranges::find(pools_, each.first, &Pool::name) == pools_.end();
    });
    for (auto& [name, published] : published_) published.wanted_anew = true;
    go();
  }

  // The API server was upgraded, or goes back; or one of several was.
  void doubt_version() {
    if (version_.empty() || doubted_) return;
    doubted_ = true;
    discover_again_.arm(doubts_.next());
  }

  const std::string& node() const { return known_node_; }
  const std::optional<DraFeatures>& features() const { return features_; }

  SlicesState state() const {
    SlicesState state{.version = version_,
                      .trouble = trouble(),
                      .pools = {},
                      .writes = writes_,
                      .nothing_left = told_ && pools_.empty() && keeper_.clean()};
    for (const auto& [name, pool] : keeper_.pools()) {
      PublishedPool published{.pool = name,
                              .devices = pool.devices,
                              .slices = pool.slices,
                              .generation = pool.generation,
                              .published = pool.published,
                              .at = std::nullopt,
                              .trouble = pool.trouble};
      if (const auto found = published_.find(name); found != published_.end())
        published.at = found->second.at;
      state.pools.push_back(std::move(published));
    }
    return state;
  }

 private:
  using Clock = EventLoop::Clock;

  struct Published {
    bool now = false;
    bool wanted_anew = true;  // since it was published
    bool mended = false;      // somebody else is why it has to be written
    std::string told;         // trouble
    std::optional<std::chrono::system_clock::time_point> at;
  };

  // Is there anything to be done in the API server?
  bool busy() const { return !driver_.empty() || !keeper_.clean(); }

  void begin_anew() {
    calls_.clear();
    call_.reset();
    watch_.reset();
    following_.reset();
    discover_again_.cancel();
    try_again_.cancel();
    due_.cancel();
    version_.clear();
    doubted_ = false;
    doubts_.reset();
    known_node_.clear();
    forget_features();
    discovery_trouble_.clear();
    watch_trouble_.clear();
    waits_.reset();
    keeper_ = SliceKeeper(std::random_device()());
    if (told_) keeper_.want(pools_, undecided_);
    published_.clear();
    discover();
    note_change();
  }

  void forget_features() {
    trying_.reset();
    if (std::exchange(features_, std::nullopt)) note_known();
  }

  void own() {
    const SliceOwner owner{.driver = driver_, .node = known_node_, .node_uid = node_uid()};
    if (owner == keeper_.owner()) return;
    keeper_.own(owner);
    for (auto& [name, published] : published_) published.wanted_anew = true;
  }

  std::string node_uid() const {
    const NodeObject* const object = following_ ? node_.node() : nullptr;
    return object && object->name == known_node_ ? object->uid : "";
  }

  void discover() {
    ApiClient* const client = driver_.empty() ? nullptr : server_.client();
    if (!client || call_ || (!version_.empty() && !doubted_)) return;
    call_ = client->send({.verb = ApiVerb::kGet, .path = std::string(kGroupPath)},
                         [this](const ApiAnswer& answer) { on_discovered(answer); });
  }

  void on_discovered(const ApiAnswer& answer) {
    const std::unique_ptr<ApiCall> call = std::move(call_);
    ApiClient* const client = server_.client();
    const std::string served = answer.ok() ? served_version(answer.body) : "";
    if (client && !served.empty()) {
      take_version(served);
      discovery_trouble_.clear();
      waits_.reset();
      known_node_ = client->node();
      own();
      follow();
      node_.hurry();
      note_known();
      return note_change();
    }
    if (answer.ok() || answer.code == ApiAnswer::kNotFound)
      discovery_trouble_ =
          "the API server serves neither v1 nor v1beta2 of resource.k8s.io: Kubernetes has it from 1.34 on";
    else
      discovery_trouble_ = answer.trouble;
    if (answer.code != 0) tell_trouble();
    note_change();
    if (client && client->state().awaits_credentials) return discover_again_.arm(kLook);
    wait(discover_again_, answer);
  }

  void take_version(const std::string& served) {
    doubted_ = false;
    if (served == version_) return;
    if (!version_.empty())
      log_.info("resource.k8s.io is served in another version than before: slices and claims go by it",
                {{"version", served}, {"before", version_}});
    version_ = served;
    watch_.reset();
    watch_trouble_.clear();
  }

  void wait(Timer& timer, const ApiAnswer& answer) {
    timer.arm(std::max<Clock::duration>(waits_.next(), answer.retry_after.value_or(std::chrono::seconds(0))));
  }

  void follow() {
    ApiClient* const client = server_.client();
    if (!client || watch_ || version_.empty()) return;
    if (!following_)
      following_ = node_.follow([this] {
        own();
        tell_trouble();
        go();
      });
    own();
    first_list_ = true;
    watch_ =
        std::make_unique<ApiWatch>(*client, collection(), "spec.nodeName={node}",
                                   ApiWatch::Hooks{.listed =
                                                       [this](const std::vector<Json>& objects) {
                                                         std::vector<ShownSlice> shown;
                                                         for (const Json& object : objects)
                                                           shown.push_back(shown_slice(object));
                                                         keeper_.listed(std::move(shown));
                                                         on_listed();
                                                       },
                                                   .changed =
                                                       [this](const Json& object) {
                                                         keeper_.changed(shown_slice(object), Clock::now());
                                                         go();
                                                       },
                                                   .gone =
                                                       [this](const Json& object) {
                                                         keeper_.gone(shown_slice(object), Clock::now());
                                                         go();
                                                       },
                                                   .trouble =
                                                       [this](const std::string& sentence) {
                                                         watch_trouble_ = sentence;
                                                         if (sentence.empty()) keeper_.server_back();
                                                         tell_trouble();
                                                         go();
                                                       },
                                                   .missing = [this] { doubt_version(); }});
    if (!features_) try_features(true);
  }

  // The API server may be another one than before, with other features.
  void on_listed() {
    if (!std::exchange(first_list_, false) && features_) try_features(true);
    doubts_.reset();
    go();
  }

  // As a dry run: what the API server does not keep, it would not keep of ours.
  void try_features(bool partitions) {
    ApiClient* const client = server_.client();
    if (!client || driver_.empty() || version_.empty() || known_node_.empty()) return;
    const Slice slice = slice_to_try(driver_, known_node_, partitions);
    const SliceOwner owner{.driver = driver_, .node = known_node_, .node_uid = ""};
    trying_ = client->send({.verb = ApiVerb::kCreate,
                            .path = collection() + "?dryRun=All",
                            .body = slice_json(slice, owner, version_).dump()},
                           [this, slice, partitions](const ApiAnswer& answer) {
                             const std::unique_ptr<ApiCall> call = std::move(trying_);
                             on_tried(slice, partitions, answer);
                           });
  }

  void on_tried(const Slice& slice, bool partitions, const ApiAnswer& answer) {
    if (is_unserved(answer)) doubt_version();
    if (is_passing(answer) || is_unserved(answer)) return wait(try_again_, answer);
    waits_.reset();
    // 1.34 has counters in the slice that uses them, if it has them.
    if (answer.code == ApiAnswer::kUnprocessable && partitions) return try_features(false);
    const auto shown = answer.ok() ? slice_in(answer.body) : std::nullopt;
    if (!shown && features_) return;
    // What nobody says is noticed when something is written.
    take_features(shown ? features_found(slice, shown->slice) : DraFeatures{.partitions = partitions});
  }

  void take_features(const DraFeatures& found) {
    if (features_ == found) return;
    const std::string missing = joined(gates_missing(found), ", ");
    if (!missing.empty())
      log_.warn("the API server drops what its features do not have: devices are offered without",
                {{"features", missing}});
    else if (features_)
      log_.info("the API server has all features that devices are offered with", {});
    features_ = found;
    note_known();
  }

  std::string collection() const { return std::string(kGroupPath) + '/' + version_ + "/resourceslices"; }

  void go() {
    if (!watch_) return;
    const auto now = Clock::now();
    for (SliceWrite& write : keeper_.next(now)) send(std::move(write));
    if (const auto due = keeper_.due())
      due_.arm_at(*due);
    else
      due_.cancel();
    look_at_pools();
    // Not from within the watch.
    if (!busy()) end_.arm(std::chrono::milliseconds(0));
    note_change();
  }

  void send(SliceWrite write) {
    ApiClient* const client = server_.client();
    if (!client) return;
    using What = SliceWrite::What;
    const std::string path = collection() + '/' + write.name;
    ApiRequest request;
    switch (write.what) {
      case What::kRead:
        request = {.verb = ApiVerb::kGet, .path = path};
        break;
      case What::kCreate:
        request = {.verb = ApiVerb::kCreate,
                   .path = collection(),
                   .body = slice_json(write.slice, keeper_.owner(), version_).dump()};
        break;
      case What::kUpdate:
        request = {.verb = ApiVerb::kUpdate,
                   .path = path,
                   .body = slice_json(write.slice, keeper_.owner(), version_, write.resource_version).dump()};
        break;
      case What::kDelete:
        request = {.verb = ApiVerb::kDelete,
                   .path = path,
                   .body = Json{{"apiVersion", "v1"},
                                {"kind", "DeleteOptions"},
                                {"preconditions", Json{{"uid", write.uid}}}}
                               .dump()};
        break;
    }
    if (write.what != What::kRead) ++writes_;
    calls_[write.name] = client->send(
        std::move(request), [this, name = write.name](const ApiAnswer& answer) { on_answer(name, answer); });
  }

  void on_answer(const std::string& name, const ApiAnswer& answer) {
    const auto node = calls_.extract(name);  // ends with this function
    const bool unserved = is_unserved(answer);
    if (unserved) doubt_version();
    keeper_.answered(name,
                     {.code = unserved ? kUnserved : answer.code,
                      .shown = answer.ok() ? slice_in(answer.body) : std::nullopt,
                      .trouble = answer.trouble,
                      .retry_after = answer.retry_after},
                     Clock::now());
    const DraFeatures dropped = keeper_.take_dropped();
    if (features_ && dropped != DraFeatures{})
      take_features({.taints = features_->taints && dropped.taints,
                     .sharing = features_->sharing && dropped.sharing,
                     .partitions = features_->partitions && dropped.partitions});
    go();
  }

  void look_at_pools() {
    for (const auto& [name, state] : keeper_.pools()) {
      Published& published = published_[name];
      if (state.published) {
        if (!published.at || !published.told.empty())
          log_.info("a pool of devices is published", {{"pool", name},
                                                       {"devices", std::to_string(state.devices)},
                                                       {"slices", std::to_string(state.slices)}});
        else if (published.mended)
          log_.info(
              "a pool of devices is published again: somebody had changed or deleted its ResourceSlices",
              {{"pool", name}});
        if (!published.now) published.at = std::chrono::system_clock::now();
        published.mended = false;
        published.wanted_anew = false;
        published.told.clear();
      } else if (published.now && !published.wanted_anew) {
        published.mended = true;
      }
      published.now = state.published;
      if (!state.trouble.empty() && std::exchange(published.told, state.trouble).empty())
        log_.warn("a pool of devices is not published as it should be",
                  {{"pool", name}, {"why", state.trouble}});
    }
  }

  // Why nothing can be published.
  std::string trouble() const {
    if (driver_.empty()) return {};
    if (!server_.config()) return "the configuration names no API server";
    if (!discovery_trouble_.empty()) return discovery_trouble_;
    if (!watch_trouble_.empty()) return watch_trouble_;
    return following_ && node_uid().empty() ? node_.trouble() : "";
  }

  void tell_trouble() {
    const std::string now = trouble();
    if (std::exchange(told_trouble_, now) == now || now.empty()) return;
    log_.warn("no devices can be published: trying again and again", {{"why", now}});
  }

  void note_known() {
    known_changed_ = true;
    tell_.arm(std::chrono::milliseconds(0));
  }
  void note_change() { tell_.arm(std::chrono::milliseconds(0)); }

  void tell() {
    const auto known = hooks_.known;
    const auto changed = hooks_.changed;
    if (std::exchange(known_changed_, false)) known();
    SlicesState now = state();
    if (now == told_state_) return;
    told_state_ = std::move(now);
    changed();
  }

  Log& log_;
  ApiServer& server_;
  NodeWatch& node_;
  Hooks hooks_;
  std::string driver_;
  std::vector<Pool> pools_;
  std::set<std::string> undecided_;
  bool told_ = false;  // pools_
  SliceKeeper keeper_{std::random_device()()};
  std::string version_;
  std::string known_node_;
  std::optional<DraFeatures> features_;
  std::map<std::string, Published> published_;
  std::uint64_t writes_ = 0;
  std::string discovery_trouble_;
  std::string watch_trouble_;
  std::string told_trouble_;
  bool known_changed_ = false;
  bool doubted_ = false;    // version_, and it is asked for
  bool first_list_ = true;  // of the watch, which is not here yet
  SlicesState told_state_;
  Backoff waits_{kFirstAsking, kLongestAsking};
  Backoff doubts_{kFirstAsking, kLongestAsking};
  Timer discover_again_;
  Timer try_again_;
  Timer due_;
  Timer end_;
  Timer tell_;
  Subscription user_;
  std::unique_ptr<Subscription> following_;
  std::unique_ptr<ApiCall> call_;
  std::unique_ptr<ApiCall> trying_;
  std::map<std::string, std::unique_ptr<ApiCall>> calls_;
  std::unique_ptr<ApiWatch> watch_;
};

SlicePublisher::SlicePublisher(EventLoop& loop, Log& log, ApiServer& server, NodeWatch& node, Hooks hooks)
    : impl_(std::make_unique<Impl>(loop, log, server, node, std::move(hooks))) {}

SlicePublisher::~SlicePublisher() = default;

void SlicePublisher::use(std::string driver) {
  impl_->use(std::move(driver));
}

const std::string& SlicePublisher::node() const {
  return impl_->node();
}

const std::optional<DraFeatures>& SlicePublisher::features() const {
  return impl_->features();
}

void SlicePublisher::publish(std::map<std::string, Pool> pools, std::set<std::string> undecided) {
  impl_->publish(std::move(pools), std::move(undecided));
}

void SlicePublisher::doubt_version() {
  impl_->doubt_version();
}

SlicesState SlicePublisher::state() const {
  return impl_->state();
}

}  // namespace plughost
