#include <algorithm>

#include "base/text/text.hpp"
#include "tools/doctor/doctor.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

Finding of_diagnostic(const Diagnostic& diagnostic, const fs::path& file) {
  const bool error = diagnostic.severity == Diagnostic::Severity::kError;
  return {.level = error ? Level::kProblem : Level::kWarning,
          .where = diagnostic.mark.text(),
          .what = (diagnostic.path.empty() ? "" : diagnostic.path + ": ") + diagnostic.message(),
          .why = error ? "plughost does not start with this file, and refuses a reload of it"
                       : "the file is used, but a part of it may have no effect",
          .advice = "correct it; `plughost check --strict " + file.string() + "` says when it is right"};
}

bool is_read(const Config& config, const fs::path& file) {
  return std::ranges::any_of(config.files.paths, [&](const fs::path& read) {
    std::error_code failed;
    return fs::equivalent(read, file, failed);
  });
}

// Returns the rule for a ClusterRole.
std::string rule(const Right& right) {
  return R"({apiGroups: [")" + right.group + R"("], resources: [)" + right.resource +
         (right.subresource.empty() ? "" : '/' + right.subresource) + "], verbs: [" + right.verb + "]}";
}

}  // namespace

Findings check_configuration(const HostRoot&, const Observed& observed) {
  Findings found;
  const auto& diagnostics = observed.config ? observed.config->warnings : observed.errors;
  for (const Diagnostic& diagnostic : diagnostics) found.push_back(of_diagnostic(diagnostic, observed.file));
  for (const std::string& file : observed.writable_files)
    found.push_back({.level = Level::kWarning,
                     .where = file,
                     .what = "users other than root may write this file",
                     .why = "who writes the configuration runs programs as root and gives pods any device",
                     .advice = "chown root " + file + "; chmod go-w " + file});
  if (found.empty() && observed.config)
    found.push_back({.where = observed.file,
                     .what = counted(observed.config->resources.size(), "entry") + " in " +
                             counted(observed.config->files.paths.size(), "file") + ", no errors"});
  return found;
}

Findings check_drop_ins(const HostRoot&, const Observed& observed) {
  if (!observed.config) return {};
  const fs::path directory = observed.file.parent_path() / "plugins.d";
  Findings found;
  HostRoot().list(directory, [&](std::string_view name, FileType) {
    const fs::path file = directory / name;
    if ((file.extension() != ".yaml" && file.extension() != ".yml") || is_read(*observed.config, file))
      return;
    found.push_back({.level = Level::kWarning,
                     .where = file,
                     .what = "this file is not read",
                     .why = "its resources are not offered, although it is in the directory of drop-ins",
                     .advice = "name it *.yaml, not hidden, or add its pattern to `include` in " +
                               observed.file.string() + "; move it elsewhere if it is not meant to be used"});
  });
  std::ranges::sort(found, {}, &Finding::where);
  return or_ok(std::move(found), directory, "all files are included");
}

Findings check_devices(const HostRoot& host, const Observed& observed) {
  if (!observed.config) return {};
  Findings found;
  for (const std::string& error : observed.devices.errors) {
    const std::size_t place =
        std::min(error.find(": "), error.size());  // end of "file:line:col" in "file:line:col: name: why"
    found.push_back({.level = Level::kProblem,
                     .where = error.substr(0, place),
                     .what = error.substr(std::min(place + 2, error.size())),
                     .why = "the entry's resources have no devices until this is over",
                     .advice = "fix the cause named above; `plughost discover` tries again"});
  }
  for (const std::string& remark : observed.devices.remarks)
    found.push_back({.level = Level::kNote,
                     .where = observed.file,
                     .what = remark,
                     .why = "a device may not be offered as it was meant to be",
                     .advice = "correct the entry; `plughost discover` prints this again"});
  for (const ResourceSnapshot& snapshot : observed.devices.snapshots) {
    const auto devices = snapshot.inventory.devices();
    const auto sick = std::ranges::count_if(devices, [](const Device& each) { return !each.healthy(); });
    const std::size_t ids = snapshot.inventory.id_count();
    if (devices.empty()) continue;
    if (sick > 0) {
      const auto first = std::ranges::find_if(devices, [](const Device& each) { return !each.healthy(); });
      found.push_back({.level = Level::kWarning,
                       .where = snapshot.resource,
                       .what = std::to_string(sick) + " of " + counted(devices.size(), "device") +
                               " Unhealthy, the first: " + first->id + ": " + first->error,
                       .why = "no new pod gets them",
                       .advice = sick == 1
                                     ? "fix the cause named above"
                                     : "fix the cause named above; `plughost discover` has the others'"});
    } else {
      found.push_back({.where = snapshot.resource,
                       .what = counted(devices.size(), "device") +
                               (ids == devices.size() ? "" : " with " + std::to_string(ids) + " shares") +
                               ", all healthy"});
    }
  }
  for (std::string& remark : remarks_on(host, observed.devices.snapshots))
    found.push_back({.level = Level::kWarning,
                     .where = observed.file,
                     .what = std::move(remark),
                     .why = "a pod finds it out otherwise",
                     .advice = "correct the entry; `plughost check` prints this again"});
  for (const SurveyedEntry& entry : observed.devices.entries) {
    const std::string why = entry.why_no_devices();
    if (why.empty()) continue;
    found.push_back({.level = Level::kNote,
                     .where = entry.where,
                     .what = entry.name + " has no devices: " + why,
                     .why = "pods that request one stay Pending",
                     .advice = "plug a device in, or correct the entry: `plughost discover --explain " +
                               entry.name + "` prints what each selector saw"});
  }
  return found;
}

Findings check_api_server(const HostRoot&, const Observed& observed) {
  if (!observed.api_permissions) return {};
  const ApiPermissions& access = *observed.api_permissions;
  const std::string where = access.server.empty() ? "the API server" : access.server;
  const std::string as = access.identity.empty() ? "" : " with the credentials of " + access.identity;
  Findings found;
  for (const std::string& warning : access.warnings)
    found.push_back({.level = Level::kWarning,
                     .where = access.identity,
                     .what = warning,
                     .why = "anybody between this node and the API server may read and forge its answers",
                     .advice = "give the kubeconfig the cluster's certificate authority"});
  if (!access.error.empty()) {
    found.push_back(
        {.level = Level::kProblem,
         .where = where,
         .what = "it cannot be reached" + as + ": " + access.error,
         .why = "what the configuration wants of it is not done, or stays as it was",
         .advice =
             "fix the cause named above; `apiServer.kubeconfig` names the credentials that are used, and "
             "the unit needs the drop-in apiserver.conf"});
    return found;
  }
  for (const ApiPermissions::Answer& answer : access.answers) {
    if (answer.allowed) continue;
    const std::string needs_it = '`' + answer.right.key + "` needs it";
    if (answer.error.empty())
      found.push_back(
          {.level = Level::kProblem,
           .where = where,
           .what = "we may not " + answer.right.text() + as,
           .why = needs_it,
           .advice = "use the kubelet's own credentials (`apiServer: {kubeconfig: auto}`), or bind a "
                     "ClusterRole to the account with the rule " +
                     rule(answer.right)});
    else
      found.push_back({.level = Level::kWarning,
                       .where = where,
                       .what = "whether we may " + answer.right.text() + " is not known: " + answer.error,
                       .why = needs_it,
                       .advice = "try `kubectl auth can-i` with the same credentials"});
  }
  return or_ok(std::move(found), where, "all that is needed is allowed" + as);
}

}  // namespace plughost
