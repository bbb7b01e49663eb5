#pragma once
// Returns what is wrong with a command line, as one sentence. Pure functions.

#include <CLI/App.hpp>
#include <span>
#include <string>
#include <string_view>

namespace plughost {

// Returns "unknown output format 'wid' (did you mean 'wide'?); use table, wide or json".
std::string unknown_word(std::string_view noun, std::string_view word,
                         std::span<const std::string_view> known);

// Returns "unknown command 'chek' (did you mean 'check'?)".
std::string unknown_command(const CLI::App& app, const std::string& word);

// Returns the message for an error of app.parse(): which command, what is wrong, and where help is. Empty if
// the command line has no command.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace plughost
