#include <array>

#include "kinds/kind.hpp"

namespace plughost {

Kind count_kind();
Kind directory_kind();
Kind exec_kind();
Kind gpu_kind();
Kind groups_kind();
Kind pci_kind();
Kind rdma_kind();
Kind udev_kind();

namespace {

// Errors list the kinds in this order.
constexpr auto kRows = std::to_array<KindRow>({
    // clang-format off
    // key        what an entry lists                                                  defined in           needs of the sandbox              by
    {"directory", "Every file in a directory is a device.",                            "directory.cpp",     {},                                directory_kind},
    {"count",     "That many devices without hardware.",                               "count.cpp",         {},                                count_kind},
    {"gpu",       "Cards of NVIDIA, AMD, Intel, Iluvatar.",                            "gpu/gpu.cpp",       {.nvml = true},                    gpu_kind},
    {"groups",    "Device nodes, files, USB devices, and combinations.",               "groups/groups.cpp", {},                                groups_kind},
    {"pci",       "PCI cards without a kind of their own.",                            "pci.cpp",           {},                                pci_kind},
    {"rdma",      "RDMA cards.",                                                       "rdma/rdma.cpp",     {},                                rdma_kind},
    {"udev",      "Cameras, GPIO chips, I2C buses: all in the kernel's device model.", "udev.cpp",          {},                                udev_kind},
    {"exec",      "What your program lists.",                                          "exec/exec.cpp",     {.programs = true, .users = true}, exec_kind},
    // clang-format on
});

}  // namespace

std::span<const KindRow> kind_rows() { return kRows; }

std::span<const Kind> kinds() {
  static const auto all = [] {
    std::array<Kind, kRows.size()> kinds;
    for (std::size_t i = 0; i < kRows.size(); ++i) {
      kinds[i] = kRows[i].define();
      kinds[i].key = kRows[i].key;
    }
    return kinds;
  }();
  return all;
}

}  // namespace plughost
