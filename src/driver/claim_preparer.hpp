#pragma once
// The claims of this node: prepared before a pod starts, given back after it. What is prepared is in the CDI
// directory, a file for each, and survives us there. Loop thread only.

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/event_loop.hpp"
#include "base/lifetime.hpp"
#include "base/log.hpp"
#include "dra/claim.hpp"
#include "dra/claim_file.hpp"
#include "dra/preparation.hpp"
#include "hooks/pre_starts.hpp"
#include "platform/api_server.hpp"
#include "platform/cdi_writer.hpp"

namespace plughost {

class ClaimPreparer {
 public:
  // By uid.
  using Prepared = std::function<void(std::map<std::string, PrepareOutcome> outcomes)>;
  using Unprepared = std::function<void(std::map<std::string, std::string> troubles)>;

  struct Hooks {
    std::function<OfferPools()> pools;     // as they are now
    std::function<std::string()> version;  // of resource.k8s.io; empty: not known yet
    std::function<void()> unserved;        // the API server has it not
    std::function<CdiWriter&()> cdi;       // the present one
    std::function<void()> changed;         // claims() says something else, or all is loaded
  };
  // The kubelet waits for 45 s, and comes again after 60 to 90.
  struct Times {
    std::chrono::milliseconds wait = std::chrono::seconds(30);   // for a device
    std::chrono::milliseconds limit = std::chrono::seconds(40);  // for all of it
    std::chrono::milliseconds first_retry = std::chrono::milliseconds(500);
    std::chrono::milliseconds longest_retry = std::chrono::seconds(4);
  };

  // All outlive it. What was prepared before is read at once; until it is known nobody is answered.
  ClaimPreparer(EventLoop& loop, Programs& programs, ApiServer& server, Log& log, std::string driver,
                Hooks hooks, Times times);
  ClaimPreparer(EventLoop& loop, Programs& programs, ApiServer& server, Log& log, std::string driver,
                Hooks hooks);
  // Who waits is not answered any more.
  ~ClaimPreparer();
  ClaimPreparer(const ClaimPreparer&) = delete;
  ClaimPreparer& operator=(const ClaimPreparer&) = delete;

  // done is called once, maybe at once, with an outcome for each. A claim that is prepared is answered as it
  // was before, and no API server is asked. What passes is waited for.
  void prepare(const std::vector<ClaimRef>& claims, Prepared done);
  // The same. One that is not known is given back already. A preparation that has not come to a decision ends
  // with an error, any other comes first.
  void unprepare(const std::vector<ClaimRef>& claims, Unprepared done);
  // Gives back what nobody has any more, and nobody will give back: see ClaimLeftovers.
  void clear(const ClaimRef& claim);

  // What the hook `pools` says has changed.
  void on_lists();
  // The CDI directory is another one.
  void write_again();

  // What was prepared before has been read.
  bool loaded() const { return loaded_; }
  // All that have devices, or are about to.
  std::vector<PreparedClaim> claims() const;
  // Those that are prepared, and about which nothing is under way; the name is empty where the file could not
  // be read.
  std::vector<PreparedClaim> idle() const;

 private:
  struct Known {
    PreparedClaim claim;
    std::string text;    // of its file
    bool whole = false;  // the file has been written
  };
  struct Step;
  using Steps = std::deque<std::unique_ptr<Step>>;

  void load();
  void on_files(const ClaimFiles& files);
  Step& last_step(const ClaimRef& claim, bool unprepare);
  void begin(const std::string& uid);
  void begin_prepare(Step& step);
  void begin_unprepare(Step& step);
  void ask(Step& step);
  void on_answer(Step& step, const ApiAnswer& answer);
  void look(Step& step);
  void wait_for_lists(Step& step, const std::string& why);
  void decide(Step& step, ReadyClaim ready);
  void write(Step& step);
  void start_programs(Step& step);
  void on_limit(Step& step);
  void refuse(Step& step, const std::string& why);
  void end(Step& step, const PrepareOutcome& outcome, const std::string& trouble);
  void forget(const std::string& uid);

  EventLoop& loop_;
  ApiServer& server_;
  Log& log_;
  const std::string driver_;
  const Hooks hooks_;
  const Times times_;
  bool loaded_ = false;
  bool told_load_ = false;  // that it fails
  std::string load_trouble_;
  std::map<std::string, Known> known_;  // by uid; from the decision on
  std::set<std::string> unreadable_;    // files of ours that say nothing: their claims' uids
  PreStarts pre_starts_;
  std::map<std::string, Steps> steps_;  // by uid; the first is under way
  Timer load_again_;
  Lifetime lifetime_;
  Subscription user_;
};

}  // namespace plughost
