#include "base/descriptor_store.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "unit/service_manager.hpp"

using namespace plughost;
using test::ServiceManager;
using test::Variable;

namespace {

UniqueFd some_descriptor() {
  return UniqueFd(check(::memfd_create("kept", 0), "memfd_create"));
}

bool same_file(int one, int other) {
  struct stat first {};
  struct stat second {};
  check(::fstat(one, &first), "fstat");
  check(::fstat(other, &second), "fstat");
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

// Descriptors with numbers in a row, as a manager hands them over.
struct HandedOver {
  explicit HandedOver(int count) {
    for (int i = 0; i < count; ++i) {
      const UniqueFd made = some_descriptor();
      const int fd = check(::fcntl(made.get(), F_DUPFD, first + i), "F_DUPFD");
      REQUIRE(fd == first + i);
    }
  }
  const int first = 700;
  const Variable pid{"LISTEN_PID", std::to_string(::getpid())};
};

}  // namespace

TEST_CASE("a descriptor is given to who keeps descriptors, with its name, and taken back by it") {
  const ServiceManager manager;
  const Variable socket("NOTIFY_SOCKET", manager.path);
  const Variable room("FDSTORE", "1");
  const Notifier notifier;
  DescriptorStore store(notifier);
  CHECK(store.keeps());
  const UniqueFd fd = some_descriptor();
  CHECK(store.put("a-1", fd.get()));
  const ServiceManager::Heard put = manager.heard();
  CHECK(put.text == "FDSTORE=1\nFDPOLL=0\nFDNAME=a-1");
  REQUIRE(put.fd);
  CHECK(same_file(put.fd.get(), fd.get()));
  store.drop("a-1");
  const ServiceManager::Heard dropped = manager.heard();
  CHECK(dropped.text == "FDSTOREREMOVE=1\nFDNAME=a-1");
  CHECK_FALSE(dropped.fd);
}

TEST_CASE("who says that it keeps none, or says nothing, is given none") {
  const ServiceManager manager;
  const Variable socket("NOTIFY_SOCKET", manager.path);
  const UniqueFd fd = some_descriptor();
  for (const char* room : {"", "0", "many"}) {
    const Variable variable("FDSTORE", room);
    const Notifier notifier;
    DescriptorStore store(notifier);
    CHECK_FALSE(store.keeps());
    CHECK_FALSE(store.put("a", fd.get()));
    store.drop("a");
  }
  CHECK(manager.heard().text.empty());
}

TEST_CASE("where no manager listens nothing is kept") {
  const Variable room("FDSTORE", "1");
  const UniqueFd fd = some_descriptor();
  {
    const Notifier notifier;
    CHECK_FALSE(DescriptorStore(notifier).put("a", fd.get()));
  }
  const test::TempDir dir;
  const Variable socket("NOTIFY_SOCKET", dir.path() / "nobody");
  const Notifier notifier;
  CHECK_FALSE(DescriptorStore(notifier).put("a", fd.get()));
}

TEST_CASE("what was kept is found by the beginning of its name, once, and no program inherits it") {
  const HandedOver handed(3);
  ::setenv("LISTEN_FDS", "3", 1);
  ::setenv("LISTEN_FDNAMES", "b-1:a-2:stored", 1);
  const Notifier notifier;
  DescriptorStore store(notifier, handed.first);
  for (const char* variable : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"})
    CHECK_MESSAGE(::getenv(variable) == nullptr, variable);
  for (int fd = handed.first; fd < handed.first + 3; ++fd) CHECK(::fcntl(fd, F_GETFD) == FD_CLOEXEC);
  const auto kept = store.take("a-");
  REQUIRE(kept);
  CHECK(kept->name == "a-2");
  CHECK(kept->fd.get() == handed.first + 1);
  CHECK_FALSE(store.take("a-"));
  CHECK_FALSE(store.take("c"));
  CHECK(store.take("b-1"));
}

TEST_CASE("what nobody takes is closed, and kept no more") {
  const ServiceManager manager;
  const Variable socket("NOTIFY_SOCKET", manager.path);
  const Variable room("FDSTORE", "4");
  const HandedOver handed(2);
  ::setenv("LISTEN_FDS", "2", 1);
  ::setenv("LISTEN_FDNAMES", "a:b", 1);
  const Notifier notifier;
  DescriptorStore store(notifier, handed.first);
  const auto taken = store.take("b");
  store.drop_rest();
  CHECK(manager.heard().text == "FDSTOREREMOVE=1\nFDNAME=a");
  CHECK(manager.heard().text.empty());
  CHECK_FALSE(is_open(handed.first));
  CHECK(is_open(handed.first + 1));
}

TEST_CASE("what was handed to another process is left alone") {
  const UniqueFd fd(check(::fcntl(some_descriptor().get(), F_DUPFD, 700), "F_DUPFD"));
  const Variable pid("LISTEN_PID", "1");
  ::setenv("LISTEN_FDS", "1", 1);
  ::setenv("LISTEN_FDNAMES", "a", 1);
  const Notifier notifier;
  DescriptorStore store(notifier, fd.get());
  CHECK_FALSE(store.take(""));
  store.drop_rest();
  CHECK(is_open(fd.get()));
}
