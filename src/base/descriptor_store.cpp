#include "base/descriptor_store.hpp"

#include <fcntl.h>

#include <cstdlib>
#include <sstream>
#include <utility>

#include "base/number.hpp"

namespace plughost {

namespace {

constexpr int kMostKept = 64;

// What the variable said, which is gone then.
std::string taken(const char* variable) {
  const char* const text = std::getenv(variable);
  std::string value = text == nullptr ? "" : text;
  ::unsetenv(variable);
  return value;
}

}  // namespace

DescriptorStore::DescriptorStore(const Notifier& notifier, int first) : notifier_(notifier) {
  const char* const room = std::getenv("FDSTORE");
  keeps_ = room != nullptr && number_in<unsigned>(room).value_or(0) > 0;
  const auto pid = number_in<pid_t>(taken("LISTEN_PID"));
  const auto count = number_in<int>(taken("LISTEN_FDS"), kMostKept);
  std::istringstream names(taken("LISTEN_FDNAMES"));
  if (pid != ::getpid() || !count) return;
  for (int fd = first; fd < first + *count; ++fd) {
    UniqueFd kept(fd);
    std::string name;
    std::getline(names, name, ':');
    // No program of ours is to have it. Fails where nothing has that number.
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
      kept.release();
    else
      kept_.insert_or_assign(std::move(name), std::move(kept));
  }
}

std::optional<DescriptorStore::Kept> DescriptorStore::take(const std::string& prefix) {
  const auto found = kept_.lower_bound(prefix);
  if (found == kept_.end() || !found->first.starts_with(prefix)) return std::nullopt;
  auto node = kept_.extract(found);
  return Kept{std::move(node.key()), std::move(node.mapped())};
}

bool DescriptorStore::put(const std::string& name, int fd) {
  // systemd would forget what looks hung up; a socket that listens never does, and must not.
  return keeps_ && notifier_.send("FDSTORE=1\nFDPOLL=0\nFDNAME=" + name, fd);
}

void DescriptorStore::drop(const std::string& name) {
  if (keeps_) notifier_.send("FDSTOREREMOVE=1\nFDNAME=" + name);
}

void DescriptorStore::drop_rest() {
  for (const auto& [name, fd] : std::exchange(kept_, {})) drop(name);
}

}  // namespace plughost
