#include "hotplug/namespaces.hpp"

#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

#include "base/system/unique_fd.hpp"
#include "not_shown.hpp"

namespace plughost::test {

namespace fs = std::filesystem;

namespace {

// Descriptors of the nodes in the machine's /dev, by path. They keep the nodes reachable under a mount.
std::map<std::string, UniqueFd>& kept() {
  static std::map<std::string, UniqueFd> files;
  return files;
}

void bind_mount(const UniqueFd& from, const std::string& to) {
  const std::string source = "/proc/self/fd/" + std::to_string(from.get());
  check(::mount(source.c_str(), to.c_str(), nullptr, MS_BIND, nullptr), "mount --bind");
}

void write_file(const char* path, const std::string& text) { std::ofstream(path) << text; }

void unshare_namespaces() {
  const auto uid = ::getuid();
  const auto gid = ::getgid();
  if (::unshare(CLONE_NEWNS | CLONE_NEWNET) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) != 0)
      not_shown("namespaces are not allowed here: " + std::generic_category().message(errno));
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
    write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
  }
  // In a plain chroot, / is no mount point, and mounts would propagate to the host.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    not_shown("mount --make-rprivate /: " + std::generic_category().message(errno));
}

void mount_over(const char* type, const char* directory) {
  // EBUSY: the file system is mounted already.
  if (::mount(type, directory, type, 0, nullptr) != 0 && errno != EBUSY)
    not_shown(std::string(directory) + " cannot be mounted: " + std::generic_category().message(errno));
}

}  // namespace

void enter_made_machine() {
  static const bool entered = [] {
    unshare_namespaces();
    for (const char* path : {"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"})
      kept()[path] = UniqueFd(::open(path, O_PATH | O_CLOEXEC));
    for (const char* directory : {"/sys", "/run", "/dev"}) mount_over("tmpfs", directory);
    for (const auto& [path, file] : kept()) {
      std::ofstream(path).close();
      bind_mount(file, path);
    }
    fs::create_directory("/dev/shm");
    return true;
  }();
  (void)entered;
}

void enter_real_machine() {
  static const bool entered = [] {
    if (::geteuid() != 0) not_shown("only root can make devices");
    unshare_namespaces();
    mount_over("sysfs", "/sys");
    mount_over("tmpfs", "/run");
    mount_over("devtmpfs", "/dev");
    return true;
  }();
  (void)entered;
}

void send_uevent(std::string_view action, std::string_view devpath, std::string_view subsystem,
                 const std::vector<std::pair<std::string, std::string>>& more) {
  constexpr std::uint16_t kUevent = 16;
  std::string message(sizeof(nlmsghdr), '\0');
  const auto add = [&](const std::string& text) { message.append(text).push_back('\0'); };
  add(std::string(action) + '@' + std::string(devpath));
  add("ACTION=" + std::string(action));
  add("DEVPATH=" + std::string(devpath));
  add("SUBSYSTEM=" + std::string(subsystem));
  for (const auto& [name, value] : more) add(name + '=' + value);
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(message.size());
  header.nlmsg_type = kUevent;
  header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  std::memcpy(message.data(), &header, sizeof header);

  static const UniqueFd socket{
      check(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT), "socket")};
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  check(static_cast<int>(::sendto(socket.get(), message.data(), message.size(), 0,
                                  reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel)),
        "sendto");
  struct {
    nlmsghdr header;
    nlmsgerr error;
  } answer{};
  check(static_cast<int>(::recv(socket.get(), &answer, sizeof answer, 0)), "recv");
  if (answer.error.error != 0)
    throw std::system_error(-answer.error.error, std::generic_category(), "the kernel takes no uevent");
}

void show(const fs::path& tree) {
  for (const char* name : {"sys", "run"}) {
    fs::create_directories(tree / name);
    const std::string place = std::string("/") + name;
    ::umount2(place.c_str(), MNT_DETACH);  // the former mount, or the empty directory's
    check(::mount((tree / name).c_str(), place.c_str(), nullptr, MS_BIND, nullptr), "mount --bind");
  }
}

void make_node(const std::string& path) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path).close();
  bind_mount(kept().at("/dev/null"), path);
}

}  // namespace plughost::test
