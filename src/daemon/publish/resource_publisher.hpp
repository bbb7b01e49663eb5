#pragma once
// Publishes an entry's lists to the kubelet's streams, after their CDI specifications have been written. Loop
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

// Records which entry serves which resource. One resource belongs to one entry; otherwise the kubelet would
// get two lists for it. Entries are identified by their names. A value; not thread-safe.
class ResourceNames {
 public:
  // Returns the entry that owns the resource: `entry`, unless another entry has claimed the resource before.
  const std::string& claim(const std::string& resource, const std::string& entry);
  // Releases the resource, or withdraws the entry's wait for it.
  void release(const std::string& resource, const std::string& entry);
  // Releases every resource of the entry, and withdraws all its waits.
  void release_all(const std::string& entry);
  // Returns the entries whose claim was refused and whose resource has been released since; each entry once.
  std::set<std::string> take_waiting();

 private:
  struct Claim {
    std::string owner;
    std::set<std::string> refused;
  };
  using Claims = std::map<std::string, Claim>;  // by resource

  // Returns the iterator after `claim`.
  Claims::iterator release(Claims::iterator claim, const std::string& entry);

  Claims claims_;
  std::set<std::string> waiting_;
};

// Finds ids that two entries list, because the kubelet looks up health by id alone. Values; thread-safe.

struct ListedIds {
  SharedSnapshot snapshot;
  std::string where;  // position of its entry: "file:line:col"
};

struct SharedIds {
  std::size_t count = 0;  // number of ids in more than one list
  std::string first;      // the first such id by name; `one` and `other` list it, in the order of the lists
  const ListedIds* one = nullptr;
  const ListedIds* other = nullptr;
};

// The result points into `lists`.
SharedIds shared_ids(std::span<const ListedIds> lists);

// Implemented by Supervisor: decisions that involve several entries.
class ControllerOwner {
 public:
  virtual ~ControllerOwner() = default;

  // Claims the resource for the entry until removed(). Returns an empty string, or why another entry has it.
  virtual std::string claim(const std::string& resource, const std::string& entry) = 0;
  // Returns the earliest time for a registration: the kubelet may still be removing the resource.
  virtual EventLoop::Clock::time_point not_before(const std::string& resource) const = 0;
  // Called after the resource's stream has been ended.
  virtual void removed(const std::string& resource, const std::string& entry) = 0;
  // Called when a resource begins to serve this snapshot.
  virtual void published(const ResourceSnapshot& snapshot) = 0;
  // Called when a resource named after its devices ends with its last device. `last` is its last snapshot.
  virtual void emptied(const ResourceSnapshot& last) = 0;
  // Called when a stage, a list or the set of resources has changed.
  virtual void changed() = 0;
};

// Implemented by the controller that owns the publisher.
class PublisherOwner {
 public:
  virtual ~PublisherOwner() = default;

  // Called when a step failed that the next scan retries.
  virtual void on_incomplete() = 0;
  // Called when every scan result has been published.
  virtual void all_published() = 0;
  // Called when the resource is no longer served.
  virtual void dropped(const std::string& resource) = 0;
  virtual void record_error(const std::string& error) = 0;
};

class ResourcePublisher {
 public:
  // Pause before a CDI specification that could not be written is retried.
  static constexpr std::chrono::seconds kCdiRetry{5};

  // Objects that all entries share, and that must outlive the publishers.
  struct Context {
    Platform& platform;
    KubeletLink& link;
    CdiPlaces& cdi;
    Assuming& assuming;
    HeldDevices& held;
    ControllerOwner& owner;
  };
  // A scan result on its way to the kubelet. Its CDI files are written first, because CDI names must be
  // defined before the kubelet hands them out.
  struct Finding {
    std::shared_ptr<const AllocationSpec> spec;
    bool by_cdi = false;  // some devices have names in our own CDI specification
    std::vector<CdiFile> files;
    std::vector<DeviceTracker::Listing> listings;
  };

  // `config` is the entry's current configuration. All arguments must outlive this object.
  ResourcePublisher(const Context& context, const ResourceConfig& config, PublisherOwner& controller);
  ~ResourcePublisher();
  ResourcePublisher& operator=(ResourcePublisher&&) = delete;

  void publish(Finding finding);
  // Returns true if everything has been published.
  bool idle() const { return findings_.empty(); }
  bool empty() const { return served_.empty(); }

  // Replace the stalls, neighbours or joined cards in the snapshots, and publish the snapshots again.
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
    std::string cdi_error;    // why the CDI file is not written; empty: it is written
    std::string owner;        // which other entry serves the resource; empty: none
    std::string serve_error;  // why the resource could not be created although this entry owns it
    std::unique_ptr<Resource> resource;
  };

  const std::string& entry_name() const { return config_.spec->name.text(); }
  void specify_next();
  void go_out(const Finding& finding, const CdiWriter::Outcome& specified);
  void go_out(const DeviceTracker::Listing& listing, ResourceSnapshot snapshot, const std::string& cdi_error);
  ResourceSnapshot snapshot_of(const Finding& finding, const DeviceTracker::Listing& listing) const;
  void arm_retry();
  // Returns true if this entry owns the resource.
  bool claim(Served& served, const std::string& name);
  // Creates the resource if necessary and publishes the snapshot.
  void serve(Served& served, ResourceSnapshot snapshot);
  // Ends a resource that was named after its devices, after its last device has gone.
  void drop(const std::string& name);
  // Returns why the devices cannot be allocated now.
  std::vector<Stall> stalls(const Served& served) const;
  // Publishes the resources' lists again, with the current stalls.
  void republish();

  const Context context_;
  const ResourceConfig& config_;
  PublisherOwner& controller_;
  std::map<std::string, Served> served_;  // by resource
  std::list<Finding> findings_;           // the CDI files of the first finding are being written
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
