#pragma once
// What an exec plugin is told and what it answers: client.authentication.k8s.io. Pure functions, thread-safe.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "apiserver/access.hpp"

namespace plughost {

// KUBERNETES_EXEC_INFO for the plugin of access.
std::string exec_info(const ApiAccess& access);

struct ExecCredential {
  std::string token;
  std::string certificate;  // PEM, with key
  std::string key;
  std::optional<std::chrono::system_clock::time_point> expires;
};

// Or why the output is none, as a sentence.
std::variant<ExecCredential, std::string> read_exec_credential(std::string_view output,
                                                               const ExecPlugin& plugin);

// "2026-11-21T18:00:00Z", with fractions and other zones; at least 1970, at most 2200. nullopt: it is no such
// text.
std::optional<std::chrono::system_clock::time_point> time_in(std::string_view rfc3339);

}  // namespace plughost
