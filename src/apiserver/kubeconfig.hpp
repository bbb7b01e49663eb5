#pragma once
// A kubeconfig, as kubectl and the kubelet read it. Thread-safe.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "apiserver/access.hpp"
#include "config/text_file.hpp"

namespace plughost {

using ReadFile = std::function<std::variant<std::string, FileTrouble>(const std::filesystem::path& file)>;

// What its current context says, with the files that it names, which read gives; those that are relative are
// beside it. Or why it cannot be used: "file:line:col: …". exec is not run.
std::variant<ApiAccess, std::string> read_kubeconfig(const std::string& text,
                                                     const std::filesystem::path& file, const ReadFile& read);

// Of an identity of a node, "worker-1": its name in a client certificate, which Kubernetes has as
// "system:node:worker-1". Empty: it is no node's.
std::string node_in_certificate(std::string_view pem);

}  // namespace plughost
