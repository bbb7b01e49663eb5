#include "kubelet/console.hpp"

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

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

std::string table_text(const TableRow& head, const std::vector<TableRow>& rows, const std::string& if_none) {
  if (rows.empty()) return if_none + "\n";
  std::ostringstream text;
  print_table(text, head, rows);
  return text.str();
}

}  // namespace

void Screen::show(const Json& json, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (json_) {
    std::cout << json.dump() << '\n';
  } else {
    std::cout << (prompt_ ? "\r" : "") << text << (prompt_ ? "> " : "");
  }
  std::cout.flush();
}

void Screen::show(const KubeletEvent& event) { show(json_of(event), text_of(event) + "\n"); }

// What a command answers.
struct Console::Reply {
  Json json = Json::Object();
  std::string text;  // whole lines
  std::string error;

  static Reply failed(std::string error) {
    Reply reply;
    reply.error = std::move(error);
    return reply;
  }
  static Reply done(const std::string& text) { return {Json::Object(), text + "\n", {}}; }
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
      reply = Reply::failed("there is no command '" + name + "': try help");
    } else if (words.size() < command->least || words.size() > command->most) {
      reply = Reply::failed(std::string("usage: ") + command->name + " " + command->arguments);
    } else {
      reply = (this->*command->run)(words);
    }
  } catch (const std::exception& error) {
    reply = Reply::failed(error.what());
  }
  Json json{{"answer", name}, {"ok", reply.error.empty()}};
  if (!reply.error.empty()) json["error"] = reply.error;
  for (const auto& [member, value] : reply.json.object()) json[member] = value;
  screen_.show(json, reply.error.empty() ? reply.text : name + ": " + reply.error + "\n");
  return !enough_;
}

Console::Reply Console::help(const Words&) {
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

Console::Reply Console::resources(const Words&) {
  Reply reply;
  reply.json["resources"] = Json::Object();
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

Console::Reply Console::devices(const Words& arguments) {
  const KubeletState state = kubelet_.state();
  if (!arguments.empty() && !state.resources.contains(arguments[0]))
    return Reply::failed(arguments[0] + " has never registered");
  Reply reply;
  reply.json["devices"] = Json::Array();
  std::vector<TableRow> rows;
  for (const auto& [name, resource] : state.resources) {
    if (!arguments.empty() && name != arguments[0]) continue;
    for (const ListedDevice& device : *resource.devices) {
      reply.json["devices"].push_back(
          {{"resource", name}, {"id", device.id}, {"healthy", device.healthy}, {"numa", device.numa_nodes}});
      rows.push_back(
          {name, device.id, device.healthy ? "Healthy" : "Unhealthy", joined(device.numa_nodes, ", ")});
    }
  }
  reply.text = table_text({"RESOURCE", "DEVICE", "HEALTH", "NUMA"}, rows, "no devices");
  return reply;
}

Console::Reply Console::allocate(const Words& arguments) {
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

Console::Reply Console::start(const Words& arguments) {
  const std::string error = kubelet_.start_container(arguments[0]);
  return error.empty() ? Reply::done(arguments[0] + " has started") : Reply::failed(error);
}

Console::Reply Console::free(const Words& arguments) {
  return kubelet_.free(arguments[0]) ? Reply::done(arguments[0] + " is gone")
                                     : Reply::failed("there is no pod " + arguments[0]);
}

Console::Reply Console::pods(const Words&) {
  Reply reply;
  reply.json["pods"] = Json::Array();
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
    rows.push_back({held.pod, held.container, held.resource, joined(ids, ", ")});
  }
  reply.text = table_text({"POD", "CONTAINER", "RESOURCE", "DEVICES"}, rows, "no pod holds a device");
  return reply;
}

Console::Reply Console::cancel(const Words& arguments) {
  return kubelet_.cancel_stream(arguments[0]) ? Reply{} : Reply::failed(arguments[0] + " has no stream");
}

Console::Reply Console::restart(const Words&) {
  kubelet_.restart();
  return {};
}

Console::Reply Console::stop(const Words&) {
  kubelet_.stop();
  return {};
}

Console::Reply Console::quit(const Words&) {
  enough_ = true;
  return {};
}

}  // namespace plughost
