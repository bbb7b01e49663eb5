#include "host/hardware/nvml.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstdio>
#include <initializer_list>
#include <string_view>
#include <type_traits>

namespace plughost {
namespace {

// nvmlReturn_t
constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kTimeout = 10;
constexpr int kFunctionNotFound = 13;
constexpr int kGpuIsLost = 15;
constexpr int kResetRequired = 16;
constexpr int kVersionsDiffer = 18;

constexpr unsigned kTextSize = 128;  // more than NVML_DEVICE_UUID_V2_BUFFER_SIZE and …NAME_V2_BUFFER_SIZE
constexpr unsigned kRecoveryActionField = 230;  // NVML_FI_DEV_GET_GPU_RECOVERY_ACTION

// nvmlPciInfo_t. Its three versions begin with these members, and no version is larger.
struct PciInfo {
  std::array<char, 16> legacy_bus_id;
  unsigned domain;
  unsigned bus;
  unsigned device;
  std::array<char, 128> rest;
};

// nvmlGpuFabricInfo_v2_t. nvmlGpuFabricInfo_t is equal from the second member on, and is not longer.
struct FabricInfo {
  unsigned version;
  std::array<char, 16> cluster;
  int status;  // nvmlReturn_t
  unsigned clique;
  unsigned char state;
  unsigned health;
};
static_assert(sizeof(FabricInfo) == 36);
constexpr unsigned kFabricVersion = sizeof(FabricInfo) | 2U << 24U;
// nvmlGpuFabricState_t; its value 0 is for cards without a fabric
constexpr unsigned kFabricNotStarted = 1;
constexpr unsigned kFabricInProgress = 2;
constexpr unsigned kFabricCompleted = 3;

struct MemoryInfo {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct EventData {
  void* device;
  unsigned long long type;
  unsigned long long data;
  unsigned gpu_instance;
  unsigned compute_instance;
};

struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency;
  unsigned value_type;
  int result;
  union {
    unsigned long long whole;
    unsigned small;
  } value;
};
static_assert(sizeof(FieldValue) == 40);
constexpr unsigned kUnsignedLong = 2;  // of nvmlValueType_t: an unsigned long
constexpr unsigned kUnsignedLongLong = 3;

std::string address_of(const PciInfo& info) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.0", info.domain, info.bus, info.device);
  return text.data();
}

// A function in the newest version that the library exports. A call fails if the library exports none.
template <typename... Arguments>
struct Call {
  Call(void* library, const char* called, std::initializer_list<const char*> versions = {""}) : name(called) {
    for (const std::string each : versions) {
      function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(library, (name + each).c_str()));
      is_first = each.empty();
      if (function) return;
    }
  }

  int operator()(Arguments... arguments) const {
    return function ? function(arguments...) : kFunctionNotFound;
  }

  const char* name;
  bool is_first = true;  // the function's first version, without a suffix, is used
  int (*function)(Arguments...) = nullptr;
};

// Converts the value of a successful call.
template <typename From, typename Make>
NvmlResult<std::invoke_result_t<Make, From>> made(NvmlResult<From> result, Make make) {
  if (auto* const failure = std::get_if<NvmlFailure>(&result)) return std::move(*failure);
  return make(std::get<From>(result));
}

// Recognises dlopen's message for a missing library. A message about a dependency contains another name.
bool is_missing(std::string_view why, const std::string& library) {
  return why.starts_with(library + ": ") && why.ends_with("No such file or directory");
}

std::string file_of(void* library) {
  link_map* map = nullptr;
  return ::dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map ? map->l_name : "";
}

}  // namespace

bool NvmlFailure::not_supported() const { return code == kNotSupported || code == kFunctionNotFound; }

bool NvmlFailure::not_found() const { return code == kNotFound; }

bool NvmlFailure::lost() const { return code == kGpuIsLost || code == kResetRequired; }

bool NvmlFailure::timed_out() const { return code == kTimeout; }

struct Nvml::Functions {
  using Device = void*;

