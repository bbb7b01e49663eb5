#include "daemon/devices/held_devices.hpp"

#include <utility>

#include "model/device/inventory.hpp"

namespace plughost {
namespace {

std::string name_of(const Holder& holder) {
  return holder.pod_namespace.empty() ? "pod " + holder.pod : holder.pod_namespace + '/' + holder.pod;
}

// A share counts as its device: a shared device has no units, and if sharing ends, the holder of a share has
// the whole device.
Ledger::Holds holds_of(const Holdings& holdings) {
  Ledger::Holds holds;
  for (const auto& [resource, holders] : holdings) {
    std::string_view last;  // the shares of a device are adjacent, up to 48,000 of them
    for (const auto& [id, holder] : holders) {
      const std::string_view device = device_behind(id);
      if (std::exchange(last, device) != device)
        holds.try_emplace({resource, std::string(device)}, name_of(*holder));
    }
  }
  return holds;
}

Ledger::Holds holds_of(const Checkpoint& checkpoint) {
  Ledger::Holds holds;
  for (const Checkpoint::PodDevices& some : checkpoint.pod_devices) {
    const std::string name = name_of(*some.holder());
    for (const auto& [node, ids] : some.ids) {
      std::string_view last;
      for (const std::string& id : ids) {
        const std::string_view device = device_behind(id);
        if (std::exchange(last, device) != device)
          holds.try_emplace({some.resource, std::string(device)}, name);
      }
    }
  }
  return holds;
}

}  // namespace

HeldDevices::HeldDevices(EventLoop& loop, Log& log, HoldingsPoll::Read read, std::function<void()> changed,
                         bool complete)
    : log_(log),
      changed_(std::move(changed)),
      poll_(loop, std::move(read),
            [this](const PodResources::Answer& answer) {
              on_answer(answer);
              return ledger_->open();
            }),
      relay_(loop, [this] { refresh(); }),
      ledger_(std::make_shared<Ledger>([poster = loop.poster(), given = lifetime_.bound([this] {
                                         poll_.reset();
                                         poll_.ask_soon();
                                         refresh();
                                       })] { poster(given); },
                                       complete)) {}

void HeldDevices::list(const std::string& resource, std::span<const Device> devices,
                       const std::map<std::string, std::vector<std::string>>& units_elsewhere) {
  ledger_->list(resource, devices, Clock::now());
  ledger_->lead(resource, units_elsewhere, Clock::now());
  // Does not call `changed` from within, because the caller is about to update its own list.
  if (ledger_->version() != version_) relay_.arm(std::chrono::milliseconds(0));
}

void HeldDevices::load_holds(const Checkpoint& checkpoint, bool reloaded) {
  if (std::exchange(told_, true) && !reloaded) return;
  ledger_->update_holds(holds_of(checkpoint), Clock::time_point::min(), Clock::now());
  poll_.ask_soon();
}

bool HeldDevices::held(const std::string& resource, const std::string& id) {
  if (!ledger_->held({resource, id})) return false;
  if (!poll_.pauses()) poll_.ask_soon();
  return true;
}

void HeldDevices::on_answer(const PodResources::Answer& answer) {
  if (answer.holdings) {
    told_ = true;
    ledger_->update_holds(holds_of(*answer.holdings),
                          answer.complete ? answer.asked : Clock::time_point::min(), Clock::now());
    log_double_holds(*answer.holdings);
  } else {
    ledger_->refresh(Clock::now());
  }
  refresh();
}

void HeldDevices::refresh() {
  if (ledger_->open()) poll_.ask_later();
  if (std::exchange(version_, ledger_->version()) != version_) changed_();
}

void HeldDevices::log_double_holds(const Holdings& holdings) {
  std::set<Ledger::Name> doubles;
  for (const auto& [resource, holders] : holdings) {
    const HoldersOfIds::Held* one = nullptr;
    for (const HoldersOfIds::Held& other : holders) {
      const HoldersOfIds::Held* const former = std::exchange(one, &other);
      if (!former || former->id != other.id) continue;
      const auto [name, added] = doubles.insert({resource, std::string(other.id)});
      if (!added || doubles_.contains(*name)) continue;
      log_.warn("the kubelet gave one device to two pods: delete one of them",
                {{"resource", resource},
                 {"device", name->id},
                 {"pod", name_of(*former->holder)},
                 {"other", name_of(*other.holder)}});
    }
  }
  doubles_ = std::move(doubles);
}

}  // namespace plughost
