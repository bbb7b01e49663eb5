#include "driver/claim_preparer.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/backoff.hpp"
#include "base/text.hpp"
#include "driver/claim_request.hpp"

namespace plughost {
namespace {

constexpr std::chrono::milliseconds kLoadAgain{2000};

std::string seconds_text(std::chrono::milliseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

std::string devices_text(const PreparedClaim& claim) {
  std::string text;
  for (const ClaimedDevice& device : claim.devices)
    text += (text.empty() ? "" : ", ") + device.allocated.pool + '/' + device.allocated.device;
  return text;
}

}  // namespace

// What is to be done about one claim.
struct ClaimPreparer::Step {
  enum class Stage {
    kQueued,    // behind another, or before all is loaded
    kAsking,    // for the claim
    kWaiting,   // for devices
    kWriting,   // its file
    kStarting,  // the programs of preStart
    kRemoving,
  };

  Step(ClaimPreparer& preparer, ClaimRef whose, bool is_unprepare)
      : ref(std::move(whose)),
        unprepare(is_unprepare),
        ends(EventLoop::Clock::now() + preparer.times_.limit),
        backoff(preparer.times_.first_retry, preparer.times_.longest_retry),
        again(preparer.loop_, [this, &preparer] { preparer.ask(*this); }),
        patience(preparer.loop_, [this, &preparer] { preparer.on_limit(*this); }),
        limit(preparer.loop_, [this, &preparer] { preparer.on_limit(*this); }) {
    limit.arm_at(ends);
  }

  bool decided() const { return stage == Stage::kWriting || stage == Stage::kStarting; }

