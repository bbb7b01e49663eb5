#pragma once
// One benchmark result: a median beside a limit or beside a baseline from the same run.

#include <string>
#include <vector>

namespace plughost::bench {

// Needs at least one sample.
double median(std::vector<double> samples);

struct Figure {
  std::string what;
  std::string unit;
  double found = 0;     // a median, or the only value
  double worst = 0;     // the largest sample
  double beside = 0;    // the limit, or the baseline's median
  std::string besides;  // "limit", or a description of the baseline
  std::size_t samples = 1;
};

void print_heading();
void print(const Figure& figure);

}  // namespace plughost::bench
