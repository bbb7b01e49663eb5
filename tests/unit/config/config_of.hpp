#pragma once

#include <string>

#include "config/config.hpp"
#include "unit/temp_dir.hpp"

namespace plughost::test {

// Returns the configuration that a file with the text `text` has.
inline Config config_of(const std::string& text) {
  const TempDir dir;
  dir.file("a.yaml", text);
  return load_config(dir.at("a.yaml"));
}

}  // namespace plughost::test
