#include "base/document/diagnostics.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

constexpr std::string_view kKnown[] = {"hostPath", "containerPath", "permissions", "id", "readOnly", "warn"};

std::string meant(std::string_view word) { return did_you_mean(word, kKnown); }

TEST_CASE("a diagnostic's text has the place, the path and the error") {
  const Mark mark{.file = "a.yaml", .line = 2, .column = 5};
  CHECK(Diagnostic{.mark = mark, .path = "x.y", .what = "no"}.text() == "a.yaml:2:5: x.y: no");
  CHECK(Diagnostic{.mark = mark, .path = "", .what = "no"}.text() == "a.yaml:2:5: no");
  CHECK(Diagnostic{.mark = {.file = "a.yaml"}, .path = "", .what = "no"}.text() == "a.yaml: no");
}

TEST_CASE("a diagnostic is one line, whatever the configuration contains") {
  const Diagnostic hostile{.mark = {.file = "a.yaml"}, .path = "env.A\nB", .what = "\x1b[31m"};
  CHECK(hostile.text() == "a.yaml: env.A\\x0AB: \\x1B[31m");
}

TEST_CASE("warnings are not errors") {
  Diagnostics diagnostics;
  diagnostics.warning({}, "a", "hm");
  CHECK_FALSE(diagnostics.has_errors());
  diagnostics.error({}, "a", "no");
  CHECK(diagnostics.has_errors());
  CHECK(diagnostics.error_count() == 1);
  CHECK(diagnostics.all().size() == 2);
}

TEST_CASE("of a flood of errors the first are kept and all are counted") {
  Diagnostics diagnostics;
  for (std::size_t i = 0; i < 2 * Diagnostics::kMostKept; ++i) {
    diagnostics.error({}, std::to_string(i), "no");
    diagnostics.warning({}, std::to_string(i), "hm");
  }
  CHECK(diagnostics.all().size() == 2 * Diagnostics::kMostKept);
  CHECK(diagnostics.error_count() == 2 * Diagnostics::kMostKept);
  CHECK(diagnostics.all().back().path == std::to_string(Diagnostics::kMostKept - 1));
}

TEST_CASE("a quotation shows control characters as escapes, and is cut between two characters") {
  CHECK(quote("a\tb") == "'a\\x09b'");
  const std::string cut = quote(std::string(199, 'a') + "\xC3\xA4" + "b");
  CHECK(cut == "'" + std::string(199, 'a') + "...'");
}

TEST_CASE("the most similar known word is suggested") {
  CHECK(meant("permisions") == " (did you mean 'permissions'?)");
  CHECK(meant("premissions") == " (did you mean 'permissions'?)");
  CHECK(meant("host_path") == " (did you mean 'hostPath'?)");
  CHECK(meant("READONLY") == " (did you mean 'readOnly'?)");
  CHECK(meant("ID") == " (did you mean 'id'?)");
  CHECK(meant("warning") == " (did you mean 'warn'?)");
}

TEST_CASE("no suggestion is made for a word without a similar one") {
  CHECK(meant("listen") == "");
  CHECK(meant("xy") == "");
  CHECK(meant("") == "");
  CHECK(meant(std::string(100'000, 'x')) == "");
}

}  // namespace
}  // namespace plughost
