#include "base/system/mounts.hpp"

#include <doctest/doctest.h>

#include "unit/temp_dir.hpp"

using namespace plughost;

TEST_CASE("mounts: network file systems, FUSE, automounts and unknown types may hang") {
  const test::TempDir dir;
  dir.file("mounts",
           "proc /proc proc rw 0 0\n"
           "server:/export /data/nfs nfs4 rw,vers=4.2 0 0\n"
           "sshfs /data/a\\040b fuse.sshfs rw 0 0\n"
           "/dev/sdb1 /data/disk ext4 rw 0 0\n"
           "systemd-1 /mnt/auto autofs rw 0 0\n"
           "overlay /var/lib/x overlay rw,lowerdir=" +
               std::string(5000, 'l') +
               " 0 0\n"
               "new /data/new somefs rw 0 0\n");
  CHECK(remote_mounts(dir.at("mounts")) ==
        std::set<std::string>{"/data/a b", "/data/new", "/data/nfs", "/mnt/auto"});
}

TEST_CASE("mounts: a remote root does not count as remote, and without a mount table no path does") {
  const test::TempDir dir;
  dir.file("mounts", "server:/root / nfs rw 0 0\n");
  CHECK(remote_mounts(dir.at("mounts")).empty());
  CHECK(remote_mounts(dir.at("none")).empty());
}
