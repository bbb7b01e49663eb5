#include "base/system/files.hpp"
#include "tools/command_line/command_line.hpp"

namespace {

// Runs before the constructors of library globals, which open files.
[[gnu::constructor(101)]] void before_all() { plughost::open_standard_files(); }

}  // namespace

int main(int argc, char** argv) { return plughost::run_command_line(argc, argv); }