  void* library;
  Call<> init{library, "nvmlInit", {"_v2", ""}};
  Call<> shutdown{library, "nvmlShutdown"};
  Call<unsigned*> count{library, "nvmlDeviceGetCount", {"_v2", ""}};
  Call<unsigned, Device*> by_index{library, "nvmlDeviceGetHandleByIndex", {"_v2", ""}};
  Call<Device, char*, unsigned> uuid{library, "nvmlDeviceGetUUID"};
  Call<Device, char*, unsigned> name{library, "nvmlDeviceGetName"};
  Call<Device, unsigned*> minor_number{library, "nvmlDeviceGetMinorNumber"};
  Call<Device, PciInfo*> pci_info{library, "nvmlDeviceGetPciInfo", {"_v3", "_v2", ""}};
  Call<Device, MemoryInfo*> memory_info{library, "nvmlDeviceGetMemoryInfo"};
  Call<Device, int, FieldValue*> field_values{library, "nvmlDeviceGetFieldValues"};
  Call<Device, FabricInfo*> fabric_info{library, "nvmlDeviceGetGpuFabricInfoV"};
  Call<Device, void*> first_fabric_info{library, "nvmlDeviceGetGpuFabricInfo"};
  Call<Device, unsigned*, unsigned*> mig_mode{library, "nvmlDeviceGetMigMode"};
  Call<Device, unsigned*> most_mig_devices{library, "nvmlDeviceGetMaxMigDeviceCount"};
  Call<Device, unsigned, Device*> mig_by_index{library, "nvmlDeviceGetMigDeviceHandleByIndex"};
  Call<Device, unsigned*> gpu_instance{library, "nvmlDeviceGetGpuInstanceId"};
  Call<Device, unsigned*> compute_instance{library, "nvmlDeviceGetComputeInstanceId"};
  Call<Device, Device, unsigned*> common_ancestor{library, "nvmlDeviceGetTopologyCommonAncestor"};
  Call<Device, unsigned, unsigned*> link_state{library, "nvmlDeviceGetNvLinkState"};
  Call<Device, unsigned, PciInfo*> link_peer{library, "nvmlDeviceGetNvLinkRemotePciInfo", {"_v2", ""}};
  Call<void**> make_events{library, "nvmlEventSetCreate"};
  Call<Device, unsigned long long*> supported_events{library, "nvmlDeviceGetSupportedEventTypes"};
  Call<Device, unsigned long long, void*> register_events{library, "nvmlDeviceRegisterEvents"};
  Call<void*, EventData*, unsigned> wait_for_event{library, "nvmlEventSetWait", {"_v2", ""}};
  Call<void*> free_events{library, "nvmlEventSetFree"};

  std::string words(int code) const {
    const auto error_string = reinterpret_cast<const char* (*)(int)>(::dlsym(library, "nvmlErrorString"));
    const char* const words = error_string ? error_string(code) : nullptr;
    return (words ? words : "error") + (" (" + std::to_string(code) + ')');
  }
  NvmlFailure failure(const char* call, int code) const {
    const std::string why = code == kFunctionNotFound
                                ? "this driver's library does not have it (" + std::to_string(code) + ')'
                                : words(code);
    return {.code = code, .what = std::string(call) + ": " + why};
  }
  // Calls a function whose last argument points to its result.
  template <typename T, typename... All, typename... Arguments>
  NvmlResult<T> get(const Call<All...>& call, Arguments... arguments) const {
    T value{};
    if (const int code = call(arguments..., &value); code != kSuccess) return failure(call.name, code);
    return value;
  }
  NvmlResult<std::string> text(const Call<Device, char*, unsigned>& call, Device device) const {
    std::array<char, kTextSize> text{};
    const int code = call(device, text.data(), kTextSize - 1);
    if (code != kSuccess) return failure(call.name, code);
    return std::string(text.data());
  }
};

std::variant<std::unique_ptr<Nvml>, Nvml::Unusable> Nvml::open(const std::string& library) {
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* const words = ::dlerror();
    const std::string why = words ? words : library + " cannot be loaded";
    return Unusable{.why = why, .refuses = !is_missing(why, library)};
  }
  std::unique_ptr<const Functions> functions(new Functions{handle});
  const int code = functions->init();
  if (code == kSuccess) return std::unique_ptr<Nvml>(new Nvml(std::move(functions)));
  Unusable refusal{.why = library + " does not begin: " + functions->words(code), .refuses = true};
  if (code == kVersionsDiffer)
    refusal.why += "; reboot the machine, or load the driver that matches the library";
  ::dlclose(handle);
  return refusal;
}

Nvml::Nvml(std::unique_ptr<const Functions> functions)
    : file_(file_of(functions->library)), functions_(std::move(functions)) {}

Nvml::~Nvml() {
  if (events_) functions_->free_events(events_);
  functions_->shutdown();
  ::dlclose(functions_->library);
}

NvmlResult<unsigned> Nvml::count() const { return functions_->get<unsigned>(functions_->count); }

NvmlResult<NvmlDevice> Nvml::device(unsigned index) const {
  return made(functions_->get<void*>(functions_->by_index, index),
              [](void* handle) { return NvmlDevice{handle}; });
}

NvmlResult<std::string> Nvml::uuid(NvmlDevice device) const {
  return functions_->text(functions_->uuid, device.handle);
}

NvmlResult<std::string> Nvml::name(NvmlDevice device) const {
  return functions_->text(functions_->name, device.handle);
}

NvmlResult<unsigned> Nvml::minor_number(NvmlDevice device) const {
  return functions_->get<unsigned>(functions_->minor_number, device.handle);
}

NvmlResult<std::string> Nvml::pci_address(NvmlDevice device) const {
  return made(functions_->get<PciInfo>(functions_->pci_info, device.handle), address_of);
}

