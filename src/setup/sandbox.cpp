#include "setup/sandbox.hpp"

#include <optional>

#include "programs/program.hpp"

namespace plughost {
namespace {

void add(const std::vector<Template>& command, SandboxNeeds& needs) {
  needs.programs = true;
  // Of any user the first word is the same.
  if (!command.empty() && command.front().text() == words_as("nobody").front()) needs.users = true;
}

void add(const std::optional<ProgramRecipe>& program, SandboxNeeds& needs) {
  if (program) add(program->command, needs);
}

}  // namespace

SandboxNeeds sandbox_needs(const Config& config) {
  SandboxNeeds all;
  for (const ResourceConfig& entry : config.resources) {
    const SandboxNeeds own = entry.source->sandbox_needs();
    const Recipe& recipe = *entry.recipe;
    all.nvml = all.nvml || own.nvml;
    all.programs = all.programs || own.programs;
    all.users = all.users || own.users;
    if (recipe.health) add(recipe.health->command, all);
    if (recipe.when_unhealthy) add(recipe.when_unhealthy->program.command, all);
    for (const auto* program : {&recipe.pre_start, &recipe.allocate, &recipe.on_remove}) add(*program, all);
  }
  return all;
}

}  // namespace plughost
