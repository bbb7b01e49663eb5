#pragma once
// Keeps our ResourceSlices in the API server as they should be. Loop thread only.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/event_loop.hpp"
#include "base/log.hpp"
#include "dra/pool.hpp"
#include "platform/api_server.hpp"
#include "platform/node_watch.hpp"

namespace plughost {

struct PublishedPool {
  std::string pool;
  std::size_t devices = 0;
  std::size_t slices = 0;
  std::int64_t generation = 0;                              // see SliceKeeper::PoolState
  bool published = false;                                   // the API server shows it as it is wanted
  std::optional<std::chrono::system_clock::time_point> at;  // since when it has been so, or was last
  std::string trouble;                                      // why it is not published; empty: nothing yet
  bool operator==(const PublishedPool&) const = default;
};

// For the status and the doctor.
struct SlicesState {
  std::string version;  // "v1" or "v1beta2"; empty: not known yet
  std::string trouble;  // why nothing can be published; empty: it can
  std::vector<PublishedPool> pools;
  std::uint64_t writes = 0;   // requests that created, changed or deleted a slice
  bool nothing_left = false;  // nothing is to be published, and the API server shows nothing of ours
  bool operator==(const SlicesState&) const = default;
};

class SlicePublisher {
 public:
  // Called later than what causes it, never from within. Either may call anything here.
  struct Hooks {
    std::function<void()> known;    // node() or features() says something else
    std::function<void()> changed;  // state() does
  };

  // All outlive it. Nothing is asked of the API server before a driver is named. Its end writes nothing: the
  // slices stay.
  SlicePublisher(EventLoop& loop, Log& log, ApiServer& server, NodeWatch& node, Hooks hooks);
  ~SlicePublisher();
  SlicePublisher(const SlicePublisher&) = delete;
  SlicePublisher& operator=(const SlicePublisher&) = delete;

  // From now on slices are this driver's; those of a former one are deleted. Empty: there is none any more.
  void use(std::string driver);

  // Both are known once the API server has been asked: pools can be made then. Empty and nullopt: not yet.
  const std::string& node() const;
  const std::optional<DraFeatures>& features() const;

  // All that there is to publish, by resource: what is not in it any more is deleted. undecided: names of
  // pools that are not known yet, of which nothing is touched. Nothing is written before the first call.
  void publish(std::map<std::string, Pool> pools, std::set<std::string> undecided = {});

  // Somebody was told that the API server does not serve state().version. It is asked what it serves, at once
  // and then every 30 s at most.
  void doubt_version();

  SlicesState state() const;

  // Where there are no credentials yet, it is looked for them so often.
  static constexpr std::chrono::milliseconds kLook{500};

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plughost