NvmlResult<std::uint64_t> Nvml::memory(NvmlDevice device) const {
  return made(functions_->get<MemoryInfo>(functions_->memory_info, device.handle),
              [](const MemoryInfo& info) { return std::uint64_t{info.total}; });
}

NvmlResult<std::uint64_t> Nvml::recovery_action(NvmlDevice device) const {
  FieldValue value{};
  value.field = kRecoveryActionField;
  int code = functions_->field_values(device.handle, 1, &value);
  if (code == kSuccess) code = value.result;
  if (code != kSuccess) return functions_->failure(functions_->field_values.name, code);
  const bool wide = value.value_type == kUnsignedLong || value.value_type == kUnsignedLongLong;
  return wide ? std::uint64_t{value.value.whole} : std::uint64_t{value.value.small};
}

std::string Nvml::fabric_error(NvmlDevice card) const {
  FabricInfo info{};
  info.version = kFabricVersion;
  if (functions_->fabric_info(card.handle, &info) != kSuccess &&
      functions_->first_fabric_info(card.handle, &info.cluster) != kSuccess)
    return {};
  if (info.state == kFabricNotStarted) return "has not finished: Not Started";
  if (info.state == kFabricInProgress) return "has not finished: In Progress";
  // The status is valid only in this state.
  if (info.state != kFabricCompleted || info.status == kSuccess) return {};
  return "has failed: " + functions_->words(info.status);
}

NvmlResult<bool> Nvml::mig_enabled(NvmlDevice card) const {
  unsigned current = 0;
  const auto pending = functions_->get<unsigned>(functions_->mig_mode, card.handle, &current);
  return made(pending, [current](unsigned) { return current == 1; });
}

NvmlResult<std::vector<NvmlDevice>> Nvml::mig_devices(NvmlDevice card) const {
  const auto most = functions_->get<unsigned>(functions_->most_mig_devices, card.handle);
  if (const auto* const failure = std::get_if<NvmlFailure>(&most)) return *failure;
  std::vector<NvmlDevice> devices;
  for (unsigned i = 0; i < std::get<unsigned>(most); ++i) {
    const auto mig = functions_->get<void*>(functions_->mig_by_index, card.handle, i);
    const auto* const failure = std::get_if<NvmlFailure>(&mig);
    if (failure && !failure->not_found()) return *failure;
    if (!failure) devices.push_back({std::get<void*>(mig)});
  }
  return devices;
}

NvmlResult<unsigned> Nvml::gpu_instance(NvmlDevice mig) const {
  return functions_->get<unsigned>(functions_->gpu_instance, mig.handle);
}

NvmlResult<unsigned> Nvml::compute_instance(NvmlDevice mig) const {
  return functions_->get<unsigned>(functions_->compute_instance, mig.handle);
}

NvmlResult<NvmlLevel> Nvml::common_ancestor(NvmlDevice one, NvmlDevice other) const {
  return made(functions_->get<unsigned>(functions_->common_ancestor, one.handle, other.handle),
              [](unsigned level) { return static_cast<NvmlLevel>(level); });
}

std::vector<std::string> Nvml::link_peers(NvmlDevice card) const {
  std::vector<std::string> peers;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned active = 0;
    PciInfo peer{};
    if (functions_->link_state(card.handle, link, &active) != kSuccess || active == 0) continue;
    if (functions_->link_peer(card.handle, link, &peer) == kSuccess) peers.push_back(address_of(peer));
  }
  return peers;
}

std::optional<NvmlFailure> Nvml::follow(NvmlDevice card, std::uint64_t events) {
  if (!events_) {
    if (const int code = functions_->make_events(&events_); code != kSuccess)
      return functions_->failure(functions_->make_events.name, code);
  }
  const auto supported = functions_->get<unsigned long long>(functions_->supported_events, card.handle);
  if (const auto* const failure = std::get_if<NvmlFailure>(&supported)) return *failure;
  const int code =
      functions_->register_events(card.handle, std::get<unsigned long long>(supported) & events, events_);
  if (code != kSuccess) return functions_->failure(functions_->register_events.name, code);
  return std::nullopt;
}

NvmlResult<NvmlEvent> Nvml::next_event(std::chrono::milliseconds wait) const {
  EventData data{};
  const auto& wait_for_event = functions_->wait_for_event;
  const int code = events_ ? wait_for_event(events_, &data, static_cast<unsigned>(wait.count())) : kTimeout;
  if (code != kSuccess) return functions_->failure(wait_for_event.name, code);
  NvmlEvent event{.handle = data.device, .type = data.type, .code = data.data};
  if (wait_for_event.is_first) return event;  // the first version does not set the other members
  event.gpu_instance = data.gpu_instance;
  event.compute_instance = data.compute_instance;
  return event;
}

}  // namespace plughost
