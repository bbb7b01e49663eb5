#pragma once
// Records a directory tree as a machine. Not thread-safe.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "host/hardware/host_root.hpp"
#include "host/hardware/recorded_machine.hpp"
#include "unit/temp_dir.hpp"

namespace plughost::test {

inline std::shared_ptr<RecordedMachine> record_all(const TempDir& made) {
  namespace fs = std::filesystem;
  auto machine = std::make_shared<RecordedMachine>();
  for (const auto& entry : fs::recursive_directory_iterator(made.path())) {
    const std::string path = '/' + entry.path().lexically_relative(made.path()).string();
    RecordedTree::File file;
    switch (entry.symlink_status().type()) {
      case fs::file_type::symlink:
        file = {.type = FileType::kLink, .text = fs::read_symlink(entry.path()).string(), .entries = {}};
        break;
      case fs::file_type::regular: {
        std::ifstream text(entry.path(), std::ios::binary);
        file = {.type = FileType::kRegular,
                .text = std::string(std::istreambuf_iterator<char>(text), {}),
                .entries = {}};
        break;
      }
      default:  // add() creates a directory together with its entries
        break;
    }
    machine->tree.add(path, std::move(file));
  }
  return machine;
}

inline HostRoot recorded(const TempDir& made) {
  return HostRoot(std::shared_ptr<const RecordedMachine>(record_all(made)));
}

}  // namespace plughost::test
