#pragma once
// Our credentials, which change while we run, and what an exec plugin is told and answers:
// client.authentication.k8s.io. Loop thread only, but for the functions, which are pure.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/system/workers.hpp"
#include "host/hardware/host_root.hpp"
#include "host/programs/programs.hpp"
#include "host/programs/subprocess.hpp"
#include "kubernetes/apiserver/access.hpp"

namespace plughost {

// KUBERNETES_EXEC_INFO for the plugin of access.
std::string exec_info(const ApiAccess& access);

struct ExecCredential {
  std::string token;
  std::string certificate;  // PEM, with key
  std::string key;
  std::optional<std::chrono::system_clock::time_point> expires;
};

// Or why the output is none, as a sentence.
std::variant<ExecCredential, std::string> read_exec_credential(std::string_view output,
                                                               const ExecPlugin& plugin);

// "2026-11-21T18:00:00Z", with fractions and other zones; at least 1970, at most 2200. nullopt: it is no such
// text.
std::optional<std::chrono::system_clock::time_point> time_in(std::string_view rfc3339);

class AccessKeeper {
 public:
  struct Options {
    HostRoot host;
    WhereAccess where;
    std::chrono::milliseconds age;              // then the files are read again
    std::chrono::milliseconds file_deadline;    // to read them
    std::chrono::milliseconds plugin_deadline;  // of an exec plugin
  };
  // With a token or a certificate; nullptr: there are none, and error says why.
  using Credentials = std::shared_ptr<const ApiAccess>;
  using Wanted = std::function<void(const Credentials& credentials, const std::string& error)>;

  // All outlive it.
  AccessKeeper(Workers& workers, Programs& programs, Options options);
  AccessKeeper& operator=(AccessKeeper&&) = delete;

  // Calls once, at once if nothing has to be read. anew: what is known has been refused. What is known is
  // given, too, if it cannot be read anew.
  void want(bool anew, Wanted wanted);

  // The same object for as long as nothing has changed. nullptr: not known yet.
  const Credentials& credentials() const { return credentials_; }
  // Why they could not be read when that was last tried; empty: they could.
  const std::string& error() const { return error_; }

 private:
  using Clock = EventLoop::Clock;

  bool fresh() const;
  void read();
  void on_found(std::variant<ApiAccess, std::string> found);
  void run_plugin();
  void on_plugin(const Ending& ending);
  void finish(std::string error);

  Workers& workers_;
  Options options_;
  ProgramQueue queue_;
  std::vector<Wanted> wanted_;
  bool reading_ = false;
  bool hangs_ = false;    // a reading was given up, and has not ended
  bool refused_ = false;  // what is known
  std::optional<Clock::time_point> read_at_;
  std::optional<ApiAccess> found_;  // as the files have it, before the plugin
  Credentials credentials_;
  std::optional<std::chrono::system_clock::time_point> expires_;  // what the plugin gave
  std::string error_;
  std::optional<Subprocess> plugin_;
  Lifetime lifetime_;
};

}  // namespace plughost
