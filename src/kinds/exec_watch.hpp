#pragma once
// `exec: {watch: […]}`: a program that stays, and prints a document in a line whenever something has changed.
// Internal to kinds.

#include <chrono>
#include <memory>
#include <optional>

#include "kinds/exec_program.hpp"
#include "kinds/kind.hpp"

namespace plughost {

// timeout: the longest silence of a program that is well; nullopt: it may be silent for ever.
std::unique_ptr<const DeviceSource> exec_watch(ExecProgram program,
                                               std::optional<std::chrono::milliseconds> timeout);

}  // namespace plughost
