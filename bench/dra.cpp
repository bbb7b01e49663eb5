#include "dra.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <variant>
#include <vector>

#include "apiserver/api_json.hpp"
#include "bed.hpp"
#include "child.hpp"
#include "dra/names.hpp"
#include "figures.hpp"
#include "slices_shown.hpp"
#include "unit/apiserver/fake_objects.hpp"

namespace plughost::bench {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr const char* kNode = test::FakeObjects::kNode;
constexpr const char* kDriver = "plughost.bench.example.com";
constexpr std::size_t kClaimed = 8;  // devices of a claim
constexpr auto kQuiet = 1500ms;      // the longest pause between two writes of a pool is over

std::string device(std::size_t n) {
  return "device-" + std::to_string(n);
}

// Which server it is, and what of it is seen.
struct Server {
  std::string kubeconfig;
  std::string prefix;  // of what is printed
  SlicesShown& shown;
};

// A node that offers devices by the server; its slices are gone at its end.
class DraNode {
 public:
  explicit DraNode(const Server& server)
      : server_(server), kubelet_({.directory = bed_.plugins(), .plugins_registry = registry()}) {
    fs::create_directory(bed_.devices());
  }
  ~DraNode() {
    daemon_.reset();
    if (publishes_) server_.shown.delete_all();
  }
  DraNode(const DraNode&) = delete;
  DraNode& operator=(const DraNode&) = delete;

  StandInKubelet& kubelet() { return kubelet_; }
  const Child& daemon() const { return *daemon_; }

  void plug_in(const std::string& name) const { std::ofstream(bed_.devices() / name); }
  void unplug(const std::string& name) const { fs::remove(bed_.devices() / name); }

  // The files that are plugged in, in one pool. When it started.
  Clock::time_point start_directory() {
    publishes_ = true;
    return start("resources:\n- {name: " + resource_name(0) + ", directory: {path: " +
                 bed_.devices().string() + "}, mounts: [{hostPath: \"{path}\"}], advertise: dra}\n");
  }
  // So many resources. advertise: "dra" or "plugin".
  Clock::time_point start_counts(std::size_t resources, std::size_t devices, const std::string& advertise) {
    publishes_ = advertise == "dra";
    // The condition has plugins watch their Node, too.
    std::string text =
        "events: true\nresources:\n- {name: bench.example.com/elsewhere, count: 1, when: {label: "
        "{rack: none}}}\n";
    for (std::size_t n = 0; n < resources; ++n)
      text += "- {name: " + resource_name(n) + ", count: " + std::to_string(devices) +
              ", advertise: " + advertise + ", env: {\"DEVICES_{resource}\": \"{id}\"}}\n";
    return start(text);
  }
  // Nothing of the API server.
  void start_plugins_alone(std::size_t resources, std::size_t devices) {
    bed_.write_counts(resources, devices);
    daemon_ = std::make_unique<Child>(bed_.config(), bed_.plugins());
  }

  void wait_for_driver() const {
    wait(kubelet_, "the driver's registration", [](const KubeletState& state) {
      const auto& endpoints = state.driver(kDriver).endpoints;
      return !endpoints.empty() && endpoints.back().connected;
    });
  }
  void wait_for_lists(std::size_t resources) const {
    wait(kubelet_, "attachment", [=](const KubeletState& state) {
      for (std::size_t n = 0; n < resources; ++n) {
        if (state.of(resource_name(n)).lists == 0) return false;
      }
      return true;
    });
  }

 private:
  fs::path registry() const {
    const fs::path path = bed_.plugins().parent_path() / "registry";
    fs::create_directory(path);
    return path;
  }
  Clock::time_point start(const std::string& rest) {
    bed_.write_config("kubelet: {pluginsRegistry: " + registry().string() +
                      "}\napiServer: {kubeconfig: " + server_.kubeconfig + ", node: " + kNode +
                      "}\ncdi: {directory: " + (bed_.plugins().parent_path() / "cdi").string() + "}\n" +
                      rest);
    const auto started = Clock::now();
    daemon_ = std::make_unique<Child>(bed_.config(), bed_.plugins());
    return started;
  }

