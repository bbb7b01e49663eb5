#pragma once
// What a benchmark found: a median beside a limit or a peer of the same run.

#include <string>
#include <vector>

namespace plughost::bench {

// Of at least one sample.
double median(std::vector<double> samples);

struct Figure {
  std::string what;
  std::string unit;
  double found = 0;     // a median, or the one value there is
  double worst = 0;     // the largest sample
  double beside = 0;    // the limit, or the peer's median
  std::string besides;  // "limit" or what the peer is
  std::size_t samples = 1;
};

void print_heading();
void print(const Figure& figure);

}  // namespace plughost::bench
