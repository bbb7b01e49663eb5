#include "base/text/json.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

using namespace plughost;

namespace {

// A document with each kind of value.
const std::string kText =
    R"({"name":"a \"b\" \\ \u0001\b\f\n\r\t/","none":null,"yes":true,"no":false,"least":-9223372036854775808,)"
    R"("most":9223372036854775807,"empty":[],"nothing":{},"list":[1,"two",[3],{"four":4}],"inner":{"z":1,"a":2}})";

}  // namespace

TEST_CASE("JSON that is read is written unchanged, members in their order") {
  CHECK(Json::parse(kText).dump() == kText);
}

TEST_CASE("JSON is written as nlohmann/json writes it, on one line and indented") {
  const auto other = nlohmann::ordered_json::parse(kText);
  CHECK(Json::parse(kText).dump() == other.dump());
  CHECK(Json::parse(kText).dump_indented() == other.dump(2));
}

TEST_CASE("control characters and characters that change the writing direction are escaped, and no others") {
  for (int byte = 0; byte < 0x80; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    CAPTURE(byte);
    const bool is_delete = byte == 0x7f;
    CHECK(json_string(text) == (is_delete ? "\"\\u007f\"" : nlohmann::json(text).dump()));
  }
  CHECK(json_string("\xC2\x9B\xE2\x80\xAE") == "\"\\u009b\\u202e\"");
  CHECK(json_string("é \xE2\x82\xAC \xF0\x9F\x92\xA1") == "\"é \xE2\x82\xAC \xF0\x9F\x92\xA1\"");
}

