// plughost doctor: what is wrong with this node, and what to do about it.

#include "doctor/doctor.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "commands/command.hpp"
#include "commands/output.hpp"
#include "commands/table.hpp"

namespace plughost {

namespace {

std::string counted(const Findings& findings, Level level) {
  const auto number = std::ranges::count(findings, level, &Finding::level);
  return std::to_string(number) + ' ' + std::string(name_of(level)) + (number == 1 ? "" : "s");
}

void print_text(const Findings& findings) {
  std::size_t name_width = 0;
  for (const Check& check : checks()) name_width = std::max(name_width, check.name.size());
  constexpr std::size_t kLevelWidth = 7;  // of "problem" and "warning"
  const std::string indent(kLevelWidth + 2 + name_width + 2, ' ');
  for (const Finding& finding : findings) {
    const std::string level(name_of(finding.level));
    std::cout << level << std::string(kLevelWidth - level.size() + 2, ' ') << finding.check
              << std::string(name_width - finding.check.size() + 2, ' ') << printable(finding.where) << ": "
              << printable(finding.what) << '\n';
    if (!finding.why.empty()) std::cout << indent << "why: " << printable(finding.why) << '\n';
    if (!finding.advice.empty()) std::cout << indent << "do:  " << printable(finding.advice) << '\n';
  }
  std::cout << counted(findings, Level::kProblem) << ", " << counted(findings, Level::kWarning) << ", "
            << counted(findings, Level::kNote) << '\n';
}

Json json_of(const Findings& findings) {
  Json json = Json::array();
  for (const Finding& finding : findings) {
    Json& entry = json.emplace_back(Json{{"check", finding.check},
                                         {"level", name_of(finding.level)},
                                         {"where", finding.where},
                                         {"what", finding.what}});
    if (!finding.why.empty()) entry["why"] = finding.why;
    if (!finding.advice.empty()) entry["advice"] = finding.advice;
  }
  return json;
}

int doctor(const std::string& file, OutputFormat format) {
  const HostRoot host;
  const Findings findings = examine(host, observe(host, file));
  if (format == OutputFormat::kTable)
    print_text(findings);
  else
    print(std::cout, json_of(findings), format);
  return std::ranges::count(findings, Level::kProblem, &Finding::level) == 0 ? 0 : 1;
}

}  // namespace

void add_doctor_command(CLI::App& app, int& exit_code) {
  struct Options {
    std::string file = kDefaultConfig;
    OutputFormat format = OutputFormat::kTable;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("doctor", "what is wrong with this node, and what to do about it");
  command->add_option("--config", options->file, "the configuration")->capture_default_str();
  add_output_option(*command, options->format);
  command->callback([options, &exit_code] { exit_code = doctor(options->file, options->format); });
}

}  // namespace plughost
