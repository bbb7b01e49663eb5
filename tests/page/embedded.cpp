// The status page and its policy as embedded in the binary, for tests/page/run.

#include <cstdio>
#include <string_view>

#include "embedded/page.hpp"

int main(int argc, char** argv) {
  const std::string_view asked = argc > 1 ? argv[1] : "";
  if (asked != "page" && asked != "policy") return 2;
  const std::string_view text = asked == "page" ? plughost::kPage : plughost::kPagePolicy;
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
}
