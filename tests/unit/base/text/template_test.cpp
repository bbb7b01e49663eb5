#include "base/text/template.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

std::optional<std::string> one_gpu(std::string_view placeholder) {
  if (placeholder == "id") return "gpu-{1}";
  if (placeholder == "n") return "0";
  return std::nullopt;
}

std::size_t error_offset(std::string_view text) {
  try {
    Template{text};
  } catch (const TemplateError& error) {
    return error.offset;
  }
  return std::string_view::npos;
}

TEST_CASE("a template expands its placeholders and keeps the rest") {
  CHECK(Template("a/{id}/{n}{n}z").expand(one_gpu) == "a/gpu-{1}/00z");
  CHECK(Template("").expand(one_gpu) == "");
}

TEST_CASE("doubled braces are literal braces") {
  CHECK(Template("{{id}}").expand(one_gpu) == "{id}");
  CHECK(Template("{{{id}}}").expand(one_gpu) == "{gpu-{1}}");
  CHECK(Template("}}{{").literal());
}

TEST_CASE("a placeholder without a value is reported by name") {
  std::string missing;
  CHECK_FALSE(Template("{id}-{serial}").expand(one_gpu, &missing));
  CHECK(missing == "serial");
}

TEST_CASE("a template lists its placeholders in order") {
  const Template pattern("{n}-{id}-{n}");
  CHECK(pattern.placeholders() == std::vector<std::string_view>{"n", "id", "n"});
  CHECK(pattern.names("id"));
  CHECK_FALSE(pattern.names("i"));
  CHECK_FALSE(pattern.literal());
}

TEST_CASE("an invalid template is reported with the place") {
  CHECK(error_offset("ab{") == 2);
  CHECK(error_offset("ab}c") == 2);
  CHECK(error_offset("{id") == 0);
  CHECK(error_offset("x{}") == 1);
  CHECK(error_offset("x{1d}") == 1);
  CHECK(error_offset("x{a b}") == 1);
  CHECK(error_offset("{id}}") == 4);
  CHECK(error_offset("{id}{Id_2}") == std::string_view::npos);
  CHECK_THROWS_WITH_AS(Template("}"), "'}' has no '{' before it; write '}}' for the brace itself",
                       TemplateError);
}

TEST_CASE("escaped text expands to itself") {
  for (const std::string text : {"", "plain", "{id}", "}{", "{{n}}"}) {
    const Template pattern(Template::escape(text));
    CHECK(pattern.literal());
    CHECK(pattern.expand(one_gpu) == text);
  }
}

TEST_CASE("binding inserts known values as literal text and keeps other placeholders") {
  const Template bound = Template("{{x}}/{id}/{serial}").bind(one_gpu);
  CHECK(bound.text() == "{{x}}/gpu-{{1}}/{serial}");
  CHECK(bound.expand([](std::string_view) { return "S"; }) == "{x}/gpu-{1}/S");
}

}  // namespace
}  // namespace plughost
