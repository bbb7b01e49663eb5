#pragma once
// What is written for container runtimes, off the loop and in order. Loop thread only.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/lifetime.hpp"
#include "base/workers.hpp"
#include "device/offer.hpp"
#include "host/host_root.hpp"
#include "kinds/kind.hpp"
#include "supervisor/cdi_directory.hpp"

namespace plughost {

class CdiWriter {
 public:
  // A directory that takes longer hangs: until it answers nothing is asked of it.
  static constexpr std::chrono::seconds kDeadline{2};

  // What is not there, and why, as sentences that say what to do.
  struct Outcome {
    std::string common;                              // for every resource of the entry
    std::map<std::string, std::string> by_resource;  // for these alone

    // Empty: what the resource's names stand for is there.
    const std::string& trouble_of(const std::string& resource) const;
  };
  using Done = std::function<void(const Outcome& outcome)>;

  // See CdiDirectory. workers outlive it.
  CdiWriter(Workers& workers, HostRoot host, std::filesystem::path directory, std::string owner,
            std::chrono::milliseconds deadline = kDeadline);
  // What it has been told is still done, and told of.
  ~CdiWriter();
  CdiWriter& operator=(CdiWriter&&) = delete;

  // Does it write there, in that owner's name?
  bool is_for(const std::filesystem::path& directory, const std::string& owner) const {
    return directory == directory_ && owner == owner_;
  }
  // The files that another program made, then the specifications of the offers. done runs in the loop, once;
  // maybe at once.
  void write(std::vector<CdiFile> files, std::vector<Offer> offers, const Done& done);
  // Removes the specifications of all other resources.
  void keep(std::set<std::string> resources);
  // See CdiDirectory. done as of write(), with why it is not written; empty: it is.
  void write_late(std::string name, std::string text,
                  const std::function<void(const std::string& trouble)>& done);
  void keep_late(std::set<std::string> names);

 private:
  struct Shared;
  struct Work {
    std::function<void(CdiDirectory& directory)> body;  // on a worker
    std::function<void()> done;
    std::function<void()> overdue;  // then there is no done
  };

  void add(Work work);
  void start();
  void on_end();
  void on_overdue();

  Workers& workers_;
  const std::filesystem::path directory_;
  const std::string owner_;
  const std::chrono::milliseconds deadline_;
  const std::string hung_text_;
  std::shared_ptr<Shared> shared_;
  std::vector<Work> waiting_;
  bool busy_ = false;
  bool hung_ = false;
  Lifetime lifetime_;
};

}  // namespace plughost
