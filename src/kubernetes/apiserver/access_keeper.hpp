#pragma once
// Keeps the credentials current, and implements the protocol of exec plugins (client.authentication.k8s.io).
// AccessKeeper: loop thread only. The functions are pure.

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

// Returns the value of KUBERNETES_EXEC_INFO for the plugin of `access`.
std::string exec_info(const ApiAccess& access);

struct ExecCredential {
  std::string token;
  std::string certificate;  // PEM, with key
  std::string key;
  std::optional<std::chrono::system_clock::time_point> expires;
};

// Returns the credential in the output, or the reason why the output is malformed, as a sentence.
std::variant<ExecCredential, std::string> read_exec_credential(std::string_view output,
                                                               const ExecPlugin& plugin);

// Parses "2026-11-21T18:00:00Z", also with fractions and other zones, from 1970 to 2200; else nullopt.
std::optional<std::chrono::system_clock::time_point> time_in(std::string_view rfc3339);

class AccessKeeper {
 public:
  struct Options {
    HostRoot host;
    WhereAccess where;
    std::chrono::milliseconds age;              // the files are read again after this time
    std::chrono::milliseconds file_deadline;    // for reading the files
    std::chrono::milliseconds plugin_deadline;  // for an exec plugin
  };
  // Credentials with a token or a certificate; nullptr if there are none, for the reason in `error`.
  using Credentials = std::shared_ptr<const ApiAccess>;
  using Wanted = std::function<void(const Credentials& credentials, const std::string& error)>;

  // `workers` and `programs` must outlive this object.
  AccessKeeper(Workers& workers, Programs& programs, Options options);
  AccessKeeper& operator=(AccessKeeper&&) = delete;

  // Calls `wanted` once, immediately if nothing has to be read. `anew` means that the API server has refused
  // the present credentials. If reading fails, `wanted` gets the present credentials.
  void want(bool anew, Wanted wanted);

  // Returns the same object until the credentials change; nullptr if they are not known yet.
  const Credentials& credentials() const { return credentials_; }
  // Returns why the last read failed; empty on success.
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
  bool hangs_ = false;    // a read has exceeded its deadline and has not ended
  bool refused_ = false;  // the present credentials were refused
  std::optional<Clock::time_point> read_at_;
  std::optional<ApiAccess> found_;  // as in the files, without the plugin's credentials
  Credentials credentials_;
  std::optional<std::chrono::system_clock::time_point> expires_;  // of the plugin's credentials
  std::string error_;
  std::optional<Subprocess> plugin_;
  Lifetime lifetime_;
};

}  // namespace plughost
