#include "kinds/exec/source.hpp"

#include <stdexcept>
#include <utility>

#include "kinds/exec/discovery.hpp"
#include "kinds/exec/document.hpp"
#include "kinds/exec/staying.hpp"
#include "programs/program.hpp"

namespace plughost {
namespace {

class ExecSource final : public DeviceSource {
 public:
  explicit ExecSource(ExecSettings settings) : settings_(std::move(settings)) {}

  Scan scan(const HostRoot& host) const override {
    Scan scan = triggers(host);
    if (!host.runs_programs()) {
      scan.undecided = true;
      scan.remarks.push_back("what " + settings_.command.front() +
                             " says is not known here: no program is run");
      return scan;
    }
    const Newest::Said said = watched_ ? newest_->get() : first_word();
    if (!said.document && said.trouble.empty()) {
      scan.undecided = true;
      return scan;
    }
    read(said);
    scan.devices = devices_;
    if (said.trouble.empty()) return scan;
    scan.remarks.push_back(said.trouble);
    for (Device& device : scan.devices) {
      if (device.healthy()) device.trouble = said.trouble;
    }
    return scan;
  }

  SandboxNeeds sandbox_needs() const override { return {.programs = true, .users = settings_.as_user}; }

  std::unique_ptr<SourceWatch> watch(Programs& programs, const std::function<void()>& hint) const override {
    watched_ = true;
    return begin(programs, newest_, hint);
  }

 private:
  std::unique_ptr<SourceWatch> begin(Programs& programs, std::shared_ptr<Newest> newest,
                                     const std::function<void()>& hint) const {
    Program program = document_program(settings_.command);
    if (settings_.stays)
      return std::make_unique<StayingProgram>(programs, std::move(program), settings_.timeout,
                                              std::move(newest), hint);
    program.timeout = settings_.timeout.value();
    return std::make_unique<Discovery>(programs, std::move(program), std::move(newest));
  }

  // For a look without a daemon: the program runs until it has said something.
  Newest::Said first_word() const {
    EventLoop loop;
    Programs programs(loop);
    const auto newest = std::make_shared<Newest>();
    const auto stop = [&loop] { loop.stop(); };
    const auto program = begin(programs, newest, stop);
    if (!settings_.stays) program->before_scan(stop);
    loop.run();
    return newest->get();
  }

  Scan triggers(const HostRoot& host) const {
    Scan scan;
    scan.look_again = settings_.interval;
    scan.subsystems = settings_.subsystems;
    for (const std::filesystem::path& path : settings_.paths) {
      scan.watch.push_back({.path = path.parent_path(), .name = path.filename()});
      if (host.type(path) == FileType::kDirectory) scan.watch.push_back({.path = path});
    }
    return scan;
  }

  // Makes devices_ those of the document. A program that stays leaves them as they were where its end is the
  // greater trouble; what `discover` runs has nothing to say then.
  void read(const Newest::Said& said) const {
    if (!settings_.stays && !said.trouble.empty()) throw std::runtime_error(said.trouble);
    if (said.document && said.document != read_) {
      try {
        devices_ = read_exec_document(*said.document);
        read_ = said.document;
      } catch (const DocumentError& error) {
        if (said.trouble.empty())
          throw std::runtime_error("what the program printed cannot be used: " + std::string(error.what()) +
                                   said.errors);
      }
    }
    if (!read_) throw std::runtime_error(said.trouble);
  }

  ExecSettings settings_;
  std::shared_ptr<Newest> newest_ = std::make_shared<Newest>();
  mutable bool watched_ = false;  // set before the first scan
  // The last document that could be read. Scans' alone: no two run at once.
  mutable std::shared_ptr<const std::string> read_;
  mutable std::vector<Device> devices_;
};

}  // namespace

std::unique_ptr<const DeviceSource> exec_source(ExecSettings settings) {
  return std::make_unique<ExecSource>(std::move(settings));
}

}  // namespace plughost
