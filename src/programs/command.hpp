#pragma once
// What is run of a command of the configuration. Pure functions, thread-safe.

#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/template.hpp"
#include "document/fields.hpp"
#include "programs/program.hpp"

namespace plughost {

struct CommandLine {
  std::vector<std::string> words;  // empty if something is missing
  std::string missing;             // the placeholder that the device has no value for
};

// The command with {resource}, {id} and the device's attributes in their places.
CommandLine command_line(std::span<const Template> command, const std::string& resource,
                         const Device& device);

// What goes before a command that is to run as that user, with the user's groups. Empty if user is: as ours.
std::vector<std::string> words_as(const std::string& user);
// The key `user`.
std::string read_user(Fields& fields);

// One that prints a document, or a line of it at a time: standard error is apart, and more than 4 MiB are too
// much.
Program document_program(std::vector<std::string> command);

}  // namespace plughost
