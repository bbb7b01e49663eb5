// plughost-kubelet: a stand-in kubelet that accepts registrations, prints each changed list of devices, and
// allocates on request.

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstring>
#include <iostream>
#include <thread>

#include "base/system/event_loop.hpp"
#include "kubelet/commands.hpp"

namespace plughost {
namespace {

// Runs the lines of standard input until its end, or until `wake` becomes readable. Uses poll, because epoll
// does not accept regular files.
void read_commands(const UniqueFd& wake, const std::function<void(const std::string&)>& run) {
  std::string pending;
  for (;;) {
    std::array<pollfd, 2> ready{{{STDIN_FILENO, POLLIN, 0}, {wake.get(), POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), -1) < 0) continue;
    if (ready[1].revents != 0) return;
    std::array<char, 4096> buffer{};
    const auto size = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    pending.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    if (size <= 0 && !pending.empty()) pending += '\n';
    for (std::size_t end = 0; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1))
      run(pending.substr(0, end));
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

struct Options {
  std::string directory = "/var/lib/kubelet/device-plugins";
  std::string plugins_registry;  // empty: the directory is not watched
  std::string pod_resources;     // empty: the API is not served
  std::string pods_api;          // empty: a kubelet up to 1.36
  bool json = false;
  bool older = false;
  bool stay = false;
};

int kubelet(const Options& options) {
  // The stand-in replaces kubelet.sock and removes the plugins' sockets, so it must not run beside a kubelet.
  const auto socket = std::filesystem::path(options.directory) / "kubelet.sock";
  if (somebody_listens(socket)) {
    std::cerr << "plughost-kubelet: a kubelet listens on " << socket.string() << " already\n";
    return 1;
  }
  block_signals({SIGINT, SIGTERM});
  EventLoop loop;
  const SignalWatch signals(loop, {SIGINT, SIGTERM}, [&](int) { loop.stop(); });
  Output output(options.json);
  StandInKubelet kubelet(
      {.directory = options.directory,
       .plugins_registry = options.plugins_registry,
       .pod_resources = options.pod_resources,
       .pods_api = options.pods_api,
       .clearing = options.older ? StandInKubelet::Clearing::kEverything : StandInKubelet::Clearing::kSockets,
       .registering = options.older              ? StandInKubelet::Registering::kAnswersFirst
                      : options.pods_api.empty() ? StandInKubelet::Registering::kDialsBeforeAnswer
                                                 : StandInKubelet::Registering::kBySocket},
      [&](const KubeletEvent& event) { output.show(event); });

  const UniqueFd wake{check(::eventfd(0, EFD_CLOEXEC), "eventfd")};
  std::thread reader([&, post = loop.poster()] {
    Commands commands(kubelet, output);
    read_commands(wake, [&](const std::string& line) { commands.run(line); });
    if (!options.stay) post([&] { loop.stop(); });
  });
  loop.run();
  kubelet.stop();  // ends a call for which a command still waits
  ::eventfd_write(wake.get(), 1);
  reader.join();
  return 0;
}

}  // namespace
}  // namespace plughost

int main(int argc, char** argv) {
  CLI::App app("a stand-in kubelet: registrations and lists live, allocations on request",
               "plughost-kubelet");
  plughost::Options options;
  app.set_version_flag("--version", "plughost-kubelet " PLUGHOST_VERSION);
  app.add_option("--plugin-directory", options.directory, "directory in which plugins register")
      ->capture_default_str();
  app.add_option("--plugins-registry", options.plugins_registry, "also search this directory for plugins");
  app.add_option("--pod-resources", options.pod_resources, "serve the pod resources API on this socket");
  app.add_option("--pods-api", options.pods_api,
                 "act as Kubernetes 1.37 does: several plugins may have one resource; listen on this socket");
  app.add_flag("--json", options.json, "one JSON object per line");
  app.add_flag("--older", options.older,
               "act as old kubelets do: answer Register before dialing, and remove all files at the start");
  app.add_flag("--stay", options.stay, "keep running after the end of standard input");
  app.footer(plughost::Commands::help());
  try {
    app.parse(argc, argv);
    return plughost::kubelet(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::cerr << "plughost-kubelet: " << error.what() << '\n';
    return 1;
  }
}
