#include "kinds/gpu/terms.hpp"

#include <cstdint>
#include <cstdlib>

#include "base/text/text.hpp"
#include "base/text/words.hpp"
#include "model/allocate/cdi.hpp"
#include "model/assume/pod.hpp"
#include "model/device/label.hpp"

namespace plughost {
namespace {

const std::string kVolumeRoot = "/var/run/nvidia-container-devices";

MountSpec volume(const std::string& below) {
  return {.host_path = Template("/dev/null"), .container_path = Template(kVolumeRoot + '/' + below)};
}

std::string imex_cdi_name(const std::string& channel) {
  return std::string(kNvidiaCdiVendor) + "/imex-channel=" + channel;
}

void add_cdi(const NvidiaInjection& injection, KindSpec& spec) {
  std::vector<std::string> channels;
  for (const std::string& channel : injection.imex_channels) channels.push_back(imex_cdi_name(channel));
  const auto add = [&](CdiNames way) { add_cdi_names(spec, way, "nvidia-device-plugin", "{cdi}", channels); };
  if (injection.cdi_annotations) add(CdiNames::kAnnotations);
  if (injection.cdi_cri) add(CdiNames::kCri);
}

// Adds what the clients of NVIDIA's MPS daemon need.
void add_mps(const NvidiaInjection& injection, KindSpec& spec) {
  const std::string root = Template::escape(injection.mps_root);
  spec.env.emplace_back(Template("CUDA_MPS_PIPE_DIRECTORY"), Template("/mps/{resource}/pipe"));
  spec.mounts.push_back(
      {.host_path = Template(root + "/{resource}/pipe"), .container_path = Template("/mps/{resource}/pipe")});
  spec.mounts.push_back({.host_path = Template(root + "/shm"), .container_path = Template("/dev/shm")});
}

constexpr Word<GpuVendor> kVendors[] = {{"auto", GpuVendor::kAuto},
                                        {"nvidia", GpuVendor::kNvidia},
                                        {"amd", GpuVendor::kAmd},
                                        {"intel", GpuVendor::kIntel},
                                        {"iluvatar", GpuVendor::kIluvatar}};
constexpr std::string_view kStrategyWords[] = {"envvar", "volume-mounts", "cdi-annotations", "cdi-cri"};
constexpr Word<bool NvidiaInjection::*> kStrategies[] = {
    {"envvar", &NvidiaInjection::envvar},
    {"volume-mounts", &NvidiaInjection::volume_mounts},
    {"cdi-annotations", &NvidiaInjection::cdi_annotations},
    {"cdi-cri", &NvidiaInjection::cdi_cri}};
constexpr Word<bool> kByIndex[] = {{"uuid", false}, {"index", true}};
constexpr Word<MigStrategy> kMigStrategies[] = {
    {"none", MigStrategy::kNone}, {"single", MigStrategy::kSingle}, {"mixed", MigStrategy::kMixed}};
constexpr std::uint64_t kMiB = CardUnit::kMiB;
constexpr unsigned kLastXid = 10'000;
constexpr unsigned kLastChannel = 2047;

std::uint64_t read_memory(Fields& fields) {
  const std::string text = fields.text("memory", "");
  const std::uint64_t scale = text.ends_with("GiB") ? 1024 * kMiB : text.ends_with("MiB") ? kMiB : 0;
  const std::string_view digits = std::string_view(text).substr(0, scale > 0 ? text.size() - 3 : 0);
  const auto number = number_in<std::uint64_t>(digits, 1024 * 1024);
  if (number && *number > 0) return *number * scale;
  fields.error("memory", quote(text) + " is not an amount of memory such as 1GiB or 512MiB");
  return 0;
}

CardUnit read_unit(Fields& entry) {
  CardUnit unit;
  if (!entry.has("unit")) return unit;
  Fields fields = entry.below("unit");
  const bool memory = fields.has("memory");
  const bool cores = fields.has("cores");
  if (memory == cores) {
    fields.error("memory",
                 "a unit is an amount of memory or a number of cores, as in {memory: 1GiB} or {cores: 10}");
    return unit;
  }
  if (memory) unit.memory = read_memory(fields);
  if (cores) unit.cores = fields.number("cores", 1, 1, kCoresOfACard);
  return unit;
}

void read_strategies(Fields& fields, NvidiaInjection& injection) {
  if (!fields.has("deviceListStrategy")) return;
  injection.envvar = false;
  const std::vector<std::string> words = fields.texts("deviceListStrategy");
  for (const std::string& word : words) {
    if (const auto flag = value_of(kStrategies, word))
      injection.*(*flag) = true;
    else
      fields.error("deviceListStrategy",
                   quote(word) +
                       " is not a strategy; valid: envvar, volume-mounts, cdi-annotations, cdi-cri" +
                       did_you_mean(word, kStrategyWords));
  }
  if (words.empty()) fields.error("deviceListStrategy", "name at least one strategy, such as envvar");
}

XidPolicy read_xids(Fields& fields) {
  XidPolicy policy;
  if (fields.has("ignoredXids")) {
    policy.ignored.clear();
    for (const std::string& word : fields.texts("ignoredXids")) {
      if (const auto xid = number_in(word, kLastXid))
        policy.ignored.insert(*xid);
      else
        fields.error("ignoredXids", quote(word) + " is no XID; they are numbers, as in [13, 31]");
    }
  }
  // These are the variables that NVIDIA's plugin reads.
  if (const char* const words = std::getenv("DP_DISABLE_HEALTHCHECKS")) policy.disable(words);
  if (const char* const words = std::getenv("DP_ENABLE_HEALTHCHECKS")) policy.enable(words);
  return policy;
}

void read_channels(Fields& fields, NvidiaInjection& injection) {
  for (const std::string& word : fields.texts("imexChannels")) {
    if (const auto channel = number_in(word, kLastChannel))
      injection.imex_channels.push_back(std::to_string(*channel));
    else
      fields.error("imexChannels", quote(word) + " is no IMEX channel; they are numbers from 0 to 2047");
  }
}

constexpr Word<CardIs> kCardIs[] = {{"uuid", CardIs::kUuid}, {"index", CardIs::kIndex}};
constexpr Word<Identify> kIdentify[] = {{"late", Identify::kLate}, {"guess", Identify::kGuess}};

void read_names(Fields& fields, AssumeTerms& terms) {
  const auto read = [&](std::string_view key, std::string AssumeNames::*name) {
    if (!fields.has(key)) return;
    const std::string text = fields.require_text(key);
    if (const std::string error = label_key_error(text); !text.empty() && !error.empty())
      fields.error(key, quote(text) + " is not a name of an annotation. " + error);
    for (AssumeNames& names : terms.names) names.*name = text;
  };
  read("time", &AssumeNames::time);
  read("assigned", &AssumeNames::assigned);
  read("card", &AssumeNames::card);
}

}  // namespace

std::shared_ptr<const KindSpec> nvidia_spec(const NvidiaInjection& injection) {
  KindSpec spec;
  const auto set = [&](std::string_view name, std::string_view value) {
    spec.env.emplace_back(Template(name), Template(value));
  };
  add_cdi(injection, spec);
  if (injection.mps) add_mps(injection, spec);
  // With both strategies, the variable refers to the volumes.
  if (injection.volume_mounts)
    set("NVIDIA_VISIBLE_DEVICES", kVolumeRoot);
  else if (injection.envvar)
    set("NVIDIA_VISIBLE_DEVICES", "{visible}");
  if (injection.volume_mounts) spec.mounts.push_back(volume("{visible}"));
  for (const std::string& channel : injection.imex_channels) {
    const Template node("/dev/nvidia-caps-imex-channels/channel" + channel);
    if (injection.volume_mounts) spec.mounts.push_back(volume("imex/" + channel));
    if (injection.pass_device_specs) spec.nodes.push_back({.host_path = node, .container_path = node});
  }
  if (injection.envvar && !injection.imex_channels.empty())
    set("NVIDIA_IMEX_CHANNELS", joined(injection.imex_channels, ","));
  if (injection.gds) set("NVIDIA_GDS", "enabled");
  if (injection.mofed) set("NVIDIA_MOFED", "enabled");
  if (injection.gdrcopy) set("NVIDIA_GDRCOPY", "enabled");
  return std::make_shared<const KindSpec>(std::move(spec));
}

std::string nvidia_cdi_name(const std::string& visible) {
  return std::string(kNvidiaCdiVendor) + "/gpu=" + visible;
}

GpuTerms read_gpu_terms(Fields& fields) {
  GpuTerms terms;
  terms.vendor = fields.choice("vendor", kVendors, GpuVendor::kAuto);
  NvidiaInjection& injection = terms.injection;
  read_strategies(fields, injection);
  injection.by_index = fields.choice("deviceIDStrategy", kByIndex, false);
  injection.pass_device_specs = fields.flag("passDeviceSpecs", false);
  injection.gds = fields.flag("gds", false);
  injection.mofed = fields.flag("mofed", false);
  injection.gdrcopy = fields.flag("gdrcopy", false);
  injection.mps = fields.flag("mps", false);
  injection.mps_root = fields.absolute_path("mpsRoot", injection.mps_root);
  read_channels(fields, injection);
  terms.nvidia_ctk = fields.absolute_path("nvidiaCtk", "");
  terms.nvidia.driver_root = fields.absolute_path("driverRoot", "");
  if (terms.nvidia.driver_root == "/") terms.nvidia.driver_root.clear();
  terms.nvidia.mig = fields.choice("mig", kMigStrategies, MigStrategy::kNone);
  terms.nvidia.health_checks = fields.flag("healthChecks", true);
  terms.nvidia.xids = read_xids(fields);
  terms.unit = read_unit(fields);
  terms.span_cards = fields.flag("spanCards", false);
  if (fields.has("spanCards") && !fields.has("unit"))
    fields.error("spanCards",
                 "it is about units, and without `unit` an id is a whole card; a container may have several "
                 "cards anyway");
  if (injection.mps && terms.nvidia.mig != MigStrategy::kNone)
    fields.error("mps", "MPS and MIG exclude each other; leave one of them out");
  return terms;
}

std::optional<AssumeTerms> read_assume(Fields& entry, const GpuTerms& terms) {
  if (!entry.has("assume")) return std::nullopt;
  if (terms.unit.memory == 0)
    entry.error(
        "assume",
        "a scheduler that chooses cards counts units of their memory: set the size of one, as in gpu: "
        "{unit: {memory: 1GiB}}");
  Fields fields = entry.below("assume");
  if (!fields.has("dialect"))
    fields.error("dialect", "set the scheduler's dialect: doslab, gpushare or volcano");
  AssumeTerms assume = terms_of(fields.choice("dialect", kDialects, Dialect::kDoslab));
  read_names(fields, assume);
  assume.card_is = fields.choice("cardIs", kCardIs, assume.card_is);
  if (fields.has("identify")) assume.identify = fields.choice("identify", kIdentify, Identify::kGuess);
  assume.only_card = fields.flag("onlyCard", false);
  assume.answer_without_card = fields.flag("answerWithoutCard", false);
  if (assume.answer_without_card && assume.dialect != Dialect::kGpushare)
    fields.error("answerWithoutCard",
                 "only gpushare has such an answer; elsewhere a container that has no card does not start");
  assume.sets_visible = terms.injection.envvar && !terms.injection.volume_mounts;
  assume.unit = terms.unit.memory / CardUnit::kMiB;
  return assume;
}

}  // namespace plughost
