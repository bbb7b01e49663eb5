#include "base/replace_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <system_error>

#include "base/unique_fd.hpp"
#include "base/write_all.hpp"

namespace plughost {

void replace_file(const std::string& file, const std::string& temporary, std::string_view text) {
  // What lies there is never written to: it may be a link to somebody's file.
  ::unlink(temporary.c_str());
  const UniqueFd fd{
      check(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644), "open")};
  try {
    check(::fchmod(fd.get(), 0644), "fchmod");  // whatever the umask is: other users' tools read it
    write_all(fd.get(), text);
    check(::rename(temporary.c_str(), file.c_str()), "rename");
  } catch (const std::system_error&) {
    ::unlink(temporary.c_str());
    throw;
  }
}

}  // namespace plughost