  const Server& server_;
  const Bed bed_;
  StandInKubelet kubelet_;
  std::unique_ptr<Child> daemon_;
  bool publishes_ = false;
};

void print_ms(const Server& server, const std::string& what, const std::vector<double>& samples,
              double limit) {
  print({server.prefix + what, "ms", median(samples), *std::ranges::max_element(samples), limit, "limit",
         samples.size()});
}

void measure_published(const Server& server, std::size_t devices, std::size_t rounds) {
  std::vector<double> samples;
  for (std::size_t round = 0; round < rounds; ++round) {
    DraNode node(server);
    for (std::size_t n = 0; n < devices; ++n) node.plug_in(device(n));
    const auto start = node.start_directory();
    samples.push_back(ms_between(start, server.shown.wait_for(devices)));
  }
  print_ms(server, std::to_string(devices) + " devices: start → all published", samples, 2000);
}

void measure_plugging(const Server& server, std::size_t rounds) {
  constexpr std::size_t kDevices = 128;  // two slices
  DraNode node(server);
  for (std::size_t n = 0; n < kDevices; ++n) node.plug_in(device(n));
  node.start_directory();
  server.shown.wait_for(kDevices);
  std::vector<double> samples;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::this_thread::sleep_for(kQuiet);
    // Each goes and comes once: who does that again and again is not believed any more.
    const std::string name = device(round / 2 % kDevices);
    const auto start = Clock::now();
    if (round % 2 == 0)
      node.unplug(name);
    else
      node.plug_in(name);
    samples.push_back(ms_between(start, server.shown.wait_for(kDevices - 1 + round % 2)));
  }
  print_ms(server, "a device comes or goes → its slice is written", samples, 200);
}

void measure_storms(const Server& server, std::size_t rounds) {
  constexpr std::size_t kKept = 28;
  constexpr std::size_t kMoving = 100;
  DraNode node(server);
  for (std::size_t n = 0; n < kKept + kMoving; ++n) node.plug_in(device(n));
  node.start_directory();
  server.shown.wait_for(kKept + kMoving);
  std::vector<double> writes;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::this_thread::sleep_for(kQuiet);
    const std::size_t before = server.shown.changes();
    const auto start = Clock::now();
    for (std::size_t n = 0; n < kMoving; ++n) {
      std::this_thread::sleep_until(start + n * 1s / kMoving);
      if (round % 2 == 0)
        node.unplug(device(kKept + n));
      else
        node.plug_in(device(kKept + n));
    }
    server.shown.wait_for(round % 2 == 0 ? kKept : kKept + kMoving);
    writes.push_back(static_cast<double>(server.shown.changes() - before));
  }
  print({server.prefix + std::to_string(kMoving) + " devices come or go in a second: writes of slices", "",
         median(writes), *std::ranges::max_element(writes), 10, "limit", rounds});
}

Json named(const char* version, const char* kind, const std::string& name) {
  return {{"apiVersion", version}, {"kind", kind}, {"metadata", Json{{"name", name}}}};
}

// A claim as the scheduler leaves it for a pod on the node. Where it is.
std::string allocate(SlicesShown& shown, const std::string& name) {
  const std::string claims = std::string(SlicesShown::kGroup) + "/namespaces/default/resourceclaims";
  Json claim = named("resource.k8s.io/v1", "ResourceClaim", name);
  claim["metadata"]["namespace"] = "default";
  claim["spec"]["devices"]["requests"] =
      Json::Array{Json{{"name", "r"}, {"exactly", Json{{"deviceClassName", "bench"}, {"count", kClaimed}}}}};
  shown.create(claims, claim);
  // A node may read the claims of its pods.
  Json pod = named("v1", "Pod", name);
  pod["metadata"]["namespace"] = "default";
  pod["spec"] = Json{
      {"nodeName", kNode},
      {"resourceClaims", Json::Array{Json{{"name", "c"}, {"resourceClaimName", name}}}},
      {"containers", Json::Array{Json{{"name", "c"},
                                      {"image", "none"},
                                      {"resources", Json{{"claims", Json::Array{Json{{"name", "c"}}}}}}}}}};
  shown.create("/api/v1/namespaces/default/pods", pod);
  Json results = Json::Array();
  for (std::size_t n = 0; n < kClaimed; ++n)
    results.push_back(Json{{"request", "r"},
                           {"driver", kDriver},
                           {"pool", pool_name(kNode, resource_name(0))},
                           {"device", device_label(device(n))}});
  const Json status{
      {"status", Json{{"allocation", Json{{"devices", Json{{"results", results}}}}},
                      {"reservedFor",
                       Json::Array{Json{{"resource", "pods"}, {"name", name}, {"uid", "of-the-pod"}}}}}}};
  const ApiAnswer answer = shown
                               .ask({.verb = ApiVerb::kPatch,
                                     .path = claims + '/' + name + "/status",
                                     .content_type = ApiRequest::kMergePatch,
                                     .body = status.dump()})
                               .answer;
  if (!answer.ok()) throw std::runtime_error(answer.trouble);
  return claims + '/' + name;
}

