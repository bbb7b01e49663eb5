#pragma once
// Helpers for each measurement: its own directory, and functions that wait.

#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>

#include "kubelet/standin_kubelet.hpp"

namespace plughost::bench {

using Clock = std::chrono::steady_clock;

inline constexpr auto kPatience = std::chrono::seconds(30);

inline double ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

inline std::string resource_name(std::size_t n) { return "bench.example.com/r" + std::to_string(n); }

// Creates a directory for one measurement, and removes it at the end.
class Bed {
 public:
  Bed() {
    std::string pattern = std::filesystem::temp_directory_path() / "plughost-bench-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
    path_ = pattern;
    std::filesystem::create_directory(plugins());
  }
  ~Bed() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;

  std::filesystem::path tree() const { return path_ / "tree"; }
  std::filesystem::path plugins() const { return path_ / "d"; }
  std::filesystem::path devices() const { return path_ / "devices"; }
  std::filesystem::path config() const { return path_ / "config.yaml"; }
  void write_config(const std::string& text) const { std::ofstream(config()) << text; }

  void write_counts(std::size_t resources, std::size_t devices) const {
    std::string text = "resources:\n";
    for (std::size_t n = 0; n < resources; ++n)
      text += "- {name: " + resource_name(n) + ", count: " + std::to_string(devices) +
              ", env: {\"DEVICES_{resource}\": \"{id}\"}}\n";
    write_config(text);
  }

 private:
  std::filesystem::path path_;
};

[[noreturn]] inline void give_up(const char* what) {
  throw std::runtime_error(std::string("waited in vain: ") + what);
}

inline void wait(const StandInKubelet& kubelet, const char* what,
                 const std::function<bool(const KubeletState&)>& holds) {
  if (!kubelet.wait_for(holds, kPatience)) give_up(what);
}

}  // namespace plughost::bench
