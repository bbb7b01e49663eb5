#pragma once
// The stand-in's output, and the commands by which a test or the demonstration drives it.

#include <array>
#include <mutex>
#include <string>
#include <vector>

#include "base/text/json.hpp"
#include "kubelet/standin_kubelet.hpp"

namespace plughost {

// Standard output, for events and answers from two threads. Thread-safe.
class Output {
 public:
  explicit Output(bool json) : json_(json) {}

  // The JSON as one line, or the text, whose lines all end.
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

  // Runs a line, such as "allocate example.com/token 2 pod-a", and shows its answer or its error.
  void run(const std::string& line);

 private:
  using Words = std::vector<std::string>;
  struct Reply;
  struct Command {
    const char* name;
    std::size_t least;  // arguments
    std::size_t most;
    Reply (Commands::*run)(const Words& arguments);
  };
  static const std::array<Command, 9> kCommands;

  // RESOURCE N|ID,ID… [POD]: admits a pod; a comma after it makes a number an id.
  Reply allocate(const Words& arguments);
  // RESOURCE: ends its stream from this side.
  Reply cancel(const Words& arguments);
  // [RESOURCE]
  Reply devices(const Words& arguments);
  // POD: it is gone.
  Reply free(const Words& arguments);
  Reply pods(const Words&);
  Reply resources(const Words&);
  // Stops, clears the directory, and listens again.
  Reply restart(const Words&);
  // POD: PreStartContainer.
  Reply start(const Words& arguments);
  // As a killed kubelet: its socket stays.
  Reply stop(const Words&);

  StandInKubelet& kubelet_;
  Output& output_;
  unsigned next_pod_ = 1;
};

}  // namespace plughost
