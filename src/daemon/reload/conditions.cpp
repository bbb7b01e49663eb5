#include "daemon/reload/conditions.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace plughost {
namespace {

const NodeLabels kAwaited{.error = "the API server has not answered yet", .awaited = true};

}  // namespace

Conditions::Conditions(Platform& platform, std::function<void(Config part)> changed,
                       std::chrono::milliseconds deadline)
    : platform_(platform),
      changed_(std::move(changed)),
      deadline_(deadline),
      directories_(platform.directories, platform.host, [this] { request_check(); }),
      timer_(platform.loop, [this] { check(); }) {}

void Conditions::evaluate(const std::shared_ptr<const Config>& config,
                          const std::vector<ResourceConfig>& running, std::function<void(Selection)> done) {
  struct Asking {
    Selection selection;
    std::function<void(Selection)> done;
    void answer(Selection told) {
      if (auto once = std::exchange(done, nullptr)) once(std::move(told));
    }
  };
  const auto asking = std::make_shared<Asking>();
  asking->done = std::move(done);
  Selection former = not_asked_yet(*config, running);
  if (config_ && config_->kubelet == config->kubelet) former.kubelet = selection_.kubelet;
  // The known labels came from the API server of the running configuration.
  const bool same = config->api_server == platform_.api_server.config();
  platform_.workers.run(
      [asking, config, host = platform_.host, former, labels = same ? labels_told() : kAwaited] {
        asking->selection = select(*config, host, former, labels);
      },
      lifetime_.bound([asking] { asking->answer(std::move(asking->selection)); }), deadline_,
      lifetime_.bound([asking, former] { asking->answer(former); }));
}

void Conditions::follow(std::shared_ptr<const Config> config, Selection selection) {
  following_.renew();
  selection_ = std::move(selection);
  config_ = has_conditions(*config) ? std::move(config) : nullptr;
  log_errors(selection_.errors);
  schedule_.replace(Clock::now());
  if (!config_ || !asks_for_node(*config_))
    node_.reset();
  else if (!node_)
    node_ = platform_.node_watch.follow([this] { request_check(); });
  if (config_) return check();
  directories_.follow({});
  timer_.cancel();
}

void Conditions::request_check() {
  schedule_.request_scan(Clock::now());
  arm();
}

void Conditions::arm() {
  const auto due = schedule_.due();
  if (due == ScanSchedule::kNever)
    timer_.cancel();
  else
    timer_.arm_at(due);
}

void Conditions::check() {
  schedule_.begin(Clock::now());
  arm();
  const auto found = std::make_shared<Selection>();
  platform_.workers.run([found, config = config_, host = platform_.host, former = selection_,
                         labels = labels_told()] { *found = select(*config, host, former, labels); },
                        following_.bound([this, found] { on_checked(std::move(*found)); }), deadline_,
                        following_.bound([this] {
                          schedule_.overdue();
                          log_errors({"evaluating it takes too long: a file system hangs"});
                        }));
}

void Conditions::on_checked(Selection found) {
  schedule_.succeed(Clock::now(), found.recheck ? Selection::kLookAgain : kSafetyInterval);
  directories_.follow(found.watch);
  arm();
  log_errors(found.errors);
  std::swap(selection_, found);
  const bool moves = selection_.kubelet != found.kubelet;
  if (!moves && selection_.applies == found.applies) return;
  try {
    changed_(applying(*config_, selection_));
    if (moves) platform_.log.info("kubelet found", {{"directory", selection_.kubelet.string()}});
  } catch (const std::runtime_error& exception) {  // includes DirectoryHeld
    selection_ = std::move(found);
    platform_.log.error("cannot use the kubelet's other directory: retrying", {{"why", exception.what()}});
  }
}

NodeLabels Conditions::labels_told() const {
  const NodeObject* const node = platform_.node_watch.node();
  if (node) return {.node = node->name, .labels = node->labels};
  const std::string error = platform_.node_watch.error();
  return error.empty() ? kAwaited : NodeLabels{.error = error};
}

void Conditions::log_errors(const std::vector<std::string>& errors) {
  for (const std::string& error : errors) {
    if (std::ranges::find(told_, error) == told_.end())
      platform_.log.error("cannot evaluate a when condition: its entries stay as they are",
                          {{"reason", error}});
  }
  told_ = errors;
}

}  // namespace plughost
