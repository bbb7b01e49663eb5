#pragma once
// Where the CDI specifications are, and where they were: a container that starts while they move finds its
// own in the one place or the other. Loop thread only.

#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "base/workers.hpp"
#include "host/host_root.hpp"
#include "publication/cdi_writer.hpp"

namespace plughost {

class CdiPlaces {
 public:
  // See CdiDirectory. workers outlive it. What is written stays when it ends: containers that are started
  // again meanwhile need it.
  CdiPlaces(Workers& workers, HostRoot host, const std::filesystem::path& directory,
            const std::string& owner);

  CdiWriter& present() { return *present_; }
  // They are written there from now on; what is in the former place stays until keep().
  void move(const std::filesystem::path& directory, const std::string& owner);
  // Those of all other resources go, and the former place is left empty.
  void keep(std::set<std::string> resources);
  // Nothing is left in the former place.
  void end_former();

 private:
  Workers& workers_;
  const HostRoot host_;
  std::unique_ptr<CdiWriter> present_;
  std::unique_ptr<CdiWriter> former_;  // nullptr: all that it has written is written by the present one
};

}  // namespace plughost
