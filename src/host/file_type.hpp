#pragma once
// What stands at a path. A value.

namespace plughost {

enum class FileType { kNothing, kDirectory, kRegular, kLink, kCharacter, kBlock, kSocket, kFifo, kOther };

inline bool is_device_node(FileType type) {
  return type == FileType::kCharacter || type == FileType::kBlock;
}

}  // namespace plughost
