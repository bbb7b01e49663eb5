// plughost kubelet: a stand-in kubelet that takes registrations, shows lists live and allocates on request.

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstring>
#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>

#include "base/event_loop.hpp"
#include "base/signals.hpp"
#include "commands/command.hpp"
#include "commands/output.hpp"
#include "commands/table.hpp"
#include "standin/standin_kubelet.hpp"

namespace plughost {

namespace {

using Words = std::vector<std::string>;

constexpr const char* kContainer = "main";

struct KubeletOptions {
  std::string directory = "/var/lib/kubelet/device-plugins";
  std::string plugins_registry;
  bool json = false;
  bool older = false;
  bool stay = false;
};

// Standard output, for events and answers from two threads. Thread-safe.
class Screen {
 public:
  Screen(bool json, bool prompt) : json_(json), prompt_(prompt) {}

  // The JSON as one line, or the text, whose lines all end.
  void show(const Json& json, const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (json_) {
      std::cout << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
    } else {
      std::cout << (prompt_ ? "\r" : "") << text << (prompt_ ? "> " : "");
    }
    std::cout.flush();
  }

 private:
  bool json_;
  bool prompt_;
  std::mutex mutex_;
};

std::string count_of(std::size_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string text_of(const KubeletEvent& event) {
  using enum KubeletEvent::Type;
  const std::string subject = event.resource.empty() ? "" : event.resource + ": ";
  const std::string devices =
      count_of(event.devices, "device") + ", " + std::to_string(event.healthy) + " healthy";
  switch (event.type) {
    case kListening:
      return "listening on " + event.text;
    case kStopped:
      return "stopped, and its socket is stale";
    case kRegistering:
      return subject + "registers as " + event.text;
    case kRegistered:
      return subject + "registered";
    case kRegistrationFailed:
      return subject + "refused: " + event.text;
    case kStreamOpened:
      return subject + "stream opened";
    case kList:
      return subject + devices;
    case kStreamEnded:
      return subject + "stream ended (" + event.text + "), " + devices;
    case kForgotten:
      return subject + "gone for too long: capacity is 0";
    case kTrouble:
      return subject + event.text;
  }
  return {};
}

Json json_of(const KubeletEvent& event) {
  using enum KubeletEvent::Type;
  switch (event.type) {
    case kListening:
      return {{"event", "listening"}, {"socket", event.text}};
    case kStopped:
      return {{"event", "stopped"}};
    case kRegistering:
      return {{"event", "registering"}, {"resource", event.resource}, {"endpoint", event.text}};
    case kRegistered:
      return {{"event", "registered"}, {"resource", event.resource}, {"endpoint", event.text}};
    case kRegistrationFailed:
      return {{"event", "registrationFailed"}, {"resource", event.resource}, {"error", event.text}};
    case kStreamOpened:
      return {{"event", "streamOpened"}, {"resource", event.resource}};
    case kList:
      return {{"event", "list"},
              {"resource", event.resource},
              {"devices", event.devices},
              {"healthy", event.healthy}};
    case kStreamEnded:
      return {{"event", "streamEnded"},
              {"resource", event.resource},
              {"reason", event.text},
              {"devices", event.devices},
              {"healthy", event.healthy}};
    case kForgotten:
      return {{"event", "forgotten"}, {"resource", event.resource}};
    case kTrouble:
      return {{"event", "trouble"}, {"resource", event.resource}, {"error", event.text}};
  }
  return {};
}

Words split(const std::string& text, char separator) {
  Words words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string table_text(const TableRow& head, const std::vector<TableRow>& rows, const std::string& if_none) {
  if (rows.empty()) return if_none + "\n";
  std::ostringstream text;
  print_table(text, head, rows);
  return text.str();
}

// What a command answers.
struct Reply {
  Json json = Json::object();
  std::string text;  // whole lines
  std::string error;
};

Reply failed(std::string error) {
  Reply reply;
  reply.error = std::move(error);
  return reply;
}

Reply done(const std::string& text) {
  return {Json::object(), text + "\n", {}};
}

// Runs the commands that somebody types.
class Console {
 public:
  Console(StandInKubelet& kubelet, Screen& screen) : kubelet_(kubelet), screen_(screen) {}

  // False: enough. Errors are shown.
  bool run(const std::string& line);

 private:
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

const std::array<Console::Command, 11> Console::kCommands{{
    {"help", "", "this list", 0, 0, &Console::help},
    {"resources", "", "capacity and allocatable of every resource", 0, 0, &Console::resources},
    {"devices", "[RESOURCE]", "every device and its health", 0, 1, &Console::devices},
    {"allocate", "RESOURCE N|ID,ID… [POD]", "admit a pod (a comma after it makes a number an id)", 2, 3,
     &Console::allocate},
    {"start", "POD", "start the pod's container: PreStartContainer", 1, 1, &Console::start},
    {"free", "POD", "the pod is gone", 1, 1, &Console::free},
    {"pods", "", "who holds what", 0, 0, &Console::pods},
    {"cancel", "RESOURCE", "end the resource's stream from this side", 1, 1, &Console::cancel},
    {"restart", "", "stop, clear the directory, and listen again", 0, 0, &Console::restart},
    {"stop", "", "stop as a killed kubelet: its socket stays, stale", 0, 0, &Console::stop},
    {"quit", "", "leave", 0, 0, &Console::quit},
}};

bool Console::run(const std::string& line) {
  Words words = split(line, ' ');
  if (words.empty()) return true;
  const std::string name = words.front();
  words.erase(words.begin());
  const auto* const command =
      std::ranges::find_if(kCommands, [&](const Command& known) { return name == known.name; });
  Reply reply;
  try {
    if (command == kCommands.end()) {
      reply = failed("there is no command '" + name + "': try help");
    } else if (words.size() < command->least || words.size() > command->most) {
      reply = failed(std::string("usage: ") + command->name + " " + command->arguments);
    } else {
      reply = (this->*command->run)(words);
    }
  } catch (const std::exception& error) {
    reply = failed(error.what());
  }
  Json json{{"answer", name}, {"ok", reply.error.empty()}};
  if (!reply.error.empty()) json["error"] = reply.error;
  json.update(reply.json);
  screen_.show(json, reply.error.empty() ? reply.text : name + ": " + reply.error + "\n");
  return !enough_;
}

Reply Console::help(const Words&) {
  Reply reply;
  for (const Command& command : kCommands) {
    std::string usage = command.name;
    if (*command.arguments != '\0') usage += std::string(" ") + command.arguments;
    reply.json["commands"].push_back({{"usage", usage}, {"what", command.what}});
    // A character of several bytes counts once.
    const auto width = std::ranges::count_if(usage, [](char c) { return (c & 0xC0) != 0x80; });
    usage.append(static_cast<std::size_t>(std::max<std::ptrdiff_t>(34 - width, 1)), ' ');
    reply.text += usage + command.what + "\n";
  }
  return reply;
}

Reply Console::resources(const Words&) {
  Reply reply;
  reply.json["resources"] = Json::object();
  std::vector<TableRow> rows;
  for (const auto& [name, resource] : kubelet_.state().resources) {
    const std::string endpoint = resource.registrations.empty() ? "" : resource.registrations.back().endpoint;
    reply.json["resources"][name] = {{"capacity", resource.capacity},
                                     {"allocatable", resource.allocatable},
                                     {"attached", resource.attached},
                                     {"endpoint", endpoint},
                                     {"registrations", resource.registrations.size()},
                                     {"lists", resource.lists}};
    rows.push_back({name, std::to_string(resource.capacity), std::to_string(resource.allocatable),
                    resource.attached ? "yes" : "no", endpoint, std::to_string(resource.registrations.size()),
                    std::to_string(resource.lists)});
  }
  reply.text =
      table_text({"RESOURCE", "CAPACITY", "ALLOCATABLE", "ATTACHED", "ENDPOINT", "REGISTRATIONS", "LISTS"},
                 rows, "no resource has registered");
  return reply;
}

Reply Console::devices(const Words& arguments) {
  const KubeletState state = kubelet_.state();
  if (!arguments.empty() && !state.resources.contains(arguments[0]))
    return failed(arguments[0] + " has never registered");
  Reply reply;
  reply.json["devices"] = Json::array();
  std::vector<TableRow> rows;
  for (const auto& [name, resource] : state.resources) {
    if (!arguments.empty() && name != arguments[0]) continue;
    for (const ListedDevice& device : *resource.devices) {
      Words nodes;
      for (const auto node : device.numa_nodes) nodes.push_back(std::to_string(node));
      reply.json["devices"].push_back(
          {{"resource", name}, {"id", device.id}, {"healthy", device.healthy}, {"numa", device.numa_nodes}});
      rows.push_back({name, device.id, device.healthy ? "Healthy" : "Unhealthy", joined(nodes)});
    }
  }
  reply.text = table_text({"RESOURCE", "DEVICE", "HEALTH", "NUMA"}, rows, "no devices");
  return reply;
}

Reply Console::allocate(const Words& arguments) {
  const std::string& resource = arguments[0];
  const std::string& what = arguments[1];
  const std::string pod = arguments.size() > 2 ? arguments[2] : "pod-" + std::to_string(next_pod_++);
  const bool is_count =
      what.size() <= 9 && std::ranges::all_of(what, [](unsigned char c) { return std::isdigit(c) != 0; });
  const Admission admission = is_count ? kubelet_.allocate(pod, kContainer, resource, std::stoul(what))
                                       : kubelet_.allocate_named(pod, kContainer, resource, split(what, ','));
  if (!admission.admitted()) return failed(admission.error);
  Reply reply;
  reply.json = {
      {"pod", pod}, {"resource", resource}, {"ids", admission.ids}, {"response", json_of(admission.answer)}};
  reply.text =
      pod + " holds " + joined(admission.ids) + " of " + resource + "\n" + text_of(admission.answer, "  ");
  return reply;
}

Reply Console::start(const Words& arguments) {
  const std::string error = kubelet_.start_container(arguments[0]);
  return error.empty() ? done(arguments[0] + " has started") : failed(error);
}

Reply Console::free(const Words& arguments) {
  return kubelet_.free(arguments[0]) ? done(arguments[0] + " is gone")
                                     : failed("there is no pod " + arguments[0]);
}

Reply Console::pods(const Words&) {
  Reply reply;
  reply.json["pods"] = Json::array();
  std::vector<TableRow> rows;
  for (const PodDevices& held : kubelet_.pods()) {
    Words ids;
    for (const auto& [node, on_node] : held.ids) {
      for (const std::string& id : on_node) {
        if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
      }
    }
    reply.json["pods"].push_back({{"pod", held.pod},
                                  {"container", held.container},
                                  {"resource", held.resource},
                                  {"ids", ids},
                                  {"response", json_of(held.answer)}});
    rows.push_back({held.pod, held.container, held.resource, joined(ids)});
  }
  reply.text = table_text({"POD", "CONTAINER", "RESOURCE", "DEVICES"}, rows, "no pod holds a device");
  return reply;
}

Reply Console::cancel(const Words& arguments) {
  return kubelet_.cancel_stream(arguments[0]) ? Reply{} : failed(arguments[0] + " has no stream");
}

Reply Console::restart(const Words&) {
  kubelet_.restart();
  return {};
}

Reply Console::stop(const Words&) {
  kubelet_.stop();
  return {};
}

Reply Console::quit(const Words&) {
  enough_ = true;
  return {};
}

// Lines of standard input until its end, run() says that it is enough, or wake becomes readable. epoll knows
// no regular files: poll does.
void read_commands(const UniqueFd& wake, const std::function<bool(const std::string&)>& run) {
  std::string pending;
  for (;;) {
    std::array<pollfd, 2> ready{{{STDIN_FILENO, POLLIN, 0}, {wake.get(), POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), -1) < 0) continue;
    if (ready[1].revents != 0) return;
    std::array<char, 4096> buffer{};
    const auto size = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    pending.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    if (size <= 0 && !pending.empty()) pending += '\n';
    for (std::size_t end = 0; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1)) {
      if (!run(pending.substr(0, end))) return;
    }
    if (size <= 0) return;
  }
}

bool somebody_listens(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  const UniqueFd fd{check(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")};
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

int serve(const KubeletOptions& options) {
  // A start takes the socket's name and the plugins' sockets away from whoever has them.
  const auto socket = std::filesystem::path(options.directory) / "kubelet.sock";
  if (somebody_listens(socket)) {
    std::cerr << "plughost: a kubelet listens on " << socket.string() << " already\n";
    return 1;
  }
  block_signals({SIGINT, SIGTERM});
  EventLoop loop;
  const SignalWatch signals(loop, {SIGINT, SIGTERM}, [&](int) { loop.stop(); });
  const bool prompt = !options.json && ::isatty(STDIN_FILENO) != 0;
  Screen screen(options.json, prompt);
  StandInKubelet kubelet(
      {.directory = options.directory,
       .plugins_registry = options.plugins_registry,
       .clearing = options.older ? StandInKubelet::Clearing::kEverything : StandInKubelet::Clearing::kSockets,
       .registering = options.older ? StandInKubelet::Registering::kAnswersFirst
                                    : StandInKubelet::Registering::kDialsBeforeAnswer},
      [&](const KubeletEvent& event) { screen.show(json_of(event), text_of(event) + "\n"); });

  const UniqueFd wake{check(::eventfd(0, EFD_CLOEXEC), "eventfd")};
  std::thread reader([&, post = loop.poster()] {
    Console console(kubelet, screen);
    bool enough = false;
    read_commands(wake, [&](const std::string& line) { return !(enough = !console.run(line)); });
    if (enough || !options.stay) post([&] { loop.stop(); });
  });
  loop.run();
  kubelet.stop();  // ends a call that a command waits for
  ::eventfd_write(wake.get(), 1);
  reader.join();
  if (prompt) std::cout << '\n';
  return 0;
}

}  // namespace

void add_kubelet_command(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<KubeletOptions>();
  CLI::App* command = app.add_subcommand(
      "kubelet", "a stand-in kubelet: registrations and lists live, allocations on request");
  command->add_option("--plugin-directory", options->directory, "where plugins register")
      ->capture_default_str();
  command->add_option("--plugins-registry", options->plugins_registry,
                      "where it looks for plugins (else: nowhere)");
  command->add_flag("--json", options->json, "one JSON object per line");
  command->add_flag("--older", options->older,
                    "as old kubelets: answers Register before it dials, clears all files");
  command->add_flag("--stay", options->stay, "go on after the end of standard input");
  command->callback([options, &exit_code] { exit_code = serve(*options); });
}

}  // namespace plughost
