#include "host/nvml.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdio>

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

constexpr unsigned kTextSize = 128;  // more than NVML_DEVICE_UUID_V2_BUFFER_SIZE and …NAME_V2_BUFFER_SIZE
constexpr unsigned kRecoveryActionField = 230;  // NVML_FI_DEV_GET_GPU_RECOVERY_ACTION

// nvmlPciInfo_t. Its three versions begin alike, and none of them is larger.
struct PciInfo {
  std::array<char, 16> legacy_bus_id;
  unsigned domain;
  unsigned bus;
  unsigned device;
  std::array<char, 128> rest;
};

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
constexpr unsigned kUnsignedLong = 2;  // nvmlValueType_t: as wide as a pointer
constexpr unsigned kUnsignedLongLong = 3;

std::string address_of(const PciInfo& info) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.0", info.domain, info.bus, info.device);
  return text.data();
}

// nullptr: the library has none of these.
template <typename Function>
void find(void* library, Function*& function, const char* name, const char* older = nullptr) {
  void* symbol = ::dlsym(library, name);
  if (!symbol && older) symbol = ::dlsym(library, older);
  function = reinterpret_cast<Function*>(symbol);
}

template <typename Function, typename... Arguments>
int call(Function* function, Arguments... arguments) {
  return function ? function(arguments...) : kFunctionNotFound;
}

}  // namespace

bool NvmlFailure::not_supported() const { return code == kNotSupported || code == kFunctionNotFound; }

bool NvmlFailure::not_found() const { return code == kNotFound; }

bool NvmlFailure::lost() const { return code == kGpuIsLost || code == kResetRequired; }

bool NvmlFailure::timed_out() const { return code == kTimeout; }

struct Nvml::Functions {
  int (*init)();
  int (*shutdown)();
  const char* (*error_string)(int);
  int (*count)(unsigned*);
  int (*by_index)(unsigned, void**);
  int (*uuid)(void*, char*, unsigned);
  int (*name)(void*, char*, unsigned);
  int (*minor_number)(void*, unsigned*);
  int (*pci_info)(void*, PciInfo*);
  int (*memory_info)(void*, MemoryInfo*);
  int (*field_values)(void*, int, FieldValue*);
  int (*mig_mode)(void*, unsigned*, unsigned*);
  int (*most_mig_devices)(void*, unsigned*);
  int (*mig_by_index)(void*, unsigned, void**);
  int (*gpu_instance)(void*, unsigned*);
  int (*compute_instance)(void*, unsigned*);
  int (*common_ancestor)(void*, void*, unsigned*);
  int (*link_state)(void*, unsigned, unsigned*);
  int (*link_peer)(void*, unsigned, PciInfo*);
  int (*make_events)(void**);
  int (*supported_events)(void*, unsigned long long*);
  int (*register_events)(void*, unsigned long long, void*);
  int (*wait_for_event)(void*, EventData*, unsigned);
  int (*free_events)(void*);
  bool instances_in_events;  // the older wait leaves them as they were

