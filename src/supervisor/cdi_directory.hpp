#pragma once
// The specifications that container runtimes read: what names of CDI devices stand for. One thread at a time;
// whatever it does may hang with the file system.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "device/offer.hpp"
#include "host/host_root.hpp"

namespace plughost {

// Whose the files are: of the plughost that serves the kubelet with that directory for plugins.
std::string cdi_owner(const std::filesystem::path& kubelet_directory);

class CdiDirectory {
 public:
  // directory: as on the machine; made when it is first needed. Several plughosts may use it, each with an
  // owner of its own, by which the files' names begin.
  CdiDirectory(HostRoot host, std::filesystem::path directory, std::string owner);

  // The specification of the offer's resource says what the offer does. Nothing to do for a resource without
  // one, and for the same devices as the last time, unless somebody removed the file. Why it could not be
  // written, as a sentence that says what to do; empty: it is there, whole.
  std::string specify(const Offer& offer);
  // The same for a specification that another program made.
  std::string put(const std::string& file, const std::string& text);
  // Removes what this owner, in this process or a former one, has written for resources that are not among
  // these.
  void keep(const std::set<std::string>& resources);
  // The same for a name whose meaning is decided when its container starts, in a file of its own: keep()
  // leaves it alone.
  std::string put_late(const std::string& name, const std::string& text);
  // Removes those of all other names.
  void keep_late(const std::set<std::string>& names);

 private:
  struct Specified {
    Inventory inventory;
    std::shared_ptr<const Recipe> recipe;
  };

  std::string late_file(const std::string& name) const { return owner_ + '.' + name + ".json"; }
  std::string remove(const std::string& file);
  // Of files that are to go.
  void remove_if(const std::function<bool(const std::string& name)>& is_old);
  void replace(const std::string& file, const std::string& text);
  std::string unfinished(const std::string& file) const;
  std::filesystem::path at(const std::string& file) const { return host_.at(path_) / file; }

  HostRoot host_;
  std::filesystem::path path_;
  std::string owner_;
  std::map<std::string, Specified> specified_;  // by resource; those whose file was written
};

}  // namespace plughost
