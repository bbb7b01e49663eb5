#include "kubelet/file_identity.hpp"

namespace plughost {

std::optional<FileIdentity> identity_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  if (S_ISDIR(status.st_mode)) return FileIdentity{status.st_dev, status.st_ino, 0};
  if (!S_ISSOCK(status.st_mode)) return std::nullopt;
  const std::int64_t changed = std::int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec;
  return FileIdentity{status.st_dev, status.st_ino, changed};
}

}  // namespace plughost
