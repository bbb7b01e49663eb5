#include "pods.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>

#include "bed.hpp"
#include "figures.hpp"
#include "kubernetes/pods/pod_search.hpp"
#include "kubernetes/pods/pod_source.hpp"
#include "model/assume/pod.hpp"
#include "unit/kubernetes/apiserver/fake_api_server.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost::bench {

using namespace std::chrono_literals;
using test::FakeApiServer;
using test::FakeConnection;
using test::FakeRequest;

namespace {

constexpr std::size_t kLive = 1000;
constexpr std::size_t kEnded = 9000;
constexpr std::size_t kPage = 500;
constexpr std::size_t kPodBytes = 14'000;
constexpr const char* kResource = "aliyun.com/gpu-mem";

// Returns a pod of about `bytes` bytes. Most of them are environment variables with short values.
std::string pod(const std::string& name, const std::string& phase, std::size_t bytes) {
  std::string text =
      R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name +
      R"(","resourceVersion":"11","creationTimestamp":"2026-11-23T12:00:00Z","annotations":{)"
      R"("ALIYUN_COM_GPU_MEM_ASSUME_TIME":"1","ALIYUN_COM_GPU_MEM_IDX":"0"}},"spec":{"containers":[)"
      R"({"name":"c0","resources":{"limits":{"aliyun.com/gpu-mem":"2"}},"env":[{"name":"x"})";
  while (text.size() < bytes) text += R"(,{"name":"SOME_VARIABLE","value":"and what it is worth"})";
  return text + R"(]}]},"status":{"phase":")" + phase + R"("}})";
}

// Returns the page of the list that begins at pod `from`. The pods that have ended are the last in the list.
std::string page(std::size_t from, std::size_t pods) {
  std::string text = R"({"kind":"PodList","metadata":{"resourceVersion":"10")";
  if (from + kPage < pods) text += R"(,"continue":")" + std::to_string(from + kPage) + '"';
  text += R"(},"items":[)";
  for (std::size_t i = from; i < std::min(from + kPage, pods); ++i) {
    const std::size_t bytes = i == 100   ? std::size_t{4} << 20u
                              : i == 200 ? std::size_t{64} << 20u
                                         : kPodBytes;
    text += (i == from ? "" : ",") + pod("p" + std::to_string(i), i < kLive ? "Running" : "Succeeded", bytes);
  }
  return text + "]}";
}

std::string event(const std::string& object) { return R"({"type":"MODIFIED","object":)" + object + "}\n"; }

void serve(int port_pipe) {
  const std::string events = event(pod("p100", "Running", std::size_t{4} << 20u)) +
                             event(pod("p200", "Running", std::size_t{64} << 20u)) +
                             event(pod("last", "Pending", kPodBytes));
  FakeApiServer server([&](const FakeRequest& request, FakeConnection& out) {
    const auto has = [&](const std::string& part) { return request.target.find(part) != std::string::npos; };
    if (!has("watch=true")) {
      const std::size_t pods = has("status.phase%21%3DSucceeded") ? kLive : kLive + kEnded;
      const std::size_t more = request.target.find("continue=");
      return out.answer(
          200, page(more == std::string::npos ? 0 : std::stoul(request.target.substr(more + 9)), pods));
    }
    out.begin();
    out.chunk(events);
    out.wait_for_close();
  });
  const std::uint16_t port = server.port();
  if (::write(port_pipe, &port, sizeof port) != sizeof port) return;
  ::pause();
}

double thread_ms() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

double status_mb(const std::string& name) {
  std::ifstream text("/proc/self/status");
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1)) / 1024;
  }
  return 0;
}

void measure(std::uint16_t port) {
  const std::string what = "10,000 pods, 9,000 ended, one of 4 MiB, one of 64 MiB: ";
  test::TempDir directory;
  directory.file("kubeconfig",
                 "current-context: c\ncontexts:\n- name: c\n  context: {cluster: k, user: u}\nclusters:\n"
                 "- name: k\n  cluster: {server: \"http://127.0.0.1:" +
                     std::to_string(port) + "\"}\nusers:\n- name: u\n  user: {token: secret}\n");
  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kJson};
  Workers workers(loop, 4);
  Programs programs(loop);
  ApiServer server(loop, workers, programs, log);
  server.use(ApiServerConfig{.kubeconfig = directory.at("kubeconfig"), .node = "worker-1", .where = {}});
  const double before = status_mb("VmRSS");
  PodSource source(loop, server, directory.at("none.sock"));
  PodSearch pods(loop, source, kResource, terms_of(Dialect::kGpushare), [](bool) {});
  double longest = 0;
  double last = thread_ms();
  Timer tick(loop, [&] {
    const double now = thread_ms();
    longest = std::max(longest, now - last);
    last = now;
    tick.arm(0ms);
  });
  tick.arm(0ms);
  const auto start = Clock::now();
  const bool done = test::run_until(
      loop, [&] { return pods.book().find("last") != nullptr; }, 120s);
  if (!done) give_up("the last pod");
  print({what + "the longest that the loop is held (CPU time)", "ms", longest, longest, 10, "limit"});
  print({what + "memory at its highest, beyond what it was before", "MB", status_mb("VmHWM") - before,
         status_mb("VmHWM") - before, 64, "limit"});
  print({what + "until all are known", "ms", ms_between(start, Clock::now()), ms_between(start, Clock::now()),
         10'000, "limit"});
}

}  // namespace

// Runs the server in a separate process, so that its texts do not count as this process's memory.
int run_pods() {
  int ends[2];
  if (::pipe(ends) != 0) return 1;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent) serve(ends[1]);
    ::_exit(1);
  }
  int failed = 1;
  try {
    std::uint16_t port = 0;
    if (::read(ends[0], &port, sizeof port) == sizeof port) {
      measure(port);
      failed = 0;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return failed;
}

}  // namespace plughost::bench
