#include "supervisor/cdi_writer.hpp"

#include <mutex>
#include <utility>

namespace plughost {

// With the worker, which may hang for longer than the writer lives.
struct CdiWriter::Shared {
  std::mutex mutex;  // what is left when the writer ends does not wait for its turn
  CdiDirectory directory;
};

const std::string& CdiWriter::Outcome::trouble_of(const std::string& resource) const {
  const auto found = by_resource.find(resource);
  return found == by_resource.end() ? common : found->second;
}

CdiWriter::CdiWriter(Workers& workers, HostRoot host, std::filesystem::path directory, std::string owner,
                     std::chrono::milliseconds deadline)
    : workers_(workers),
      directory_(std::move(directory)),
      owner_(std::move(owner)),
      deadline_(deadline),
      hung_text_("the directory of CDI specifications, " + directory_.string() +
                 ", does not answer: its file system hangs"),
      shared_(new Shared{.mutex = {}, .directory = {std::move(host), directory_, owner_}}) {}

CdiWriter::~CdiWriter() {
  if (!waiting_.empty()) start();
}

void CdiWriter::write(std::vector<CdiFile> files, std::vector<Offer> offers, const Done& done) {
  const auto outcome = std::make_shared<Outcome>();
  add({.body =
           [outcome, files = std::move(files), offers = std::move(offers)](CdiDirectory& directory) {
             for (const CdiFile& file : files)
               if (std::string trouble = directory.put(file.name, file.text); !trouble.empty())
                 outcome->common = std::move(trouble);
             for (const Offer& offer : offers)
               if (std::string trouble = directory.specify(offer); !trouble.empty())
                 outcome->by_resource[offer.resource] = std::move(trouble);
           },
       .done = [outcome, done] { done(*outcome); },
       .overdue = [done, why = hung_text_] { done({.common = why, .by_resource = {}}); }});
}

void CdiWriter::keep(std::set<std::string> resources) {
  add({.body = [resources = std::move(resources)](CdiDirectory& directory) { directory.keep(resources); },
       .done = [] {},
       .overdue = [] {}});
}

void CdiWriter::write_late(std::string name, std::string text,
                           const std::function<void(const std::string& trouble)>& done) {
  const auto trouble = std::make_shared<std::string>();
  add({.body = [trouble, name = std::move(name), text = std::move(text)](
                   CdiDirectory& directory) { *trouble = directory.put_late(name, text); },
       .done = [trouble, done] { done(*trouble); },
       .overdue = [done, why = hung_text_] { done(why); }});
}

void CdiWriter::keep_late(std::set<std::string> names) {
  add({.body = [names = std::move(names)](CdiDirectory& directory) { directory.keep_late(names); },
       .done = [] {},
       .overdue = [] {}});
}

void CdiWriter::add(Work work) {
  if (hung_) return work.overdue();
  waiting_.push_back(std::move(work));
  if (!busy_) start();
}

void CdiWriter::start() {
  busy_ = true;
  struct Batch {
    std::vector<Work> works;
    bool told = false;  // of its end, or that it is overdue
  };
  const auto batch = std::make_shared<Batch>();
  batch->works.swap(waiting_);
  const auto tell = [batch](const std::function<void()> Work::*what) {
    if (std::exchange(batch->told, true)) return;
    for (const Work& work : batch->works) (work.*what)();
  };
  workers_.run(
      [batch, shared = shared_] {
        const std::lock_guard lock(shared->mutex);
        for (const Work& work : batch->works) work.body(shared->directory);
      },
      [tell, end = lifetime_.bound([this] { on_end(); })] {
        end();
        tell(&Work::done);
      },
      deadline_,
      [tell, overdue = lifetime_.bound([this] { on_overdue(); })] {
        overdue();
        tell(&Work::overdue);
      });
}

void CdiWriter::on_end() {
  busy_ = hung_ = false;
  if (!waiting_.empty()) start();
}

void CdiWriter::on_overdue() {
  hung_ = true;
  for (const Work& work : std::exchange(waiting_, {})) work.overdue();
}

}  // namespace plughost