TEST_CASE("invalid UTF-8 is replaced, and the rest stays") {
  CHECK(json_string("a\xFFz") == "\"a\xEF\xBF\xBDz\"");
  CHECK(json_string("\xE2\x82") == "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  CHECK(Json::Object{{"k\xC0", "v\xC1"}}.size() == 1);
  CHECK(nlohmann::json::accept(Json(Json::Object{{"k\xC0", "v\xC1"}}).dump()));
}

TEST_CASE("a JSON value can be created from C++ values") {
  const Json json{{"text", "a"},
                  {"string", std::string("b")},
                  {"number", 7u},
                  {"negative", -7},
                  {"truth", true},
                  {"words", std::vector<std::string>{"x", "y"}},
                  {"numbers", std::vector<int>{1, 2}},
                  {"map", std::map<std::string, std::string>{{"k", "v"}}},
                  {"there", std::optional<int>(5)},
                  {"not there", std::optional<int>()},
                  {"one", {{"only", "member"}}},
                  {"null", nullptr == nullptr ? Json() : Json(1)}};
  CHECK(json.dump() ==
        R"({"text":"a","string":"b","number":7,"negative":-7,"truth":true,"words":["x","y"],"numbers":[1,2],)"
        R"("map":{"k":"v"},"there":5,"not there":null,"one":{"only":"member"},"null":null})");
}

TEST_CASE("null becomes an object or an array when a member is added") {
  Json json;
  CHECK(json.is_null());
  json["a"]["b"] = 1;
  json["a"]["b"] = 2;
  json["list"].push_back("x");
  json["list"].push_back("y") = "z";
  CHECK(json.dump() == R"({"a":{"b":2},"list":["x","z"]})");
}

TEST_CASE("a missing member, and a member of a different type, are read as an empty value") {
  const Json json = Json::parse(R"({"text":"a","number":3,"truth":true,"list":[1],"object":{"k":1}})");
  CHECK(json["text"].text() == "a");
  CHECK(json["number"].number() == 3);
  CHECK(json["truth"].truth());
  CHECK(json["list"].array().size() == 1);
  CHECK(json["object"].object().size() == 1);
  CHECK(json["object"]["k"].number() == 1);
  for (const Json& other : {json["nothing"], json["nothing"]["below"], Json()}) {
    CHECK(other.is_null());
    CHECK(other.text().empty());
    CHECK(other.number() == 0);
    CHECK_FALSE(other.truth());
    CHECK(other.array().empty());
    CHECK(other.object().empty());
  }
  CHECK(json["number"].text().empty());
  CHECK(json["text"].number() == 0);
  CHECK(json["text"]["below"].is_null());
}

TEST_CASE("invalid JSON, and a number that cannot be kept, are reported") {
  for (const char* text : {"", "{", "[1,]", "nul", "{\"a\":1} x", "1.5", "18446744073709551615"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(Json::parse(text), std::runtime_error);
  }
  CHECK(Json::parse("9223372036854775807").number() == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("JSON that is nested too deeply is refused") {
  const auto nested = [](std::size_t depth) {
    return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + '}';
  };
  CHECK(Json::parse(nested(Json::kDeepest)).dump() == nested(Json::kDeepest));
  for (const std::size_t depth : {Json::kDeepest + 1, std::size_t{500'000}})
    CHECK_THROWS_WITH_AS(Json::parse(nested(depth)), "this JSON is nested more than 64 deep",
                         std::runtime_error);
  CHECK_THROWS_AS(Json::parse(std::string(500'000, '[')), std::runtime_error);
  // Values that are left out count for the depth.
  CHECK_THROWS_AS(Json::parse(nested(Json::kDeepest + 1), {.left_out = "a"}), std::runtime_error);
  CHECK(Json::parse(nested(Json::kDeepest), {.left_out = "a"}).dump() == "{}");
}

TEST_CASE("the number of parsed values can be limited, and a named member can be left out") {
  const std::string text = R"({"a":[1,{"b":2}],"c":{"a":3,"d":[4]},"e":5})";
  CHECK(Json::parse(text, {.most_values = 10}).dump() == text);
  CHECK_THROWS_WITH_AS(Json::parse(text, {.most_values = 9}), "this JSON has more than 9 values",
                       std::runtime_error);
  CHECK(Json::parse(text, {.left_out = "a"}).dump() == R"({"c":{"d":[4]},"e":5})");
  CHECK(Json::parse(text, {.left_out = "e"}).dump() == R"({"a":[1,{"b":2}],"c":{"a":3,"d":[4]}})");
  CHECK_THROWS_AS(Json::parse(text, {.most_values = 9, .left_out = "a"}), std::runtime_error);
}

TEST_CASE("only the named members are kept, each of them whole") {
  const auto kept = [](std::string_view text, std::vector<std::string> names) {
    const JsonPart part = parse_json_part(text, {.kept = names});
    CHECK(part.error.empty());
    return part.value.dump();
  };
  const std::string_view text =
      R"({"a":{"b":{"x":1},"bc":2,"d.e":3},"list":[{"name":"n","other":[1]},[{"name":"m"}],4],"b":{"x":5}})";
  CHECK(kept(text, {"a"}) == R"({"a":{"b":{"x":1},"bc":2,"d.e":3}})");
  CHECK(kept(text, {"a.b"}) == R"({"a":{"b":{"x":1}}})");
  CHECK(kept(text, {"a.b.x", "a.bc"}) == R"({"a":{"b":{"x":1},"bc":2}})");
  CHECK(kept(text, {"list.name"}) == R"({"list":[{"name":"n"},[{"name":"m"}],4]})");
  CHECK(kept(text, {"a.b.x.y", "nothing"}) == R"({"a":{"b":{"x":1}}})");
  CHECK(kept("[{\"a\":1,\"b\":2},null]", {"b"}) == R"([{"b":2},null])");
  CHECK(kept("3", {"b"}) == "3");
}

TEST_CASE("of a text that is cut off the beginning is parsed, and the error says why the rest is missing") {
  const auto read = [](std::string_view text, const JsonTerms& terms = {}) {
    return parse_json_part(text, terms);
  };
  const JsonPart cut = read(R"({"a":{"b":[1,{"c":"d","e":"f)");
  CHECK(cut.value.dump() == R"({"a":{"b":[1,{"c":"d"}]}})");
  CHECK(cut.error.starts_with("this is no JSON: byte "));
  CHECK(read(R"({"a":1,"x":{"y":[)", {.left_out = "x"}).value.dump() == R"({"a":1})");
  CHECK(read("").value.is_null());
  CHECK(read("{\"a\":1,\"\xff").value.dump() == R"({"a":1})");
  const JsonPart many = read("[1,2,3]", {.most_values = 2});
  CHECK(many.value.dump() == "[1]");
  CHECK(many.error == "this JSON has more than 2 values");
}

TEST_CASE("parsing ends with an error when the kept values exceed the memory limit") {
  const std::string text = R"({"wanted":["a","b","c"],"other":[1,2,3,4,5,6,7,8]})";
  const std::vector<std::string> kept{"wanted"};
  const JsonPart all = parse_json_part(text, {.kept = kept});
  CHECK(all.bytes >= 3 * sizeof(Json));
  CHECK(parse_json_part(text, {.kept = kept, .most_kept = all.bytes}).error.empty());
  const JsonPart less = parse_json_part(text, {.kept = kept, .most_kept = all.bytes - 1});
  CHECK(less.error ==
        "the parsed part of this JSON takes more than " + std::to_string(all.bytes - 1) + " bytes");
  CHECK(parse_json_part(text, {}).bytes > all.bytes);
}

TEST_CASE("a number that is not a 64-bit integer is refused, or kept as text if the caller wants it") {
  for (const std::string text : {"1.5", "1e3", "-0.25", "9223372036854775808", "123456789012345678901234"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(Json::parse(text), (text + " is not a 64-bit integer").c_str(), std::runtime_error);
    CHECK(Json::parse(text, {.other_numbers_as_text = true}) == Json(text));
  }
}

TEST_CASE("invalid JSON is reported on one line, however long it is") {
  CHECK_THROWS_WITH_AS(Json::parse("{\n\n\"a\": nonsense}"), "this is no JSON: byte 10 does not fit",
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(Json::parse('"' + std::string(100'000, '\n')), "this is no JSON: byte 2 does not fit",
                       std::runtime_error);
}