  explicit Functions(void* library) {
    find(library, init, "nvmlInit_v2", "nvmlInit");
    find(library, shutdown, "nvmlShutdown");
    find(library, error_string, "nvmlErrorString");
    find(library, count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount");
    find(library, by_index, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex");
    find(library, uuid, "nvmlDeviceGetUUID");
    find(library, name, "nvmlDeviceGetName");
    find(library, minor_number, "nvmlDeviceGetMinorNumber");
    find(library, pci_info, "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2");
    if (!pci_info) find(library, pci_info, "nvmlDeviceGetPciInfo");
    find(library, memory_info, "nvmlDeviceGetMemoryInfo");
    find(library, field_values, "nvmlDeviceGetFieldValues");
    find(library, mig_mode, "nvmlDeviceGetMigMode");
    find(library, most_mig_devices, "nvmlDeviceGetMaxMigDeviceCount");
    find(library, mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex");
    find(library, gpu_instance, "nvmlDeviceGetGpuInstanceId");
    find(library, compute_instance, "nvmlDeviceGetComputeInstanceId");
    find(library, common_ancestor, "nvmlDeviceGetTopologyCommonAncestor");
    find(library, link_state, "nvmlDeviceGetNvLinkState");
    find(library, link_peer, "nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlDeviceGetNvLinkRemotePciInfo");
    find(library, make_events, "nvmlEventSetCreate");
    find(library, supported_events, "nvmlDeviceGetSupportedEventTypes");
    find(library, register_events, "nvmlDeviceRegisterEvents");
    find(library, wait_for_event, "nvmlEventSetWait_v2");
    instances_in_events = wait_for_event != nullptr;
    if (!wait_for_event) find(library, wait_for_event, "nvmlEventSetWait");
    find(library, free_events, "nvmlEventSetFree");
  }
};

std::variant<std::unique_ptr<Nvml>, std::string> Nvml::open(const std::string& library) {
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* const why = ::dlerror();
    return std::string(why ? why : library + " cannot be loaded");
  }
  auto functions = std::make_unique<const Functions>(handle);
  const int code = call(functions->init);
  if (code == kSuccess) return std::unique_ptr<Nvml>(new Nvml(handle, std::move(functions)));
  const char* const words = functions->error_string ? functions->error_string(code) : nullptr;
  std::string why =
      library + " does not begin: " + (words ? words : "error") + " (" + std::to_string(code) + ')';
  ::dlclose(handle);
  return why;
}

Nvml::Nvml(void* library, std::unique_ptr<const Functions> functions)
    : library_(library), functions_(std::move(functions)) {}

Nvml::~Nvml() {
  if (events_) call(functions_->free_events, events_);
  call(functions_->shutdown);
  ::dlclose(library_);
}

NvmlFailure Nvml::failure(const char* name, int code) const {
  const char* const words = functions_->error_string ? functions_->error_string(code) : nullptr;
  const char* const text = code == kFunctionNotFound ? "this driver's library does not have it" : words;
  return {.code = code,
          .what = std::string(name) + ": " + (text ? text : "error") + " (" + std::to_string(code) + ')'};
}

NvmlResult<unsigned> Nvml::count() const {
  unsigned count = 0;
  const int code = call(functions_->count, &count);
  if (code != kSuccess) return failure("nvmlDeviceGetCount", code);
  return count;
}

NvmlResult<NvmlDevice> Nvml::device(unsigned index) const {
  NvmlDevice device;
  const int code = call(functions_->by_index, index, &device.handle);
  if (code != kSuccess) return failure("nvmlDeviceGetHandleByIndex", code);
  return device;
}

NvmlResult<std::string> Nvml::uuid(NvmlDevice device) const {
  std::array<char, kTextSize> text{};
  const int code = call(functions_->uuid, device.handle, text.data(), kTextSize - 1);
  if (code != kSuccess) return failure("nvmlDeviceGetUUID", code);
  return std::string(text.data());
}

NvmlResult<std::string> Nvml::name(NvmlDevice device) const {
  std::array<char, kTextSize> text{};
  const int code = call(functions_->name, device.handle, text.data(), kTextSize - 1);
  if (code != kSuccess) return failure("nvmlDeviceGetName", code);
  return std::string(text.data());
}

NvmlResult<unsigned> Nvml::minor_number(NvmlDevice device) const {
  unsigned number = 0;
  const int code = call(functions_->minor_number, device.handle, &number);
  if (code != kSuccess) return failure("nvmlDeviceGetMinorNumber", code);
  return number;
}

NvmlResult<std::string> Nvml::pci_address(NvmlDevice device) const {
  PciInfo info{};
  const int code = call(functions_->pci_info, device.handle, &info);
  if (code != kSuccess) return failure("nvmlDeviceGetPciInfo", code);
  return address_of(info);
}

NvmlResult<std::uint64_t> Nvml::memory(NvmlDevice device) const {
  MemoryInfo info{};
  const int code = call(functions_->memory_info, device.handle, &info);
  if (code != kSuccess) return failure("nvmlDeviceGetMemoryInfo", code);
  return std::uint64_t{info.total};
}

NvmlResult<std::uint64_t> Nvml::recovery_action(NvmlDevice device) const {
  FieldValue value{};
  value.field = kRecoveryActionField;
  int code = call(functions_->field_values, device.handle, 1, &value);
  if (code == kSuccess) code = value.result;
  if (code != kSuccess) return failure("nvmlDeviceGetFieldValues", code);
  const bool wide = value.value_type == kUnsignedLong || value.value_type == kUnsignedLongLong;
  return wide ? std::uint64_t{value.value.whole} : std::uint64_t{value.value.small};
}

NvmlResult<bool> Nvml::mig_enabled(NvmlDevice card) const {
  unsigned current = 0;
  unsigned pending = 0;
  const int code = call(functions_->mig_mode, card.handle, &current, &pending);
  if (code != kSuccess) return failure("nvmlDeviceGetMigMode", code);
  return current == 1;
}

NvmlResult<std::vector<NvmlDevice>> Nvml::mig_devices(NvmlDevice card) const {
  unsigned most = 0;
  if (const int code = call(functions_->most_mig_devices, card.handle, &most); code != kSuccess)
    return failure("nvmlDeviceGetMaxMigDeviceCount", code);
  std::vector<NvmlDevice> devices;
  for (unsigned i = 0; i < most; ++i) {
    NvmlDevice device;
    const int code = call(functions_->mig_by_index, card.handle, i, &device.handle);
    if (code == kNotFound) continue;
    if (code != kSuccess) return failure("nvmlDeviceGetMigDeviceHandleByIndex", code);
    devices.push_back(device);
  }
  return devices;
}

NvmlResult<unsigned> Nvml::gpu_instance(NvmlDevice mig) const {
  unsigned id = 0;
  const int code = call(functions_->gpu_instance, mig.handle, &id);
  if (code != kSuccess) return failure("nvmlDeviceGetGpuInstanceId", code);
  return id;
}

NvmlResult<unsigned> Nvml::compute_instance(NvmlDevice mig) const {
  unsigned id = 0;
  const int code = call(functions_->compute_instance, mig.handle, &id);
  if (code != kSuccess) return failure("nvmlDeviceGetComputeInstanceId", code);
  return id;
}

NvmlResult<NvmlLevel> Nvml::common_ancestor(NvmlDevice one, NvmlDevice other) const {
  unsigned level = 0;
  const int code = call(functions_->common_ancestor, one.handle, other.handle, &level);
  if (code != kSuccess) return failure("nvmlDeviceGetTopologyCommonAncestor", code);
  return static_cast<NvmlLevel>(level);
}

std::vector<std::string> Nvml::link_peers(NvmlDevice card) const {
  std::vector<std::string> peers;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned active = 0;
    PciInfo peer{};
    if (call(functions_->link_state, card.handle, link, &active) != kSuccess || active == 0) continue;
    if (call(functions_->link_peer, card.handle, link, &peer) == kSuccess) peers.push_back(address_of(peer));
  }
  return peers;
}

std::optional<NvmlFailure> Nvml::follow(NvmlDevice card, std::uint64_t events) {
  if (!events_) {
    if (const int code = call(functions_->make_events, &events_); code != kSuccess)
      return failure("nvmlEventSetCreate", code);
  }
  unsigned long long supported = 0;
  if (const int code = call(functions_->supported_events, card.handle, &supported); code != kSuccess)
    return failure("nvmlDeviceGetSupportedEventTypes", code);
  const int code = call(functions_->register_events, card.handle, supported & events, events_);
  if (code != kSuccess) return failure("nvmlDeviceRegisterEvents", code);
  return std::nullopt;
}

NvmlResult<NvmlEvent> Nvml::next_event(std::chrono::milliseconds wait) const {
  EventData data{};
  const int code = events_
                       ? call(functions_->wait_for_event, events_, &data, static_cast<unsigned>(wait.count()))
                       : kTimeout;
  if (code != kSuccess) return failure("nvmlEventSetWait", code);
  NvmlEvent event{.handle = data.device, .type = data.type, .code = data.data};
  if (functions_->instances_in_events) {
    event.gpu_instance = data.gpu_instance;
    event.compute_instance = data.compute_instance;
  }
  return event;
}

}  // namespace plughost
