#pragma once
// Devices that come, go and change: one udev monitor for the whole process. Loop thread only.

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

// Lives as long as somebody wants to know. Its UdevMonitor outlives it.
class UdevWatch {
 public:
  ~UdevWatch();
  UdevWatch& operator=(UdevWatch&&) = delete;

 private:
  friend class UdevMonitor;
  UdevWatch(UdevMonitor& monitor, Subscribers& watches, std::function<void()> callback)
      : monitor_(monitor), watches_(watches), watch_(std::in_place, watches, std::move(callback)) {}

  UdevMonitor& monitor_;
  Subscribers& watches_;  // of the subsystem
  std::optional<Subscription> watch_;
};

class UdevMonitor {
 public:
  // error is told what leaves events unheard; a slow rescan has to do then.
  UdevMonitor(EventLoop& loop, DirWatcher& directories, const HostRoot& host,
              std::function<void(std::string)> error);
  ~UdevMonitor();
  UdevMonitor& operator=(UdevMonitor&&) = delete;

  // Calls back when something happened to a device of the subsystem, once for what came in one burst of
  // reading; also when events may have been lost. Whoever scans scans after this: what changes from now on is
  // told.
  std::unique_ptr<UdevWatch> watch(std::string subsystem, std::function<void()> callback);

  std::uint64_t events() const { return events_; }        // that concerned a watch
  std::uint64_t overflows() const { return overflows_; }  // how often the kernel dropped some

 private:
  friend class UdevWatch;
  // udev's events come after its rules have run. Where no udevd runs there are only the kernel's.
  enum class Group { kKernel, kUdev };

  Group group_to_use() const;
  // Opens, closes or changes filters, as the watches and udevd ask for it.
  void adjust();
  bool open(Group group);
  void close();
  void on_udevd();
  void on_readable();
  // Tells those whose subsystem is among these; all of them, if nullptr.
  void notify(const std::set<std::string>* subsystems);

  EventLoop& loop_;
  const HostRoot& host_;
  std::function<void(std::string)> error_;
  std::unique_ptr<udev, udev* (*)(udev*)> context_;
  std::map<std::string, Subscribers> watches_;  // by subsystem, even where nobody watches any more
  std::unique_ptr<udev_monitor, udev_monitor* (*)(udev_monitor*)> monitor_;
  Group group_ = Group::kKernel;
  std::uint64_t events_ = 0;
  std::uint64_t overflows_ = 0;
  std::unique_ptr<IoWatch> io_;
  std::unique_ptr<DirWatch> udevd_;
};

}  // namespace plughost
