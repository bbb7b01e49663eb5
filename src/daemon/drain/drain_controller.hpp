#pragma once
// Devices that somebody has taken out of service.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log/log.hpp"
#include "base/system/coalescing_writer.hpp"
#include "base/text/json.hpp"
#include "daemon/platform/kubelet_link.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "model/allocate/resource_snapshot.hpp"
#include "model/device/drain_set.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// What is asked of the daemon about a device that is to be out of service or back in it. A plain value.
struct DrainOrder {
  static constexpr std::chrono::seconds kShortest{1};
  static constexpr std::chrono::seconds kLongest = std::chrono::days(1000);

  struct Terms {
    std::string reason;
    std::optional<std::chrono::seconds> duration;  // nullopt: until somebody says so

    bool operator==(const Terms&) const = default;
  };

  std::string resource;
  std::string device;          // an id that the kubelet is told: a replica's means its device
  std::optional<Terms> terms;  // nullopt: back in service

  bool operator==(const DrainOrder&) const = default;
};

// Why it cannot be carried out whatever there is, as a sentence; empty: it can.
std::string error_of(const DrainOrder& order);

using ResourceSnapshots = std::span<const SharedSnapshot>;  // of every resource
// Why it cannot be carried out for the device of that name, as a sentence; empty: it can.
std::string why_not(const DrainOrder& order, const DrainSet::Name& name, const DrainSet& drains,
                    ResourceSnapshots snapshots);

// What it answers. A plain value.
struct DrainAnswer {
  std::string error;  // not empty: nothing has changed
  DrainSet::Name name;
  std::optional<Drain> drain;  // nullopt: it is back in service
  std::string unsaved;         // why a restart would not know of it yet; empty: it would
  Device device;               // as it is listed; without an id if it is not
  std::shared_ptr<const Holdings> holdings;
  std::string holders_unknown;

  Json json() const;
};

// The device that is meant: by its own id, or by that of a replica. nullptr: there is none.
const Device* device_named(const Inventory& inventory, std::string_view id);
const Device* device_named(ResourceSnapshots snapshots, std::string_view resource, std::string_view id);

// "there is no resource x.com/c; there are x.com/a and x.com/b": however many there are, it is short.
std::string no_such(const std::string& what, const std::string& name, std::span<const std::string> known);

// The file that drains outlive the daemon in. Blocks; one thread at a time.
class DrainFile {
 public:
  static constexpr const char* kName = "drains.json";

  // The directory need not be there.
  explicit DrainFile(const std::filesystem::path& directory) : path_(directory / kName) {}

  const std::filesystem::path& path() const { return path_; }
  // What the file says; nothing, if there is none. What cannot be understood of it is told as sentences, and
  // the whole file is kept beside as drains.json.broken, drains.json.broken-2 and so on.
  DrainSet::Parsed read();
  // From now on the file says this, whatever becomes of the machine. Empty, or why it could not be written:
  // then it says what it said.
  std::string write(const std::string& text);

 private:
  // Throws std::system_error.
  std::filesystem::path set_aside();

  std::filesystem::path path_;
  bool broken_ = false;  // what lies there was not understood, and could not be set aside
};

// Which devices are out of service, as somebody has ordered it: written down, and back in service when their
// time is over. Loop thread only.
class DrainController {
 public:
  // The wall's clock may be set while a timer of ours runs, which has another.
  static constexpr std::chrono::seconds kLongestWait{60};

  struct Hooks {
    std::function<std::vector<SharedSnapshot>()> snapshots;  // of every resource
    std::function<void(HoldingsReader::Done done)> read_holdings;
    std::function<void()> changed;                            // drains() is another
    std::function<void(const DrainSet::Name& name)> forgive;  // its error (Device::lasting) is over
  };

  // Reads the file, and may block: it is made before the loop runs. workers and log outlive it.
  DrainController(EventLoop& loop, Workers& workers, Log& log, const DrainFile& file, Hooks hooks)
      : DrainController(loop, workers, log, std::make_shared<DrainFile>(file), std::move(hooks)) {}

  // How long a timer is to run at now for what is over at that time.
  static Drain::Clock::duration wait_for(Drain::Clock::time_point end, Drain::Clock::time_point now);
  const DrainSet& drains() const { return drains_; }
  // done runs in the loop, when the order is written down and it is known who holds the device; maybe at
  // once; never, if this is gone by then.
  using Done = std::function<void(const DrainAnswer& answer)>;
  void carry_out(const DrainOrder& order, Done done);

 private:
  // The file is the worker's that writes, from then on.
  DrainController(EventLoop& loop, Workers& workers, Log& log, std::shared_ptr<DrainFile> file, Hooks hooks);
  // Says whether the time of any is over.
  bool expire();
  void on_time();
  void change(CoalescingWriter::Told saved);
  void save(CoalescingWriter::Told saved);
  void arm();
  void answer(DrainAnswer answer, const Done& done);

  Log& log_;
  const Hooks hooks_;
  const std::shared_ptr<DrainFile> file_;
  DrainSet drains_;
  CoalescingWriter latest_;
  Timer timer_;
};

}  // namespace plughost
