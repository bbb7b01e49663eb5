#pragma once
// Descriptors that the service manager keeps for the process that comes after this one (sd_notify(3),
// FDSTORE; sd_listen_fds(3)). One for the process. Loop thread only.

#include <map>
#include <optional>
#include <string>

#include "base/notify.hpp"
#include "base/unique_fd.hpp"

namespace plughost {

class DescriptorStore {
 public:
  static constexpr int kFirst = 3;  // SD_LISTEN_FDS_START

  // Takes what the environment says was kept (LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES), and takes that out of
  // the environment: before the process has a second thread. FDSTORE says whether the manager keeps any:
  // systemd sets it since 254, our unit always. The notifier outlives it.
  explicit DescriptorStore(const Notifier& notifier, int first = kFirst);

  // Does somebody keep descriptors for us?
  bool keeps() const { return keeps_; }
  // The one that was kept under a name that begins so, with its whole name; it is kept further on. nullopt:
  // there is none.
  struct Kept {
    std::string name;
    UniqueFd fd;
  };
  std::optional<Kept> take(const std::string& prefix);
  // name: of ASCII without a colon, at most 255 bytes. False: it is not kept.
  bool put(const std::string& name, int fd);
  void drop(const std::string& name);
  // What nobody has taken is closed, and kept no more.
  void drop_rest();

 private:
  const Notifier& notifier_;
  bool keeps_ = false;
  std::map<std::string, UniqueFd> kept_;
};

}  // namespace plughost
