#include "hotplug/hung_files.hpp"

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "not_shown.hpp"

namespace plughost::test {

namespace {

template <typename Struct>
std::string bytes(const Struct& data) {
  return {reinterpret_cast<const char*>(&data), sizeof data};
}

fuse_in_header header_of(const std::string& request) {
  fuse_in_header header{};
  std::memcpy(&header, request.data(), std::min(sizeof header, request.size()));
  return header;
}

fuse_attr attributes(std::uint64_t node) {
  fuse_attr attributes{};
  attributes.ino = node;
  attributes.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644;
  attributes.nlink = 1;
  attributes.blksize = 4096;
  return attributes;
}

}  // namespace

HungFiles::HungFiles(std::filesystem::path directory, std::vector<std::string> names)
    : directory_(std::move(directory)),
      names_(std::move(names)),
      device_(::open("/dev/fuse", O_RDWR | O_CLOEXEC)) {
  if (!device_) not_shown("there is no /dev/fuse, and so no file system that can be made to hang");
  const std::string options =
      "fd=" + std::to_string(device_.get()) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
  if (::mount("hung-files", directory_.c_str(), "fuse", 0, options.c_str()) != 0)
    not_shown("no file system can be made to hang: " + std::generic_category().message(errno));
  server_ = std::thread([this] { serve(); });
}

HungFiles::~HungFiles() {
  answer();  // an unmounted file system lives while a request is waiting
  ::umount2(directory_.c_str(), MNT_FORCE | MNT_DETACH);
  server_.join();
}

void HungFiles::add(std::string name) {
  const std::lock_guard lock(mutex_);
  names_.push_back(std::move(name));
}

void HungFiles::hang_at(std::uint32_t opcode) {
  const std::lock_guard lock(mutex_);
  hanging_ = opcode;
}

void HungFiles::answer() {
  const std::lock_guard lock(mutex_);
  hanging_ = 0;
  for (const std::string& request : std::exchange(waiting_, {})) reply(request);
}

void HungFiles::serve() {
  std::string buffer(1 << 17, '\0');
  for (;;) {
    const ssize_t length = ::read(device_.get(), buffer.data(), buffer.size());
    if (length < 0 && errno == ENODEV) return;  // unmounted
    if (length < 0) continue;                   // the request was interrupted
    const std::string request = buffer.substr(0, static_cast<std::size_t>(length));
    const std::lock_guard lock(mutex_);
    if (header_of(request).opcode == hanging_)
      waiting_.push_back(request);
    else
      reply(request);
  }
}

void HungFiles::reply(const std::string& request) {
  const fuse_in_header header = header_of(request);
  const std::string body = request.substr(sizeof header);
  std::string answer;
  int error = 0;
  switch (header.opcode) {
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
      return;  // needs no answer
    case FUSE_INIT: {
      fuse_init_out init{};
      init.major = 7;
      init.minor = 31;
      init.max_write = 4096;
      answer = bytes(init);
      break;
    }
    case FUSE_LOOKUP: {
      const auto found = std::ranges::find(names_, std::string(body.c_str()));
      if (found == names_.end()) {
        error = ENOENT;
        break;
      }
      fuse_entry_out entry{};
      entry.nodeid = static_cast<std::uint64_t>(found - names_.begin()) + 2;
      entry.attr = attributes(entry.nodeid);
      answer = bytes(entry);
      break;
    }
    case FUSE_GETATTR: {
      fuse_attr_out attr{};
      attr.attr = attributes(header.nodeid);
      answer = bytes(attr);
      break;
    }
    case FUSE_OPEN:
    case FUSE_OPENDIR:
      answer = bytes(fuse_open_out{});
      break;
    case FUSE_READDIR: {
      fuse_read_in read{};
      std::memcpy(&read, body.data(), std::min(sizeof read, body.size()));
      for (std::uint64_t i = read.offset; i < names_.size(); ++i) {
        fuse_dirent entry{};
        entry.ino = i + 2;
        entry.off = i + 1;
        entry.namelen = static_cast<std::uint32_t>(names_[i].size());
        entry.type = S_IFREG >> 12;
        std::string item(reinterpret_cast<const char*>(&entry), FUSE_NAME_OFFSET);
        item += names_[i];
        item.resize(FUSE_DIRENT_ALIGN(item.size()));
        answer += item;
      }
      break;
    }
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
    case FUSE_FLUSH:
      break;
    case FUSE_STATFS:
      answer = bytes(fuse_statfs_out{});
      break;
    default:
      error = ENOSYS;
  }
  fuse_out_header out{};
  out.len = static_cast<std::uint32_t>(sizeof out + answer.size());
  out.error = -error;
  out.unique = header.unique;
  const std::string whole = bytes(out) + answer;
  // The caller may have stopped waiting.
  (void)!::write(device_.get(), whole.data(), whole.size());
}

}  // namespace plughost::test
