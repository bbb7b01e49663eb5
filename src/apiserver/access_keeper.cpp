#include "apiserver/access_keeper.hpp"

#include <utility>
#include <variant>

#include "apiserver/access.hpp"
#include "apiserver/exec_credential.hpp"
#include "programs/command.hpp"
#include "programs/ending.hpp"

namespace plughost {
namespace {

// Credentials that end so soon are as good as ended.
constexpr std::chrono::seconds kBeforeEnd{10};
constexpr std::size_t kPluginsAtOnce = 1;

}  // namespace

AccessKeeper::AccessKeeper(Workers& workers, Programs& programs, Options options)
    : workers_(workers), options_(std::move(options)), queue_(programs, Purpose::kList, kPluginsAtOnce) {}

bool AccessKeeper::fresh() const {
  if (!credentials_ || !read_at_ || Clock::now() - *read_at_ >= options_.age) return false;
  return !expires_ || std::chrono::system_clock::now() + kBeforeEnd < *expires_;
}

void AccessKeeper::want(bool anew, Wanted wanted) {
  // No other thread is given to a file system that does not answer.
  if (hangs_ || (!anew && !reading_ && fresh())) return wanted(credentials_, credentials_ ? "" : trouble_);
  wanted_.push_back(std::move(wanted));
  refused_ = refused_ || anew;
  if (!reading_) read();
}

void AccessKeeper::read() {
  reading_ = true;
  auto found = std::make_shared<std::variant<FoundAccess, std::string>>();
  workers_.run([found, host = options_.host, where = options_.where] { *found = find_access(host, where); },
               lifetime_.bound([this, found] {
                 if (!std::exchange(hangs_, false)) on_found(std::move(*found));
               }),
               options_.file_deadline, lifetime_.bound([this] {
                 hangs_ = true;
                 on_found("reading the credentials takes longer than " +
                          duration_text(options_.file_deadline) +
                          ": the file system that they lie on does not answer");
               }));
}

void AccessKeeper::on_found(std::variant<FoundAccess, std::string> found) {
  if (auto* const trouble = std::get_if<std::string>(&found)) return finish(std::move(*trouble));
  auto& [access, node] = std::get<FoundAccess>(found);
  node_ = std::move(node);
  const bool same = found_ == access;
  found_ = std::move(access);
  if (!found_->exec) {
    expires_.reset();
    if (!same || !credentials_) credentials_ = std::make_shared<const ApiAccess>(*found_);
    return finish({});
  }
  const bool valid =
      credentials_ && !refused_ && (!expires_ || std::chrono::system_clock::now() + kBeforeEnd < *expires_);
  if (same && valid) return finish({});
  run_plugin();
}

void AccessKeeper::run_plugin() {
  Program program = document_program(found_->exec->command);
  for (const auto& [name, value] : found_->exec->environment)
    program.environment.push_back(name + '=' + value);
  program.environment.push_back("KUBERNETES_EXEC_INFO=" + exec_info(*found_));
  program.timeout = options_.plugin_deadline;
  program.timeout_from = Program::TimeoutFrom::kNow;
  plugin_.emplace(queue_, std::move(program), [this](const Ending& ending) { on_plugin(ending); });
}

void AccessKeeper::on_plugin(const Ending& ending) {
  const ExecPlugin& plugin = *found_->exec;
  const auto trouble = [&](const std::string& why) {
    return plugin.where + ": " + plugin.command[0] + ": " + why +
           (plugin.install_hint.empty() ? "" : ". " + plugin.install_hint);
  };
  if (std::string why = why_failed({.what = "the program that gives credentials"}, ending); !why.empty())
    return finish(trouble(why));
  auto read = read_exec_credential(ending.output, plugin);
  if (const auto* const why = std::get_if<std::string>(&read)) return finish(trouble(*why));
  auto& credential = std::get<ExecCredential>(read);
  ApiAccess access = *found_;
  access.token = std::move(credential.token);
  access.certificate = std::move(credential.certificate);
  access.key = std::move(credential.key);
  expires_ = credential.expires;
  if (std::string node = node_in_certificate(access.certificate); !node.empty()) node_ = std::move(node);
  if (!credentials_ || *credentials_ != access)
    credentials_ = std::make_shared<const ApiAccess>(std::move(access));
  finish({});
}

void AccessKeeper::finish(std::string trouble) {
  reading_ = false;
  refused_ = false;
  trouble_ = std::move(trouble);
  // What could not be read is read again when somebody asks the next time.
  if (trouble_.empty()) read_at_ = Clock::now();
  const auto wanted = std::exchange(wanted_, {});
  const Credentials credentials = credentials_;
  const std::string why = credentials ? std::string() : trouble_;
  for (const Wanted& each : wanted) each(credentials, why);
}

}  // namespace plughost
