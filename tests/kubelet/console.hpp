#pragma once
// What the stand-in shows, and the commands that somebody types there.

#include <array>
#include <mutex>
#include <string>
#include <vector>

#include "base/text/json.hpp"
#include "kubelet/standin_kubelet.hpp"

namespace plughost {

// Standard output, for events and answers from two threads. Thread-safe.
class Screen {
 public:
  Screen(bool json, bool prompt) : json_(json), prompt_(prompt) {}

  // The JSON as one line, or the text, whose lines all end.
  void show(const Json& json, const std::string& text);
  void show(const KubeletEvent& event);

 private:
  bool json_;
  bool prompt_;
  std::mutex mutex_;
};

// Runs the commands that somebody types. Not thread-safe.
class Console {
 public:
  Console(StandInKubelet& kubelet, Screen& screen) : kubelet_(kubelet), screen_(screen) {}

  // False: enough. Errors are shown.
  bool run(const std::string& line);

 private:
  using Words = std::vector<std::string>;
  struct Reply;
  struct Command {
    const char* name;
    const char* arguments;
    const char* what;
    std::size_t least;
    std::size_t most;
    Reply (Console::*run)(const Words& arguments);
  };
  static const std::array<Command, 11> kCommands;

  Reply help(const Words&);
  Reply resources(const Words&);
  Reply devices(const Words& arguments);
  Reply allocate(const Words& arguments);
  Reply start(const Words& arguments);
  Reply free(const Words& arguments);
  Reply pods(const Words&);
  Reply cancel(const Words& arguments);
  Reply restart(const Words&);
  Reply stop(const Words&);
  Reply quit(const Words&);

  StandInKubelet& kubelet_;
  Screen& screen_;
  unsigned next_pod_ = 1;
  bool enough_ = false;
};

}  // namespace plughost
