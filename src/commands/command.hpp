#pragma once
// The subcommands. Each declares its options, and stores the process's exit code when it has run:
// 0 done, 1 it said no, 2 used wrongly.

#include <string>

namespace CLI {
class App;
}

namespace plughost {

inline constexpr const char* kDefaultConfig = "/etc/plughost/config.yaml";

void add_run_command(CLI::App& app, int& exit_code);
void add_check_command(CLI::App& app, int& exit_code);
void add_convert_command(CLI::App& app, int& exit_code);
void add_discover_command(CLI::App& app, int& exit_code);
void add_simulate_command(CLI::App& app, int& exit_code);
void add_checkpoint_command(CLI::App& app, int& exit_code);
void add_doctor_command(CLI::App& app, int& exit_code);
void add_status_command(CLI::App& app, int& exit_code);
void add_events_command(CLI::App& app, int& exit_code);
void add_reload_command(CLI::App& app, int& exit_code);
void add_kubelet_command(CLI::App& app, int& exit_code);

}  // namespace plughost