void measure_prepare(const Server& server, std::size_t rounds) {
  DraNode node(server);
  for (std::size_t n = 0; n < kClaimed; ++n) node.plug_in(device(n));
  node.start_directory();
  server.shown.wait_for(kClaimed);
  node.wait_for_driver();
  const std::string path = allocate(server.shown, "bench");
  const auto read = parse_api_json(server.shown.ask({.path = path}).answer.body);
  const auto* const claim = std::get_if<Json>(&read);
  if (!claim) throw std::runtime_error(path + ": " + std::get<std::string>(read));
  const ClaimRef ref{.uid = (*claim)["metadata"]["uid"].text(), .name_space = "default", .name = "bench"};

  std::vector<double> prepare;
  std::vector<double> get;
  std::vector<double> beside;
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    const ClaimsAnswer answer = node.kubelet().prepare(kDriver, {ref});
    prepare.push_back(ms_between(start, Clock::now()));
    if (!answer.error.empty()) throw std::runtime_error("Prepare: " + answer.error);
    get.push_back(server.shown.ask({.path = path}).ms);
    beside.push_back(std::max(0.0, prepare.back() - get.back()));
    // What is prepared already is answered without a GET.
    if (const ClaimsAnswer end = node.kubelet().unprepare(kDriver, {ref}); !end.error.empty())
      throw std::runtime_error("Unprepare: " + end.error);
  }
  const std::string what = "Prepare of a claim with " + std::to_string(kClaimed) + " devices";
  print_ms(server, what + ", less the GET of it in the same round", beside, 5);
  print({server.prefix + what, "ms", median(prepare), *std::ranges::max_element(prepare), median(get),
         "the GET alone:", rounds});
}

void measure_memory(const Server& server, std::size_t resources, std::size_t devices) {
  DraNode dra(server);
  dra.start_counts(resources, devices, "dra");
  DraNode plugins(server);
  plugins.start_counts(resources, devices, "plugin");
  DraNode alone(server);
  alone.start_plugins_alone(resources, devices);
  server.shown.wait_for(resources * devices);
  dra.wait_for_driver();
  plugins.wait_for_lists(resources);
  alone.wait_for_lists(resources);
  std::this_thread::sleep_for(3s);  // a daemon gives back what its start has needed
  const auto private_mb = [](const DraNode& node) { return node.daemon().memory().anonymous / 1024; };
  const double found = private_mb(dra);
  const double as_plugins = private_mb(plugins);
  const std::string what = server.prefix + std::to_string(resources) + " × " + std::to_string(devices) +
                           " devices: private memory (RssAnon)";
  print({what + " more than as plugins", "MB", std::max(0.0, found - as_plugins), found - as_plugins, 2,
         "limit"});
  print({what, "MB", found, found, as_plugins, "as plugins that watch their Node:"});
  print({what, "MB", found, found, private_mb(alone), "as plugins without an API server:"});
}

void measure_rest(const Server& server, std::chrono::seconds duration) {
  constexpr std::size_t kResources = 64;
  constexpr std::size_t kDevices = 8;
  DraNode plugins(server);
  plugins.start_plugins_alone(kResources, kDevices);
  plugins.wait_for_lists(kResources);
  DraNode node(server);
  node.start_counts(kResources, kDevices, "dra");
  server.shown.wait_for(kResources * kDevices);
  node.wait_for_driver();
  std::this_thread::sleep_for(40s);  // connections of requests are closed after 30
  const auto before = node.daemon().wakeups();
  const auto before_plugins = plugins.daemon().wakeups();
  std::this_thread::sleep_for(duration);
  const auto woken = static_cast<double>(node.daemon().wakeups() - before);
  const auto woken_plugins = static_cast<double>(plugins.daemon().wakeups() - before_plugins);
  print({server.prefix + "idle for " + std::to_string(duration.count()) +
             " s: voluntary context switches of all threads",
         "", woken, woken, woken_plugins, "as plugins without an API server:"});
}

}  // namespace

void measure_dra(const std::optional<RealApiServer>& real, std::size_t rounds, std::chrono::seconds idle) {
  std::unique_ptr<test::FakeObjects> fake;
  const test::TempDir files;
  if (!real) fake = std::make_unique<test::FakeObjects>();
  SlicesShown shown(real ? real->administrator : fake->kubeconfig(files));
  shown.create("/api/v1/nodes", named("v1", "Node", kNode));
  const Server server{.kubeconfig = real ? real->node : fake->kubeconfig(files),
                      .prefix = real ? "DRA, kube-apiserver: " : "DRA: ",
                      .shown = shown};
  measure_published(server, 1000, rounds);
  measure_plugging(server, rounds);
  measure_storms(server, std::clamp<std::size_t>(rounds / 4, 1, 2));
  measure_prepare(server, rounds * 10);
  measure_memory(server, 1, 8);
  measure_memory(server, 64, 8);
  measure_memory(server, 1, 1000);
  if (idle > 0s) measure_rest(server, idle);
}

}  // namespace plughost::bench
