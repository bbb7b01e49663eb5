#pragma once
// What an entry publishes: from its lists to the kubelet's streams, and container runtimes come first. Loop
// thread only.

#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/system/rate.hpp"
#include "config/config.hpp"
#include "daemon/devices/device_tracker.hpp"
#include "daemon/devices/held_devices.hpp"
#include "daemon/platform/kubelet_link.hpp"
#include "daemon/publish/cdi_places.hpp"
#include "daemon/publish/resource.hpp"
#include "model/allocate/resource_snapshot.hpp"

namespace plughost {

// Which entry serves which resource: one name, one entry, or the kubelet would get two lists for it. A value;
// not thread-safe.
// Entries go by their names' texts.
class ResourceNames {
 public:
  // The entry that has the resource's name: this one from now on, unless another has it already.
  const std::string& claim(const std::string& resource, const std::string& entry);
  // The entry does not serve, or want, the resource any more.
  void release(const std::string& resource, const std::string& entry);
  // The entry serves and wants no resource any more.
  void release_all(const std::string& entry);
  // Those that were refused a name that has been released since. Each is told of once.
  std::set<std::string> take_waiting();

 private:
  struct Claim {
    std::string owner;
    std::set<std::string> refused;
  };
  using Claims = std::map<std::string, Claim>;  // by resource

  // The next claim.
  Claims::iterator release(Claims::iterator claim, const std::string& entry);

  Claims claims_;
  std::set<std::string> waiting_;
};

// Ids that two entries list: the kubelet looks health up by id alone. Values, thread-safe.

struct ListedIds {
  SharedSnapshot snapshot;
  std::string where;  // its entry: "file:line:col"
};

struct SharedIds {
  std::size_t count = 0;  // ids that stand in more than one list
  std::string first;      // of these, by name; and who lists it, in the order of the lists
  const ListedIds* one = nullptr;
  const ListedIds* other = nullptr;
};

// The result points into lists.
SharedIds shared_ids(std::span<const ListedIds> lists);

// Whose the entries are: what they may not decide alone.
class ControllerOwner {
 public:
  virtual ~ControllerOwner() = default;

  // Why another entry has the resource; empty: it is this one's from now on, until it is removed.
  virtual std::string claim(const std::string& resource, const std::string& entry) = 0;
  // When the resource may register first: the kubelet may still be forgetting it.
  virtual EventLoop::Clock::time_point not_before(const std::string& resource) const = 0;
  // Its stream has just been ended.
  virtual void removed(const std::string& resource, const std::string& entry) = 0;
  // A resource offers this from now on.
  virtual void published(const ResourceSnapshot& snapshot) = 0;
  // A resource that was named after its devices goes with the last of them: what it offered before.
  virtual void emptied(const ResourceSnapshot& last) = 0;
  // A stage, a list, or the set of resources.
  virtual void changed() = 0;
};

// The controller that a publisher belongs to.
class PublisherOwner {
 public:
  virtual ~PublisherOwner() = default;

  // Something could not be done that the next scan tries again.
  virtual void on_incomplete() = 0;
  // All that was to be published is.
  virtual void all_published() = 0;
  // Nothing is offered of it any more.
  virtual void dropped(const std::string& resource) = 0;
  virtual void record_error(const std::string& error) = 0;
};

class ResourcePublisher {
 public:
  // A CDI specification that could not be written is tried again after this.
  static constexpr std::chrono::seconds kCdiRetry{5};

  // What all entries share. It outlives them.
  struct Context {
    Platform& platform;
    KubeletLink& link;
    CdiPlaces& cdi;
    Assuming& assuming;
    HeldDevices& held;
    ControllerOwner& owner;
  };
  // The result of a scan, on its way to the kubelet: the names of CDI devices mean something before anybody
  // is told them.
  struct Finding {
    std::shared_ptr<const AllocationSpec> spec;
    bool by_cdi = false;  // some of its devices have a name in a specification of ours
    std::vector<CdiFile> files;
    std::vector<DeviceTracker::Listing> listings;
  };

  // config is the entry's as it is then. All outlive it.
  ResourcePublisher(const Context& context, const ResourceConfig& config, PublisherOwner& controller);
  ~ResourcePublisher();
  ResourcePublisher& operator=(ResourcePublisher&&) = delete;

  void publish(Finding finding);
  // Has everything been published?
  bool idle() const { return findings_.empty(); }
  bool empty() const { return served_.empty(); }

  // Refuses devices whose scans hang; see AllocationSpec::near and ResourceSnapshot::joined.
  void set_stalls(std::vector<Stall> stalls);
  void set_neighbours(Neighbours neighbours);
  void set_joined(std::shared_ptr<GivenCards> joined);
  const std::shared_ptr<LastGiven>& given() const { return given_; }

  template <typename Visit>
  void for_each_resource(Visit visit) const {
    for (const auto& [name, served] : served_) {
      if (served.resource) visit(*served.resource);
    }
  }

 private:
  struct Served {
    std::string cdi_error;    // why what its names stand for is not written; empty: it is
    std::string owner;        // the other entry that serves it
    std::string serve_error;  // why there is no resource, although it is this one's
    std::unique_ptr<Resource> resource;
  };

  const std::string& entry_name() const { return config_.spec->name.text(); }
  void specify_next();
  void go_out(const Finding& finding, const CdiWriter::Outcome& specified);
  void go_out(const DeviceTracker::Listing& listing, ResourceSnapshot snapshot, const std::string& cdi_error);
  ResourceSnapshot snapshot_of(const Finding& finding, const DeviceTracker::Listing& listing) const;
  // What could not be done is tried again.
  void arm_retry();
  // Is the resource this entry's?
  bool claim(Served& served, const std::string& name);
  // Has the resource offer this, and makes it if need be.
  void serve(Served& served, ResourceSnapshot snapshot);
  // A resource that was named after its devices goes with the last of them.
  void drop(const std::string& name);
  // Why its devices cannot be promised now.
  std::vector<Stall> stalls(const Served& served) const;
  // Publishes the resources' lists with what else there is to say of them now.
  void republish();

  const Context context_;
  const ResourceConfig& config_;
  PublisherOwner& controller_;
  std::map<std::string, Served> served_;  // by resource
  std::list<Finding> findings_;           // the first one is being specified
  Backoff serve_again_{std::chrono::seconds(1), std::chrono::seconds(60)};
  Timer retry_;
  std::vector<Stall> stalls_;
  Neighbours neighbours_;
  std::shared_ptr<GivenCards> joined_;
  const std::shared_ptr<FreeShares> free_ = std::make_shared<FreeShares>();
  const std::shared_ptr<LastGiven> given_ = std::make_shared<LastGiven>();
  Lifetime lifetime_;
};

}  // namespace plughost
