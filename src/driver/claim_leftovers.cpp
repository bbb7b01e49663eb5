#include "driver/claim_leftovers.hpp"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "driver/claim_request.hpp"
#include "host/file_text.hpp"

namespace plughost {
namespace {

constexpr std::size_t kMostState = std::size_t{16} << 20u;

// What the kubelet's list says; "" where there is none, and nullopt if it cannot be read.
std::optional<std::string> state_text(const std::filesystem::path& file) {
  std::error_code failed;
  const auto type = std::filesystem::status(file, failed).type();
  if (type == std::filesystem::file_type::not_found) return std::string();
  if (type != std::filesystem::file_type::regular) return std::nullopt;
  auto text = file_text(file, kMostState + 1);
  return text && text->size() <= kMostState ? std::move(text) : std::nullopt;
}

}  // namespace

struct ClaimLeftovers::Look {
  std::optional<std::string> state;
  std::vector<PreparedClaim> left;  // to be asked for
  std::set<std::string> found;
  std::vector<ClaimRef> refs;
};

bool is_left_over(const PreparedClaim& prepared, const Claim& now) {
  if (now.ref.uid != prepared.ref.uid || !now.allocated || !now.reserved) return true;
  return std::ranges::none_of(prepared.devices, [&](const ClaimedDevice& device) {
    return std::ranges::any_of(now.devices, [&](const AllocatedDevice& allocated) {
      return allocated.pool == device.allocated.pool && allocated.device == device.allocated.device;
    });
  });
}

ClaimLeftovers::ClaimLeftovers(EventLoop& loop, Workers& workers, ApiServer& server, std::string driver,
                               std::filesystem::path state, Hooks hooks, std::chrono::milliseconds pause)
    : workers_(workers),
      server_(server),
      driver_(std::move(driver)),
      state_(std::move(state)),
      hooks_(std::move(hooks)),
      pause_(pause),
      next_(loop, [this] { look(); }),
      user_(server.users(), [this] {
        if (!call_) return;
        // Nothing is concluded from half a look.
        call_.reset();
        suspects_.clear();
        changed();
      }) {}

void ClaimLeftovers::changed() {
  if (!next_.armed() && !hooks_.claims().empty()) next_.arm(pause_);
}

void ClaimLeftovers::look() {
  next_.arm(pause_);
  if (call_) return;  // the last one goes on yet
  const auto looking = std::make_shared<Look>();
  workers_.run([looking, file = state_] { looking->state = state_text(file); },
               lifetime_.bound([this, looking] { on_state(looking); }), kDeadline, [] {});
}

void ClaimLeftovers::on_state(const std::shared_ptr<Look>& looking) {
  if (call_) return;
  for (PreparedClaim& claim : hooks_.claims()) {
    looking->refs.push_back(claim.ref);
    // A UID is in no text by accident, whatever version of the kubelet wrote it.
    if (looking->state && looking->state->find(claim.ref.uid) == std::string::npos)
      looking->left.push_back(std::move(claim));
  }
  ask_next(looking);
}

void ClaimLeftovers::ask_next(const std::shared_ptr<Look>& looking) {
  ApiClient* const client = server_.client();
  while (!looking->left.empty()) {
    const PreparedClaim claim = std::move(looking->left.back());
    looking->left.pop_back();
    if (claim.ref.name.empty()) {
      looking->found.insert(claim.ref.uid);  // its file cannot be read: nobody can be asked
    } else if (client) {
      call_ = client->send(
          claim_request(claim.ref, hooks_.version()),
          [this, looking, claim](const ApiAnswer& answer) { on_answer(looking, claim, answer); });
      return;
    }
  }
  finish(*looking);
}

void ClaimLeftovers::on_answer(const std::shared_ptr<Look>& looking, const PreparedClaim& claim,
                               const ApiAnswer& answer) {
  const std::unique_ptr<ApiCall> call = std::move(call_);
  const auto now = claim_in(answer, driver_);
  const auto* const there = std::get_if<Claim>(&now);
  const auto* const unknown = std::get_if<ClaimUnknown>(&now);
  if (std::holds_alternative<NoSuchClaim>(now) || (there && is_left_over(claim, *there)) ||
      (unknown && unknown->unrelated))
    looking->found.insert(claim.ref.uid);
  ask_next(looking);
}

void ClaimLeftovers::finish(const Look& looking) {
  const std::set<std::string> former = std::exchange(suspects_, looking.found);
  if (hooks_.claims().empty()) next_.cancel();
  for (const ClaimRef& ref : looking.refs) {
    if (!former.contains(ref.uid) || !looking.found.contains(ref.uid)) continue;
    suspects_.erase(ref.uid);
    hooks_.clear(ref);
  }
}

}  // namespace plughost
