#pragma once
// The DRA driver of this node, running: the kubelet's calls, the slices and the devices' health are joined
// with what the entries offer. Loop thread only.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/backoff.hpp"
#include "base/lifetime.hpp"
#include "device/offer.hpp"
#include "dra/advertised.hpp"
#include "dra/claim_file.hpp"
#include "driver/claim_leftovers.hpp"
#include "driver/claim_preparer.hpp"
#include "driver/slice_publisher.hpp"
#include "kubelet/dra_endpoint.hpp"
#include "kubelet/dra_owner.hpp"
#include "platform/cdi_writer.hpp"
#include "platform/platform.hpp"
#include "status/status.hpp"

namespace plughost {

class DraDriver final : private DraOwner {
 public:
  // A look at the machine may hang: so long the first slices wait for entries whose resources are named after
  // their devices, because nobody else knows which slices are theirs.
  static constexpr std::chrono::seconds kFirstLook{10};

  struct Options {
    std::string driver;
    std::filesystem::path plugins_registry;
    bool operator==(const Options&) const = default;
  };
  struct Hooks {
    std::function<CdiWriter&()> cdi;  // the present one
    std::function<void()> claimed;    // claims() says something else
    std::function<void()> changed;    // status() does
  };
  // What an entry offers.
  struct Subject {
    std::string entry;
    std::string resource;  // its only one; empty: they are named after its devices
    std::vector<std::shared_ptr<const Offer>> offers;
    bool settled = false;  // else it may have others in a moment
  };

  // All outlive it. The hooks are not called from within.
  DraDriver(Platform& platform, Options options, Hooks hooks);
  // The slices stay. The name of the socket goes, unless it was left.
  ~DraDriver();
  DraDriver(const DraDriver&) = delete;
  DraDriver& operator=(const DraDriver&) = delete;

  const Options& options() const { return options_; }
  // All entries, as they are now. What no entry offers any more leaves the slices, but for what claims hold.
  void follow(std::vector<Subject> subjects);
  // Another kubelet is there, or none.
  void on_kubelet(bool present);
  // The CDI directory is another one.
  void on_other_cdi() { preparer_.write_again(); }
  // The process is about to end, and another one may come: it finds what it needs.
  void leave_to_successor();

  // Have the former process's claims been read?
  bool loaded() const { return preparer_.loaded(); }
  // That are prepared, or about to be.
  const std::vector<PreparedClaim>& claims() const { return claims_; }
  // Nobody has anything of it: no claim, no slice.
  bool idle() const;

  DriverStatus status() const;
  SlicesState slices() const { return publisher_.state(); }
  // Fills in what the status of a pool lacks; offer is set. slices: as they are now.
  void tell(PoolStatus& pool, const SlicesState& slices) const;

 private:
  struct Made {
    std::shared_ptr<const Offer> offer;
    DraFeatures features;
    DeviceNames held;
    UncountedReplicas uncounted;
    Pool pool;
  };

  void prepare(std::vector<ClaimRef> claims, PrepareDone done) override;
  void unprepare(std::vector<ClaimRef> claims, UnprepareDone done) override;
  void on_registered() override;
  void on_registration_refused(const std::string& why) override;
  void on_health_readers(std::size_t count) override;
  void on_endpoint_trouble(const std::string& what) override;

  void open();
  void on_claims();
  void publish();
  // Is the whole set of pools known, but for those that are called undecided?
  bool is_decided(std::set<std::string>& undecided) const;
  const Pool& pool_of(const std::shared_ptr<const Offer>& offer, const DeviceNames& held);
  void tell_health();
  OfferPools offer_pools() const;
  std::string pool_of_resource(const std::string& resource) const;
  void note_registered(bool registered);

  Platform& platform_;
  const Options options_;
  const Hooks hooks_;
  std::vector<Subject> subjects_;
  bool followed_ = false;
  std::map<std::string, std::set<std::string>> resources_;  // that were offered, by entry
  std::map<std::string, Made> made_;                        // by resource
  std::map<std::string, std::vector<std::string>> remarks_;
  std::vector<PreparedClaim> claims_;
  std::optional<WallTime> registered_since_;
  std::string trouble_;
  bool had_readers_ = false;
  ClaimTally tally_;
  EventLoop::Clock::time_point began_ = EventLoop::Clock::now();
  Timer first_look_;
  Timer open_again_;
  Backoff pause_{std::chrono::seconds(1), std::chrono::seconds(60)};
  Lifetime lifetime_;
  SlicePublisher publisher_;
  ClaimPreparer preparer_;
  ClaimLeftovers leftovers_;
  std::unique_ptr<DraEndpoint> endpoint_;
};

}  // namespace plughost
