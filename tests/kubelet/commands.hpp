#pragma once
// The stand-in's standard output, and the commands with which tests and the demonstration control the
// stand-in.

#include <array>
#include <mutex>
#include <string>
#include <vector>

#include "base/text/json.hpp"
#include "kubelet/standin_kubelet.hpp"

namespace plughost {

// Prints events and command results, which come from two threads. Thread-safe.
class Output {
 public:
  explicit Output(bool json) : json_(json) {}

  // Prints `json` on one line, or else `text`, which must end with a newline.
  void show(const Json& json, const std::string& text);
  void show(const KubeletEvent& event);

 private:
  bool json_;
  std::mutex mutex_;
};

// Not thread-safe.
class Commands {
 public:
  Commands(StandInKubelet& kubelet, Output& output) : kubelet_(kubelet), output_(output) {}

  // Returns a table of the commands, for --help.
  static std::string help();

  // Runs a command such as "allocate example.com/token 2 pod-a", and prints its result or error.
  void run(const std::string& line);

 private:
  using Words = std::vector<std::string>;
  struct Reply;
  struct Command {
    const char* name;
    const char* arguments;  // "RESOURCE [POD]"; empty: none
    const char* does;       // for the help
    std::size_t least;      // number of arguments
    std::size_t most;
    Reply (Commands::*run)(const Words& arguments);

    std::string usage() const;  // "free POD"
  };
  static const std::array<Command, 9> kCommands;

  // kCommands says what each does.
  Reply allocate(const Words& arguments);
  Reply cancel(const Words& arguments);
  Reply devices(const Words& arguments);
  Reply free(const Words& arguments);
  Reply pods(const Words&);
  Reply resources(const Words&);
  Reply restart(const Words&);
  Reply start(const Words& arguments);
  Reply stop(const Words&);

  StandInKubelet& kubelet_;
  Output& output_;
  unsigned next_pod_ = 1;
};

}  // namespace plughost
