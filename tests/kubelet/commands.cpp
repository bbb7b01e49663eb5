#include "kubelet/commands.hpp"

#include <algorithm>
#include <iostream>
#include <sstream>

#include "base/text/text.hpp"
#include "model/allocate/allocation_text.hpp"

namespace plughost {
namespace {

constexpr const char* kContainer = "main";

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
    case kError:
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
    case kError:
      return {{"event", "trouble"}, {"resource", event.resource}, {"error", event.text}};
  }
  return {};
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

}  // namespace

void Output::show(const Json& json, const std::string& text) {
  const std::lock_guard lock(mutex_);
  std::cout << (json_ ? json.dump() + '\n' : text) << std::flush;
}

void Output::show(const KubeletEvent& event) { show(json_of(event), text_of(event) + "\n"); }

// The result of a command: its output in both formats, or an error.
struct Commands::Reply {
  Json json = Json::Object();
  std::string text;  // complete lines
  std::string error;

  static Reply failed(std::string error) {
    Reply reply;
    reply.error = std::move(error);
    return reply;
  }
  static Reply done(const std::string& text) { return {Json::Object(), text + "\n", {}}; }
};

const std::array<Commands::Command, 9> Commands::kCommands{{
    {"allocate", "RESOURCE N|ID,ID... [POD]", "admit a pod; a comma after a number makes it an id", 2, 3,
     &Commands::allocate},
    {"cancel", "RESOURCE", "end the resource's stream", 1, 1, &Commands::cancel},
    {"devices", "[RESOURCE]", "print the devices", 0, 1, &Commands::devices},
    {"free", "POD", "end the pod", 1, 1, &Commands::free},
    {"pods", "", "print the pods and what they hold", 0, 0, &Commands::pods},
    {"resources", "", "print the resources", 0, 0, &Commands::resources},
    {"restart", "", "stop, clear the directory, and listen again", 0, 0, &Commands::restart},
    {"start", "POD", "start the pod's container (PreStartContainer)", 1, 1, &Commands::start},
    {"stop", "", "stop as a killed kubelet does, whose socket stays", 0, 0, &Commands::stop},
}};

std::string Commands::Command::usage() const {
  return arguments[0] == '\0' ? name : name + std::string(" ") + arguments;
}

std::string Commands::help() {
  std::string text = "Commands, one on each line of standard input:\n";
  for (const Command& command : kCommands) {
    const std::string usage = command.usage();
    text += "  " + usage + std::string(usage.size() < 36 ? 36 - usage.size() : 1, ' ') + command.does + "\n";
  }
  return text;
}

void Commands::run(const std::string& line) {
  Words words = split(line, ' ');
  if (words.empty()) return;
  const std::string name = words.front();
  words.erase(words.begin());
  const auto* const command =
      std::ranges::find_if(kCommands, [&](const Command& known) { return name == known.name; });
  Reply reply;
  try {
    if (command == kCommands.end()) {
      reply = Reply::failed("there is no such command; --help lists them");
    } else if (words.size() < command->least || words.size() > command->most) {
      reply = Reply::failed("too few or too many arguments; write: " + command->usage());
    } else {
      reply = (this->*command->run)(words);
    }
  } catch (const std::exception& exception) {
    reply = Reply::failed(exception.what());
  }
  Json json{{"answer", name}, {"ok", reply.error.empty()}};
  if (!reply.error.empty()) json["error"] = reply.error;
  for (const auto& [member, value] : reply.json.object()) json[member] = value;
  output_.show(json, reply.error.empty() ? reply.text : name + ": " + reply.error + "\n");
}

Commands::Reply Commands::resources(const Words&) {
  Reply reply;
  reply.json["resources"] = Json::Object();
  for (const auto& [name, resource] : kubelet_.state().resources) {
    const std::string endpoint = resource.registrations.empty() ? "" : resource.registrations.back().endpoint;
    reply.json["resources"][name] = {{"capacity", resource.capacity},
                                     {"allocatable", resource.allocatable},
                                     {"attached", resource.attached},
                                     {"endpoint", endpoint},
                                     {"registrations", resource.registrations.size()},
                                     {"lists", resource.lists}};
    reply.text += name + ": capacity " + std::to_string(resource.capacity) + ", allocatable " +
                  std::to_string(resource.allocatable) + "\n";
  }
  return reply;
}

Commands::Reply Commands::devices(const Words& arguments) {
  const KubeletState state = kubelet_.state();
  if (!arguments.empty() && !state.resources.contains(arguments[0]))
    return Reply::failed(arguments[0] + " has never registered");
  Reply reply;
  reply.json["devices"] = Json::Array();
  for (const auto& [name, resource] : state.resources) {
    if (!arguments.empty() && name != arguments[0]) continue;
    for (const ListedDevice& device : *resource.devices) {
      reply.json["devices"].push_back(
          {{"resource", name}, {"id", device.id}, {"healthy", device.healthy}, {"numa", device.numa_nodes}});
      reply.text += name + ": " + device.id + (device.healthy ? ": Healthy\n" : ": Unhealthy\n");
    }
  }
  return reply;
}

Commands::Reply Commands::allocate(const Words& arguments) {
  const std::string& resource = arguments[0];
  const std::string& what = arguments[1];
  const std::string pod = arguments.size() > 2 ? arguments[2] : "pod-" + std::to_string(next_pod_++);
  const bool is_count =
      what.size() <= 9 && std::ranges::all_of(what, [](unsigned char c) { return std::isdigit(c) != 0; });
  const Admission admission = is_count ? kubelet_.allocate(pod, kContainer, resource, std::stoul(what))
                                       : kubelet_.allocate_named(pod, kContainer, resource, split(what, ','));
  if (!admission.admitted()) return Reply::failed(admission.error);
  Reply reply;
  reply.json = {
      {"pod", pod}, {"resource", resource}, {"ids", admission.ids}, {"response", json_of(admission.answer)}};
  reply.text = pod + " holds " + joined(admission.ids, ", ") + " of " + resource + "\n" +
               text_of(admission.answer, "  ");
  return reply;
}

Commands::Reply Commands::start(const Words& arguments) {
  const std::string error = kubelet_.start_container(arguments[0]);
  return error.empty() ? Reply::done(arguments[0] + " has started") : Reply::failed(error);
}

Commands::Reply Commands::free(const Words& arguments) {
  return kubelet_.free(arguments[0]) ? Reply::done(arguments[0] + " is gone")
                                     : Reply::failed("there is no pod " + arguments[0]);
}

Commands::Reply Commands::pods(const Words&) {
  Reply reply;
  reply.json["pods"] = Json::Array();
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
    reply.text += held.pod + " holds " + joined(ids, ", ") + " of " + held.resource + "\n";
  }
  return reply;
}

Commands::Reply Commands::cancel(const Words& arguments) {
  return kubelet_.cancel_stream(arguments[0]) ? Reply{} : Reply::failed(arguments[0] + " has no stream");
}

Commands::Reply Commands::restart(const Words&) {
  kubelet_.restart();
  return {};
}

Commands::Reply Commands::stop(const Words&) {
  kubelet_.stop();
  return {};
}

}  // namespace plughost
