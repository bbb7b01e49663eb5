// Chooses a card when the container starts, by the kubelet's checkpoint: nothing is guessed. Loop thread
// only.

#include <utility>

#include "kubernetes/pods/assuming.hpp"
#include "model/allocate/cdi.hpp"
#include "model/assume/answer.hpp"

namespace plughost {
namespace {

Allocation named(const AllocationSpec& spec, const std::string& resource, const std::string& device) {
  KindSpec names;
  add_cdi_names(names, spec.cdi, "plughost", Template::escape(cdi_qualified_name(resource, device)));
  const auto lookup = [&](std::string_view placeholder) -> std::optional<std::string> {
    if (placeholder == "allocation") return device;
    return std::nullopt;
  };
  Allocation answer;
  for (const Template& name : names.cdi) answer.cdi.push_back(name.expand(lookup).value_or(""));
  for (const auto& [key, value] : names.annotations)
    answer.annotations[key.expand(lookup).value_or("")] = value.expand(lookup).value_or("");
  return answer;
}

class LateCards final : public AssumedCards {
 public:
  LateCards(Assuming& assuming, const ResourceSnapshot& snapshot) : AssumedCards(assuming, snapshot) {}

  // Answers at once with a CDI name, without the API server.
  void allocate(SharedSnapshot snapshot, const IdSet& ids, AllocationDone done) override;
  // Writes the name's specification. A start that comes too early fails, and the kubelet retries it.
  void prepare_start(SharedSnapshot snapshot, const IdSet& ids, StartDone done) override;

 private:
  struct Start;

  void find_pod(const std::shared_ptr<const Start>& start, const std::string& uid);
  void specify(const std::shared_ptr<const Start>& start, const AskingPod& pod);
  void on_pods() override { assuming_.tidy_later(); }
};

struct LateCards::Start {
  SharedSnapshot snapshot;
  IdSet ids;
  std::vector<HeldUnits> held;
  StartDone done;
};

void LateCards::allocate(SharedSnapshot snapshot, const IdSet& ids, AllocationDone done) {
  done(named(*snapshot->spec, resource_, late_device(ids)));
}

void LateCards::prepare_start(SharedSnapshot snapshot, const IdSet& ids, StartDone done) {
  assuming_.read_checkpoint(
      lifetime_.bound([this, snapshot = std::move(snapshot), ids,
                       done = std::move(done)](const std::shared_ptr<const Checkpoint>& checkpoint) {
        if (!checkpoint)
          return done("the kubelet's checkpoint, which records the pod of these devices, cannot be read");
        const auto start = std::make_shared<const Start>(Start{
            .snapshot = snapshot, .ids = ids, .held = held_units(*checkpoint, resource_), .done = done});
        const auto holder = holder_of(start->held, ids);
        if (const auto* const error = std::get_if<std::string>(&holder)) return done(*error);
        find_pod(start, std::get<const HeldUnits*>(holder)->pod_uid);
      }));
}

void LateCards::find_pod(const std::shared_ptr<const Start>& start, const std::string& uid) {
  pods_.until(
      uid,
      [this, start, uid] {
        const AskingPod* const pod = pods_.book().find(uid);
        if (!pod || !pod->card) return false;
        specify(start, *pod);
        return true;
      },
      [this, start, uid](const std::string& error) {
        const AskingPod* const pod = pods_.book().find(uid);
        const std::string why = pod ? std::get<std::string>(card_of(terms_, *pod, start->snapshot->inventory))
                                    : "no pod on this node has the UID " + uid + ", as far as is known";
        start->done(error.empty() ? why : why + ", and the known pods may be outdated: " + error);
      });
}

void LateCards::specify(const std::shared_ptr<const Start>& start, const AskingPod& pod) {
  const auto card = card_of(terms_, pod, start->snapshot->inventory);
  if (const auto* const error = std::get_if<std::string>(&card)) return start->done(*error);
  const auto edits = late_edits(*start->snapshot, *std::get<const Device*>(card), start->ids.count, pod,
                                without_isolation());
  if (const auto* const error = std::get_if<std::string>(&edits)) return start->done(*error);
  const std::string device = late_device(start->ids);
  assuming_.specify(
      device, cdi_specification(resource_, device, std::get<CdiEdits>(edits), *std::get<const Device*>(card)),
      lifetime_.bound([this, start](const std::string& error) {
        start->done(error);
        if (error.empty()) mark(start->held);
      }));
}

}  // namespace

std::unique_ptr<AssumedCards> late_cards(Assuming& assuming, const ResourceSnapshot& snapshot) {
  return std::make_unique<LateCards>(assuming, snapshot);
}

}  // namespace plughost
