#include "daemon/hooks/container_programs.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "host/programs/program.hpp"
#include "kinds/exec/document.hpp"
#include "model/device/names.hpp"

namespace plughost {

namespace {

constexpr Spoken kPreStartSpoken{.what = "the program of preStart",
                                 .words = Program::Errors::kWithOutput,
                                 .late = ": the start's devices were not ready within "};

}  // namespace

void PreStarts::run(const SharedSnapshot& snapshot, std::span<const std::string> ids, Answer answer) {
  std::map<std::string, Program> programs;  // by the device's id
  for (const std::string& id : ids) {
    const Device* device = snapshot->inventory.find(id);
    if (!device) return answer("there is no device \"" + id + "\" any more");
    const auto& spec = terms_of(*device, *snapshot->spec).pre_start;
    if (!spec || programs.contains(device->id)) continue;
    CommandLine line = command_line(spec->command, snapshot->resource, *device);
    if (!line.missing.empty())
      return answer("device \"" + device->id + "\" has no {" + line.missing + "}, which preStart needs");
    programs[device->id] = {.command = std::move(line.words),
                            .timeout = spec->timeout,
                            .timeout_from = Program::TimeoutFrom::kNow};
  }
  if (programs.empty()) return answer("");
  starts_.emplace_back(std::move(answer), programs_, programs.size());
  const auto start = std::prev(starts_.end());
  for (auto& [id, program] : programs) {
    start->programs.emplace_back(start->queue, std::move(program),
                                 [this, start, device = id](const Ending& ending) {
                                   on_end(start, device, why_failed(kPreStartSpoken, ending));
                                 });
  }
}

void PreStarts::on_end(Starts::iterator start, const std::string& id, const std::string& error) {
  if (!error.empty()) return finish(start, "device \"" + id + "\" is not ready: " + error);
  if (--start->left == 0) finish(start, "");
}

void PreStarts::finish(Starts::iterator start, std::string error) {
  const Answer answer = std::move(start->answer);
  starts_.erase(start);
  answer(std::move(error));
}

namespace {

constexpr Spoken kAllocationSpoken{.late = ": it gave no answer within "};

AllocationPrograms::Outcome outcome_of(const Ending& ending) {
  if (std::string why = why_failed(kAllocationSpoken, ending); !why.empty()) return "allocate: " + why;
  try {
    return read_allocation_document(ending.output);
  } catch (const DocumentError& exception) {
    return "allocate: what the program printed cannot be used: " + std::string(exception.what()) +
           last_words(ending.errors);
  }
}

// Groups the ids, which all belong to the snapshot, by program.
std::vector<std::pair<const ProgramSpec*, std::vector<std::string>>> by_program(
    const ResourceSnapshot& snapshot, std::span<const std::string> ids) {
  std::vector<std::pair<const ProgramSpec*, std::vector<std::string>>> groups;
  for (const std::string& id : ids) {
    const auto& spec = terms_of(*snapshot.inventory.find(id), *snapshot.spec).allocate;
    if (!spec) continue;
    auto group = std::ranges::find(groups, &*spec, [](const auto& each) { return each.first; });
    if (group == groups.end()) group = groups.insert(groups.end(), {&*spec, {}});
    group->second.push_back(id);
  }
  return groups;
}

AllocationPrograms::Outcome together(std::vector<Allocation> said) {
  Allocation all;
  const auto append = [](auto& to, auto& from) { std::ranges::move(from, std::back_inserter(to)); };
  for (Allocation& some : said) {
    append(all.nodes, some.nodes);
    append(all.mounts, some.mounts);
    append(all.cdi, some.cdi);
    for (const auto& [pairs, its] :
         {std::pair(&all.env, &some.env), std::pair(&all.annotations, &some.annotations)}) {
      for (auto& [name, value] : *its) {
        if (const auto [pair, added] = pairs->try_emplace(name, value); !added && pair->second != value)
          return "allocate: the programs of two entries contradict each other: " + name + " would be both " +
                 in_quotes(pair->second) + " and " + in_quotes(value);
      }
    }
  }
  return all;
}

}  // namespace

void AllocationPrograms::run(const ResourceSnapshot& snapshot, std::span<const std::string> ids,
                             Answer answer) {
  const auto groups = by_program(snapshot, ids);
  if (groups.empty()) return answer(Allocation());
  const auto call = calls_.emplace(calls_.end());
  call->answer = std::move(answer);
  call->said.resize(groups.size());
  call->left = groups.size();
  for (std::size_t n = 0; n < groups.size(); ++n) {
    const auto& [spec, its] = groups[n];
    Program program = document_program(command_line(spec->command, snapshot.resource, {}).words);
    program.input = allocation_request(snapshot, its);
    program.timeout = spec->timeout;
    program.timeout_from = Program::TimeoutFrom::kNow;
    call->programs.emplace_back(queue_, std::move(program), [this, call, n](const Ending& ending) {
      on_end(call, n, outcome_of(ending));
    });
  }
}

void AllocationPrograms::on_end(Calls::iterator call, std::size_t n, Outcome outcome) {
  if (std::holds_alternative<std::string>(outcome)) return finish(call, std::move(outcome));
  call->said[n] = std::get<Allocation>(std::move(outcome));
  if (--call->left == 0) finish(call, together(std::move(call->said)));
}

void AllocationPrograms::finish(Calls::iterator call, Outcome outcome) {
  const Answer answer = std::move(call->answer);
  calls_.erase(call);
  answer(std::move(outcome));
}

AllocationPrograms::Outcome allocate_with_program(const ResourceSnapshot& snapshot,
                                                  std::span<const std::string> ids) {
  const auto allocated = [&](const Allocation& more) -> AllocationPrograms::Outcome {
    auto outcome = allocate(snapshot.resource, *snapshot.spec, snapshot.inventory, ids, more);
    if (auto* refusal = std::get_if<Refusal>(&outcome)) return std::move(refusal->text);
    return std::get<Allocation>(std::move(outcome));
  };
  auto without = allocated({});
  if (std::holds_alternative<std::string>(without) || !asks_program(snapshot, ids)) return without;
  EventLoop loop;
  Programs programs(loop);
  AllocationPrograms asked(programs);
  AllocationPrograms::Outcome outcome;
  asked.run(snapshot, ids, [&](AllocationPrograms::Outcome said) {
    outcome = std::move(said);
    loop.stop();
  });
  loop.run();
  if (const auto* more = std::get_if<Allocation>(&outcome)) return allocated(*more);
  return "resource " + snapshot.resource + ": " + std::get<std::string>(outcome);
}

}  // namespace plughost
