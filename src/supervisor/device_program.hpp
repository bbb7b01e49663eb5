#pragma once
// A program that is run for one device: its command line, and what its end says. Thread-safe.

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/subprocess.hpp"
#include "device/device.hpp"
#include "device/template.hpp"

namespace plughost {

struct CommandLine {
  std::vector<std::string> words;  // empty if something is missing
  std::string missing;             // the placeholder that the device has no value for
};

// The command with {resource}, {id} and the device's attributes in their places.
CommandLine command_line(std::span<const Template> command, const std::string& resource,
                         const Device& device);

// Why the program did not do what it was to do, in its own words where it has some; empty: it ended with 0.
// At most 200 bytes of valid UTF-8 on one line. what: "the health check".
std::string verdict(std::string_view what, const Subprocess::Result& result);

// "20 s", "250 ms".
std::string duration_text(std::chrono::milliseconds duration);

}  // namespace plughost
