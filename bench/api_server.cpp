#include "api_server.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bed.hpp"
#include "child.hpp"
#include "figures.hpp"
#include "unit/kubernetes/apiserver/fake_cluster.hpp"

namespace plughost::bench {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kResources = 64;
constexpr auto kRest = 3s;  // time in which the daemon frees the memory that only its start needed
constexpr auto kWatched = 20s;

void run(const std::string& command) {
  if (std::system(command.c_str()) != 0) throw std::runtime_error(command + " failed");
}

// Creates certificates for the server and for the daemon in `directory`.
void make_certificates(const std::string& directory) {
  const std::string make =
      "cd " + directory +
      " && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 ";
  const std::string issued =
      " -CA ca.crt -CAkey ca.key -addext basicConstraints=critical,CA:false 2>/dev/null";
  run(make + "-subj /CN=ca -keyout ca.key -out ca.crt 2>/dev/null");
  run(make + "-subj /CN=apiserver -keyout server.key -out server.crt -addext subjectAltName=IP:127.0.0.1" +
      issued);
  run(make + "-subj /O=system:nodes/CN=system:node:worker-1 -keyout us.key -out us.crt" + issued);
}

// Accepts TLS and forwards it to the API server's port. The destructor ends it.
class TlsFront {
 public:
  TlsFront(const std::string& directory, std::uint16_t port) {
    const std::string command = "cd " + directory +
                                " && " PLUGHOST_SOURCE_DIR "/tests/fakes/apiserver/tls_front.py " +
                                std::to_string(port) + " server.crt server.key ca.crt & echo pid $!; wait";
    output_ = ::popen(command.c_str(), "r");
    if (!output_) throw std::runtime_error("popen " + command);
    char word[8];
    int number = 0;
    while (port_ == 0 || pid_ == 0) {
      if (std::fscanf(output_, "%7s %d", word, &number) != 2) throw std::runtime_error(command + " failed");
      (std::string_view(word) == "pid" ? pid_ : port_) = number;
    }
  }
  ~TlsFront() {
    ::kill(pid_, SIGTERM);
    ::pclose(output_);
  }
  TlsFront(const TlsFront&) = delete;
  TlsFront& operator=(const TlsFront&) = delete;

  std::string url() const { return "https://127.0.0.1:" + std::to_string(port_); }

 private:
  FILE* output_ = nullptr;
  pid_t pid_ = 0;
  int port_ = 0;
};

// The resources that an idle daemon uses.
struct Cost {
  double memory = 0;       // MB
  double descriptors = 0;  // number of open ones
  double wakeups = 0;      // during kWatched
};

Cost cost(const Bed& bed, const std::function<bool()>& settled) {
  StandInKubelet kubelet({.directory = bed.plugins()});
  const Child daemon(bed.config(), bed.plugins());
  wait(kubelet, "attachment", [](const KubeletState& state) {
    for (std::size_t n = 0; n < kResources; ++n) {
      if (state.of(resource_name(n)).lists == 0) return false;
    }
    return true;
  });
  for (const auto end = Clock::now() + kPatience; !settled();) {
    if (Clock::now() > end) give_up("the API server's watch");
    std::this_thread::sleep_for(20ms);
  }
  std::this_thread::sleep_for(kRest);
  const auto before = daemon.wakeups();
  std::this_thread::sleep_for(kWatched);
  return {.memory = daemon.memory().anonymous / 1024,
          .descriptors = static_cast<double>(daemon.descriptors()),
          .wakeups = static_cast<double>(daemon.wakeups() - before)};
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream text(file);
  return {std::istreambuf_iterator<char>(text), {}};
}

double middle(const std::vector<Cost>& costs, double Cost::*part) {
  std::vector<double> values;
  for (const Cost& each : costs) values.push_back(each.*part);
  return median(values);
}

double most(const std::vector<Cost>& costs, double Cost::*part) {
  return (*std::ranges::max_element(costs, {}, part)).*part;
}

void print_costs(const std::string& what, const std::vector<Cost>& costs, const std::vector<Cost>& without) {
  const auto row = [&](const std::string& of, const std::string& unit, double Cost::*part) {
    print({what + ": " + of, unit, middle(costs, part), most(costs, part), middle(without, part),
           "without the key:", costs.size()});
  };
  row("private memory (RssAnon)", "MB", &Cost::memory);
  row("open descriptors", "", &Cost::descriptors);
  row("voluntary context switches in " + std::to_string(kWatched.count()) + " s", "", &Cost::wakeups);
}

}  // namespace

void measure_api_server(std::size_t rounds) {
  const test::TempDir directory;
  make_certificates(directory.path());
  test::FakeCluster cluster;
  cluster.label("rack", "a");
  const TlsFront front(directory.path(), cluster.port());
  directory.file("kubeconfig",
                 "current-context: c\ncontexts:\n- name: c\n  context: {cluster: k, user: u}\n"
                 "clusters:\n- name: k\n  cluster: {certificate-authority: ca.crt, server: \"" +
                     front.url() +
                     "\"}\nusers:\n- name: u\n  user: {client-certificate: us.crt, client-key: us.key}\n");
  const std::string key = "apiServer: {kubeconfig: " + directory.at("kubeconfig").string() + "}\n";
  const std::string labelled = "- {name: bench.example.com/labelled, count: 8, when: {label: {rack: a}}}\n";
  // Replaces the labelled entry, so that each configuration has the same number of resources.
  const std::string alike = "- {name: bench.example.com/labelled, count: 8}\n";
  const Bed bed;
  bed.write_counts(kResources, 8);
  const std::string entries = text_of(bed.config());
  std::vector<Cost> without;
  std::vector<Cost> unused;
  std::vector<Cost> used;
  for (std::size_t round = 0; round < rounds; ++round) {
    bed.write_config(entries + alike);
    without.push_back(cost(bed, [] { return true; }));
    bed.write_config(key + entries + alike);
    unused.push_back(cost(bed, [] { return true; }));
    bed.write_config(key + "events: true\n" + entries + labelled);
    // Settled after two requests: the list, and then the watch.
    const std::size_t asked = cluster.asked("GET /api/v1/nodes?");
    used.push_back(cost(bed, [&] { return cluster.asked("GET /api/v1/nodes?") >= asked + 2; }));
  }
  const std::string of = std::to_string(kResources + 1) + " resources of 8, ";
  print_costs(of + "`apiServer` that nothing needs", unused, without);
  print_costs(of + "labels of the Node and Events by TLS", used, without);
}

}  // namespace plughost::bench
