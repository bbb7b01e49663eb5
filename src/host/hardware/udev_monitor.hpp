#pragma once
// Device events: one udev monitor for the whole process. Loop thread only.
//
// Other device plugins poll, or have a netlink socket each, and a storm of uevents costs every plugin the
// same work. Here one socket with the kernel's filter by subsystem serves all entries. udevd's events are
// preferred, because links and properties exist only after udevd's rules; without udevd the kernel's events
// are used. Events only request scans, so a lost event (ENOBUFS) costs one scan of everything, and leaves no
// device wrong.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/system/dir_watch.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/subscribers.hpp"
#include "host/hardware/host_root.hpp"

struct udev;
struct udev_monitor;

namespace plughost {

class UdevMonitor;

// A subscription to events, active during its lifetime. Its UdevMonitor must outlive it.
class UdevWatch {
 public:
  ~UdevWatch();
  UdevWatch& operator=(UdevWatch&&) = delete;

 private:
  friend class UdevMonitor;
  UdevWatch(UdevMonitor& monitor, Subscribers& watches, std::function<void()> callback)
      : monitor_(monitor), watches_(watches), watch_(std::in_place, watches, std::move(callback)) {}

  UdevMonitor& monitor_;
  Subscribers& watches_;  // the subscriptions of the subsystem
  std::optional<Subscription> watch_;
};

class UdevMonitor {
 public:
  // `error` is called when events may be missed, so that only periodic scans find changes.
  UdevMonitor(EventLoop& loop, DirWatcher& directories, const HostRoot& host,
              std::function<void(std::string)> error);
  ~UdevMonitor();
  UdevMonitor& operator=(UdevMonitor&&) = delete;

  // Calls back after events of the subsystem, once per burst of reading, and when events may have been lost.
  // A caller that scans after watch() misses nothing.
  std::unique_ptr<UdevWatch> watch(std::string subsystem, std::function<void()> callback);

  std::uint64_t events() const { return events_; }        // that concerned a subscription
  std::uint64_t overflows() const { return overflows_; }  // how often the kernel dropped events

 private:
  friend class UdevWatch;
  // udevd sends its events after it has applied its rules. Without udevd, only the kernel's events exist.
  enum class Group { kKernel, kUdev };

  Group group_to_use() const;
  // Opens, closes or filters the socket as subscriptions and udevd require.
  void adjust();
  bool open(Group group);
  void close();
  void on_udevd();
  void on_readable();
  // Notifies the subscribers of these subsystems, or all subscribers if `subsystems` is nullptr.
  void notify(const std::set<std::string>* subsystems);

  EventLoop& loop_;
  const HostRoot& host_;
  std::function<void(std::string)> error_;
  std::unique_ptr<udev, udev* (*)(udev*)> context_;
  std::map<std::string, Subscribers> watches_;  // by subsystem, kept when the last subscriber has gone
  std::unique_ptr<udev_monitor, udev_monitor* (*)(udev_monitor*)> monitor_;
  Group group_ = Group::kKernel;
  std::uint64_t events_ = 0;
  std::uint64_t overflows_ = 0;
  std::unique_ptr<IoWatch> io_;
  std::unique_ptr<DirWatch> udevd_;
};

}  // namespace plughost
