// plughost doctor: finds problems of this node and says what to do.

#include "tools/doctor/doctor.hpp"
#include "base/text/printable_stream.hpp"
#include "base/text/text.hpp"

#include <algorithm>
#include <iostream>

#include "tools/commands/command.hpp"

namespace plughost {
namespace {

std::string count_of(const Findings& findings, Level level) {
  return counted(std::ranges::count(findings, level, &Finding::level), name_of(level));
}

Colour colour_of(Level level) {
  if (level == Level::kProblem) return Colour::kRed;
  if (level == Level::kWarning) return Colour::kYellow;
  return level == Level::kOk ? Colour::kGreen : Colour::kNone;
}

void print_text(const Findings& findings) {
  std::size_t name_width = 0;
  for (const Check& check : checks()) name_width = std::max(name_width, check.name.size());
  constexpr std::size_t kLevelWidth = 7;  // width of "problem" and "warning"
  const std::string indent(kLevelWidth + 2 + name_width + 2, ' ');
  for (const Finding& finding : findings) {
    const std::string level(name_of(finding.level));
    std::cout << Coloured{colour_of(finding.level), level} << std::string(kLevelWidth - level.size() + 2, ' ')
              << finding.check << std::string(name_width - finding.check.size() + 2, ' ')
              << printable(finding.where) << ": " << printable(finding.what) << '\n';
    if (!finding.why.empty()) std::cout << indent << "why: " << printable(finding.why) << '\n';
    if (!finding.advice.empty()) std::cout << indent << "do:  " << printable(finding.advice) << '\n';
  }
  std::cout << count_of(findings, Level::kProblem) << ", " << count_of(findings, Level::kWarning) << ", "
            << count_of(findings, Level::kNote) << '\n';
}

Json json_of(const Findings& findings) {
  Json json = Json::Array();
  for (const Finding& finding : findings) {
    Json& entry = json.push_back(Json{{"check", finding.check},
                                      {"level", name_of(finding.level)},
                                      {"where", finding.where},
                                      {"what", finding.what}});
    if (!finding.why.empty()) entry["why"] = finding.why;
    if (!finding.advice.empty()) entry["advice"] = finding.advice;
  }
  return json;
}

}  // namespace

int doctor(const DoctorOptions& options) {
  const HostRoot host;
  Findings findings = examine(host, observe(host, options.file));
  if (options.quiet) std::erase_if(findings, [](const Finding& each) { return each.level == Level::kOk; });
  if (options.format == OutputFormat::kTable)
    print_text(findings);
  else
    print(std::cout, json_of(findings), options.format);
  return std::ranges::count(findings, Level::kProblem, &Finding::level) == 0 ? 0 : 1;
}

}  // namespace plughost
