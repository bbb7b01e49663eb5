#include <array>

#include "kinds/kind.hpp"

namespace plughost {

// Each is defined in the file of its name.
Kind count_kind();
Kind directory_kind();
Kind exec_kind();
Kind gpu_kind();
Kind groups_kind();
Kind pci_kind();
Kind rdma_kind();
Kind udev_kind();

std::span<const Kind> kinds() {
  static const std::array rows = {
      directory_kind(), count_kind(), gpu_kind(),  groups_kind(),
      pci_kind(),       rdma_kind(),  udev_kind(), exec_kind(),
  };
  return rows;
}

}  // namespace plughost
