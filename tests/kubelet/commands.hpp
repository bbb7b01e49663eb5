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

  // Runs a command such as "allocate example.com/token 2 pod-a", and prints its result or error.
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

  // RESOURCE N|ID,ID… [POD]: admits a pod. A trailing comma marks a number as an id, not as a count.
  Reply allocate(const Words& arguments);
  // RESOURCE: cancels the resource's ListAndWatch stream from the kubelet's side.
  Reply cancel(const Words& arguments);
  // [RESOURCE]: prints the devices of this resource, or of all resources.
  Reply devices(const Words& arguments);
  // POD: removes the pod.
  Reply free(const Words& arguments);
  Reply pods(const Words&);
  Reply resources(const Words&);
  // Stops the kubelet, clears the directory and listens again.
  Reply restart(const Words&);
  // POD: calls PreStartContainer.
  Reply start(const Words& arguments);
  // Stops the kubelet as a kill does: the socket's file stays.
  Reply stop(const Words&);

  StandInKubelet& kubelet_;
  Output& output_;
  unsigned next_pod_ = 1;
};

}  // namespace plughost
