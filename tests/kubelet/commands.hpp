#pragma once
// The stand-in's output, and the commands with which tests and the demonstration control it.

#include <array>
#include <mutex>
#include <string>
#include <vector>

#include "base/text/json.hpp"
#include "kubelet/standin_kubelet.hpp"

namespace plughost {

// Standard output, for events and answers of two threads. Thread-safe.
class Output {
 public:
  explicit Output(bool json) : json_(json) {}

  // Prints the JSON on one line, or the text, which must end with a newline.
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

  // Runs a command such as "allocate example.com/token 2 pod-a", and prints its answer or error.
  void run(const std::string& line);

 private:
  using Words = std::vector<std::string>;
  struct Reply;
  struct Command {
    const char* name;
    std::size_t least;  // number of arguments
    std::size_t most;
    Reply (Commands::*run)(const Words& arguments);
  };
  static const std::array<Command, 9> kCommands;

  // RESOURCE N|ID,ID… [POD]: admits a pod. A trailing comma makes a number an id.
  Reply allocate(const Words& arguments);
  // RESOURCE: ends its stream from this side.
  Reply cancel(const Words& arguments);
  // [RESOURCE]
  Reply devices(const Words& arguments);
  // POD: removes the pod.
  Reply free(const Words& arguments);
  Reply pods(const Words&);
  Reply resources(const Words&);
  // Stops, clears the directory and listens again.
  Reply restart(const Words&);
  // POD: calls PreStartContainer.
  Reply start(const Words& arguments);
  // Stops as if killed: the socket stays.
  Reply stop(const Words&);

  StandInKubelet& kubelet_;
  Output& output_;
  unsigned next_pod_ = 1;
};

}  // namespace plughost