  const ClaimRef ref;
  const bool unprepare;
  const EventLoop::Clock::time_point ends;
  Stage stage = Stage::kQueued;
  std::vector<std::function<void(const PrepareOutcome&)>> prepares;
  std::vector<std::function<void(const std::string&)>> unprepares;
  std::optional<Claim> claim;
  std::string trouble;  // why it is not further
  Backoff backoff;
  std::size_t programs = 0;  // that run
  Timer again;
  Timer patience;  // with devices
  Timer limit;
  std::unique_ptr<ApiCall> call;
  Lifetime lifetime;
};

ClaimPreparer::ClaimPreparer(EventLoop& loop, Programs& programs, ApiServer& server, Log& log,
                             std::string driver, Hooks hooks, Times times)
    : loop_(loop),
      server_(server),
      log_(log),
      driver_(std::move(driver)),
      hooks_(std::move(hooks)),
      times_(times),
      pre_starts_(programs),
      load_again_(loop, [this] { load(); }),
      user_(server.users(), [this] {
        for (const auto& [uid, steps] : steps_) {
          Step& step = *steps.front();
          if (step.stage != Step::Stage::kAsking) continue;
          step.call.reset();
          step.again.arm({});
        }
      }) {
  load();
}

ClaimPreparer::ClaimPreparer(EventLoop& loop, Programs& programs, ApiServer& server, Log& log,
                             std::string driver, Hooks hooks)
    : ClaimPreparer(loop, programs, server, log, std::move(driver), std::move(hooks), Times()) {}

ClaimPreparer::~ClaimPreparer() = default;

void ClaimPreparer::load() {
  hooks_.cdi().read_claims(lifetime_.bound([this](const ClaimFiles& files) { on_files(files); }));
}

void ClaimPreparer::on_files(const ClaimFiles& files) {
  if (!files.trouble.empty()) {
    load_trouble_ = files.trouble;
    if (!std::exchange(told_load_, true))
      log_.warn("which claims are prepared cannot be read: claims wait until it can",
                {{"why", files.trouble}});
    return load_again_.arm(kLoadAgain);
  }
  for (const ClaimFiles::File& file : files.files) {
    if (!file.driver.empty() && file.driver != driver_) continue;
    if (const auto* const why = std::get_if<std::string>(&file.claim)) {
      unreadable_.insert(file.uid);
      log_.warn("a claim's CDI file cannot be read: what the claim holds is not known",
                {{"uid", file.uid}, {"why", *why}});
    } else {
      known_[file.uid] = {.claim = std::get<PreparedClaim>(file.claim), .text = file.text, .whole = true};
    }
  }
  loaded_ = true;
  if (!known_.empty())
    log_.info("claims were prepared before: they keep their devices",
              {{"count", std::to_string(known_.size())}});
  hooks_.changed();
  std::vector<std::string> uids;
  for (const auto& [uid, steps] : steps_) uids.push_back(uid);
  for (const std::string& uid : uids) begin(uid);
}

void ClaimPreparer::prepare(const std::vector<ClaimRef>& claims, Prepared done) {
  struct Call {
    std::map<std::string, PrepareOutcome> outcomes;
    std::size_t left;
    Prepared done;
  };
  if (claims.empty()) return done({});
  const auto call =
      std::make_shared<Call>(Call{.outcomes = {}, .left = claims.size(), .done = std::move(done)});
  for (const ClaimRef& claim : claims) {
    last_step(claim, false).prepares.emplace_back([call, uid = claim.uid](const PrepareOutcome& outcome) {
      call->outcomes.insert_or_assign(uid, outcome);
      if (--call->left == 0) call->done(std::move(call->outcomes));
    });
  }
  for (const ClaimRef& claim : claims) begin(claim.uid);
}

void ClaimPreparer::unprepare(const std::vector<ClaimRef>& claims, Unprepared done) {
  struct Call {
    std::map<std::string, std::string> troubles;
    std::size_t left;
    Unprepared done;
  };
  if (claims.empty()) return done({});
  const auto call =
      std::make_shared<Call>(Call{.troubles = {}, .left = claims.size(), .done = std::move(done)});
  for (const ClaimRef& claim : claims) {
    last_step(claim, true).unprepares.emplace_back([call, uid = claim.uid](const std::string& trouble) {
      call->troubles.insert_or_assign(uid, trouble);
      if (--call->left == 0) call->done(std::move(call->troubles));
    });
  }
  for (const ClaimRef& claim : claims) {
    const auto steps = steps_.find(claim.uid);
    if (steps == steps_.end()) continue;
    Step& first = *steps->second.front();
    if (!first.unprepare && !first.decided())
      refuse(first, "the " + claim.text() + " has been given back before it was prepared");
    else
      begin(claim.uid);
  }
}

void ClaimPreparer::clear(const ClaimRef& claim) {
  log_.warn("a claim that no pod of this node has any more is cleared away",
            {{"claim", printable(claim.text())}, {"uid", claim.uid}});
  unprepare({claim}, [](const auto& /*troubles*/) {});
}

// The newest one, if it is the same; or one more.
ClaimPreparer::Step& ClaimPreparer::last_step(const ClaimRef& claim, bool unprepare) {
  Steps& steps = steps_[claim.uid];
  if (steps.empty() || steps.back()->unprepare != unprepare) {
    steps.push_back(std::make_unique<Step>(*this, claim, unprepare));
  }
  return *steps.back();
}

void ClaimPreparer::begin(const std::string& uid) {
  const auto steps = steps_.find(uid);
  if (!loaded_ || steps == steps_.end()) return;
  Step& step = *steps->second.front();
  if (step.stage != Step::Stage::kQueued) return;
  if (step.unprepare)
    begin_unprepare(step);
  else
    begin_prepare(step);
}

void ClaimPreparer::begin_prepare(Step& step) {
  const auto known = known_.find(step.ref.uid);
  if (known != known_.end() && known->second.whole) return look(step);
  ask(step);
}

void ClaimPreparer::begin_unprepare(Step& step) {
  step.stage = Step::Stage::kRemoving;
  hooks_.cdi().remove_claim(step.ref.uid, step.lifetime.bound([this, &step](const std::string& trouble) {
    if (trouble.empty())
      forget(step.ref.uid);
    else
      log_.error("a claim's CDI file cannot be removed: its devices stay held",
                 {{"claim", printable(step.ref.text())}, {"why", trouble}});
    end(step, {}, trouble);
  }));
}

void ClaimPreparer::ask(Step& step) {
  step.stage = Step::Stage::kAsking;
  ApiClient* const client = server_.client();
  if (!client) {
    step.trouble = "the configuration names no API server";
    return step.again.arm(step.backoff.next());
  }
  ApiRequest request = claim_request(step.ref, hooks_.version());
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(step.ends - EventLoop::Clock::now());
  request.deadline = std::clamp(left, std::chrono::milliseconds(1), request.deadline);
  step.call =
      client->send(std::move(request), [this, &step](const ApiAnswer& answer) { on_answer(step, answer); });
}

void ClaimPreparer::on_answer(Step& step, const ApiAnswer& answer) {
  const std::unique_ptr<ApiCall> call = std::move(step.call);
  auto claim = claim_in(answer, driver_);
  if (std::holds_alternative<NoSuchClaim>(claim))
    return refuse(step, "the API server has no " + step.ref.text() + " any more");
  if (auto* const unknown = std::get_if<ClaimUnknown>(&claim)) {
    // A 403, too: the authorizer of nodes may see the pod later than the kubelet.
    step.trouble = std::move(unknown->why);
    if (unknown->unserved) hooks_.unserved();
    step.again.arm(std::max<EventLoop::Clock::duration>(
        step.backoff.next(), answer.retry_after.value_or(std::chrono::seconds(0))));
    return;
  }
  step.claim = std::get<Claim>(std::move(claim));
  look(step);
}

void ClaimPreparer::look(Step& step) {
  const OfferPools pools = hooks_.pools();
  if (const auto known = known_.find(step.ref.uid); known != known_.end() && known->second.whole) {
    for (const ClaimedDevice& device : known->second.claim.devices) {
      const auto pool = pools.find(device.allocated.pool);
      if (!device.pre_start ||
          (pool != pools.end() && find_advertised(pool->second->inventory, device.allocated.device)))
        continue;
      return wait_for_lists(step, "the program of preStart cannot run: device \"" + device.allocated.device +
                                      "\" of pool \"" + device.allocated.pool + "\" is not known now");
    }
    return write(step);
  }
  std::vector<const PreparedClaim*> others;
  for (const auto& [uid, known] : known_) others.push_back(&known.claim);
  auto outcome = prepare_claim(step.ref, *step.claim, {.driver = driver_, .pools = pools, .others = others});
  if (auto* const ready = std::get_if<ReadyClaim>(&outcome)) return decide(step, std::move(*ready));
  if (const auto* const wait = std::get_if<ClaimWait>(&outcome)) return wait_for_lists(step, wait->why);
  refuse(step, std::get<ClaimRefusal>(outcome).why);
}

void ClaimPreparer::wait_for_lists(Step& step, const std::string& why) {
  step.trouble = why;
  if (std::exchange(step.stage, Step::Stage::kWaiting) != Step::Stage::kWaiting)
    step.patience.arm(times_.wait);
}

void ClaimPreparer::decide(Step& step, ReadyClaim ready) {
  auto text = claim_specification(driver_, ready.claim, ready.edits);
  if (!text) return refuse(step, "what the claim's containers get is more than CDI takes in one file");
  known_[step.ref.uid] = {.claim = std::move(ready.claim), .text = *std::move(text)};
  unreadable_.erase(step.ref.uid);
  write(step);
  hooks_.changed();
}

// Also what was written before: who has emptied the directory has not told us.
void ClaimPreparer::write(Step& step) {
  step.stage = Step::Stage::kWriting;
  step.patience.cancel();
  hooks_.cdi().write_claim(step.ref.uid, known_.at(step.ref.uid).text,
                           step.lifetime.bound([this, &step](const std::string& trouble) {
                             if (!trouble.empty()) return refuse(step, trouble);
                             Known& known = known_.at(step.ref.uid);
                             if (!std::exchange(known.whole, true))
                               log_.info("a claim is prepared", {{"claim", printable(step.ref.text())},
                                                                 {"devices", devices_text(known.claim)}});
                             start_programs(step);
                           }));
}

void ClaimPreparer::start_programs(Step& step) {
  step.stage = Step::Stage::kStarting;
  step.trouble = "the program of preStart has not ended";
  const OfferPools pools = hooks_.pools();
  std::map<std::string, std::vector<std::string>> ids;  // by pool
  for (const ClaimedDevice& device : known_.at(step.ref.uid).claim.devices) {
    const auto pool = pools.find(device.allocated.pool);
    if (pool == pools.end() || !pool->second->recipe->pre_start) continue;
    const auto advertised = find_advertised(pool->second->inventory, device.allocated.device);
    if (advertised) ids[pool->first].push_back(replica_id(*advertised->device, 0));
  }
  const auto finish = [this, &step] { end(step, known_.at(step.ref.uid).claim.answer(), {}); };
  step.programs = ids.size();
  if (ids.empty()) return finish();
  // The first trouble ends the step, and with it this loop's purpose.
  const auto on_end = step.lifetime.bound([this, &step, finish](const std::string& trouble) {
    if (!trouble.empty()) return refuse(step, trouble);
    if (--step.programs == 0) finish();
  });
  for (const auto& [pool, of_pool] : ids) pre_starts_.run(pools.at(pool), of_pool, on_end);
}

void ClaimPreparer::on_limit(Step& step) {
  switch (step.stage) {
    case Step::Stage::kQueued:
      if (!loaded_ && step.trouble.empty()) step.trouble = load_trouble_;
      return refuse(step, "the " + step.ref.text() + " could not be looked at within " +
                              seconds_text(times_.limit) + (step.trouble.empty() ? "" : ": ") + step.trouble);
    case Step::Stage::kAsking:
      return refuse(step, "the API server has not said within " + seconds_text(times_.limit) + " what the " +
                              step.ref.text() + " is" + (step.trouble.empty() ? "" : ": ") + step.trouble);
    case Step::Stage::kWaiting:
    case Step::Stage::kStarting:
      return refuse(step, step.trouble);
    case Step::Stage::kWriting:
    case Step::Stage::kRemoving:
      return;  // it has a deadline of its own
  }
}

void ClaimPreparer::refuse(Step& step, const std::string& why) {
  if (step.unprepare) return end(step, {}, why);
  log_.warn("a claim cannot be prepared", {{"claim", printable(step.ref.text())}, {"why", why}});
  end(step, why, {});
}

void ClaimPreparer::end(Step& step, const PrepareOutcome& outcome, const std::string& trouble) {
  const std::string uid = step.ref.uid;
  const auto all = steps_.find(uid);
  const auto place = std::ranges::find(all->second, &step, &std::unique_ptr<Step>::get);
  const std::unique_ptr<Step> ended = std::move(*place);
  all->second.erase(place);
  if (all->second.empty()) steps_.erase(all);
  for (const auto& tell : ended->prepares) tell(outcome);
  for (const auto& tell : ended->unprepares) tell(trouble);
  begin(uid);
}

void ClaimPreparer::forget(const std::string& uid) {
  unreadable_.erase(uid);
  const auto known = known_.find(uid);
  if (known == known_.end()) return;
  log_.info("a claim is given back", {{"claim", printable(known->second.claim.ref.text())},
                                      {"devices", devices_text(known->second.claim)}});
  known_.erase(known);
  on_lists();
  hooks_.changed();
}

void ClaimPreparer::on_lists() {
  std::vector<std::string> uids;
  for (const auto& [uid, steps] : steps_) {
    if (steps.front()->stage == Step::Stage::kWaiting) uids.push_back(uid);
  }
  for (const std::string& uid : uids) {
    const auto steps = steps_.find(uid);
    if (steps != steps_.end() && steps->second.front()->stage == Step::Stage::kWaiting)
      look(*steps->second.front());
  }
}

void ClaimPreparer::write_again() {
  for (const auto& [uid, known] : known_)
    hooks_.cdi().write_claim(uid, known.text, [](const std::string&) {});
}

std::vector<PreparedClaim> ClaimPreparer::claims() const {
  std::vector<PreparedClaim> claims;
  for (const auto& [uid, known] : known_) claims.push_back(known.claim);
  return claims;
}

std::vector<PreparedClaim> ClaimPreparer::idle() const {
  std::vector<PreparedClaim> claims;
  for (const auto& [uid, known] : known_) {
    if (!steps_.contains(uid)) claims.push_back(known.claim);
  }
  for (const std::string& uid : unreadable_) {
    if (!steps_.contains(uid))
      claims.push_back({.ref = {.uid = uid, .name_space = {}, .name = {}}, .devices = {}, .consumers = {}});
  }
  return claims;
}

}  // namespace plughost
