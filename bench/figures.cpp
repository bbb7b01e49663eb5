#include "figures.hpp"

#include <algorithm>
#include <cstdio>

namespace plughost::bench {

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

void print_heading() {
  std::printf("| what | median | worst | of | beside | ratio |\n|---|---|---|---|---|---|\n");
}

void print(const Figure& f) {
  std::printf("| %s | %.2f %s | %.2f | %zu | %s %.2f | %.2f |\n", f.what.c_str(), f.found, f.unit.c_str(),
              f.worst, f.samples, f.besides.c_str(), f.beside, f.beside > 0 ? f.found / f.beside : 0.0);
  std::fflush(stdout);
}

}  // namespace plughost::bench
