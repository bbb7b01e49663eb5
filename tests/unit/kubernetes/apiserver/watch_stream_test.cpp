#include "kubernetes/apiserver/api_watch.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "kubernetes/apiserver/api_request.hpp"

using namespace plughost;

namespace {

std::variant<WatchEvent, std::string> parse_watch_event(std::string_view line) {
  return watch_event_of(parse_api_part(line, {}, 1'000'000));
}

std::string error_of(std::string_view line) {
  const auto event = parse_watch_event(line);
  REQUIRE(std::holds_alternative<std::string>(event));
  return std::get<std::string>(event);
}

Json json_of(std::string_view text) {
  const auto parsed = parse_api_json(text);
  REQUIRE(std::holds_alternative<Json>(parsed));
  return std::get<Json>(parsed);
}

}  // namespace

TEST_CASE("an event has its type, its object and the object's version") {
  using Type = WatchEvent::Type;
  const std::vector<std::pair<std::string, Type>> types{{"ADDED", Type::kAdded},
                                                        {"MODIFIED", Type::kModified},
                                                        {"DELETED", Type::kDeleted},
                                                        {"BOOKMARK", Type::kBookmark}};
  for (const auto& [word, type] : types) {
    const auto event = parse_watch_event(R"({"type":")" + word +
                                         R"(","object":{"metadata":{"name":"a","resourceVersion":"7"}}})");
    REQUIRE(std::holds_alternative<WatchEvent>(event));
    CHECK(std::get<WatchEvent>(event).type == type);
    CHECK(std::get<WatchEvent>(event).resource_version == "7");
    CHECK(std::get<WatchEvent>(event).object["metadata"]["name"].text() == "a");
  }
}

TEST_CASE("an ERROR event is read with the server's code and message") {
  const auto event = parse_watch_event(
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old resource version"}})");
  REQUIRE(std::holds_alternative<WatchEvent>(event));
  CHECK(std::get<WatchEvent>(event).type == WatchEvent::Type::kError);
  CHECK(std::get<WatchEvent>(event).code == 410);
  CHECK(std::get<WatchEvent>(event).message == "too old resource version");
}

TEST_CASE("an invalid event is refused with the reason") {
  CHECK(error_of("{").find("this is no JSON: byte") != std::string::npos);
  CHECK(error_of(R"({"type":"OTHER","object":{"a":1}})").find("'OTHER'") != std::string::npos);
  CHECK(error_of(R"({"type":"ADDED"})") == "an event of the watch has no object");
  CHECK(error_of("[]").find("of the type ''") != std::string::npos);
}

TEST_CASE(
    "an event that is cut off is read if its object's name is complete, with the reason why it is "
    "incomplete") {
  const std::string line =
      R"({"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"7"},"spec":{"x)";
  const auto event = parse_watch_event(line);
  REQUIRE(std::holds_alternative<WatchEvent>(event));
  CHECK(std::get<WatchEvent>(event).resource_version == "7");
  CHECK(std::get<WatchEvent>(event).error.find("this is no JSON") != std::string::npos);
  CHECK(error_of(line.substr(0, line.find("name"))).find("cannot be read: this is no JSON") !=
        std::string::npos);
}

TEST_CASE("members of an event that have an unexpected type are read as absent") {
  for (const std::string object : {R"({"metadata":[1]})", R"({"metadata":{"resourceVersion":[]}})"}) {
    const auto event = parse_watch_event(R"({"type":"ERROR","object":)" + object + "}");
    REQUIRE(std::holds_alternative<WatchEvent>(event));
    CHECK(std::get<WatchEvent>(event).resource_version.empty());
    CHECK(std::get<WatchEvent>(event).code == 0);
  }
}

TEST_CASE("an object is kept without managedFields, in each of its places, and otherwise whole") {
  CHECK(json_of(R"({"a":{"managedFields":[{"f:b":{}},1],"c":[true,null,"x"]},"managedFields":"y","d":-3})")
            .dump() == R"({"a":{"c":[true,null,"x"]},"d":-3})");
}

TEST_CASE("a number that is not a 64-bit integer is kept as text") {
  CHECK(json_of(R"([1.50,9223372036854775807,9223372036854775808,-9223372036854775808])").dump() ==
        R"(["1.50",9223372036854775807,"9223372036854775808",-9223372036854775808])");
}

TEST_CASE("a refusal has the server's message, cut and printable") {
  CHECK(refusal_text(403, R"({"kind":"Status","message":"pods is forbidden","code":403})") ==
        "403 Forbidden: pods is forbidden");
  CHECK(refusal_text(502, "<html>\n<body>") == "502: <html>");
  CHECK(refusal_text(429, "") == "429 Too Many Requests");
  CHECK(refusal_text(409, R"({"message":"a\nb\u001b[1m"})") == "409 Conflict: a\\x0Ab\\x1B[1m");
  const std::string long_text = refusal_text(422, R"({"message":")" + std::string(301, 'x') + "\"}");
  CHECK(long_text == "422 Unprocessable Entity: " + std::string(300, 'x') + "…");
  CHECK(refusal_text(500, R"({"message":")" + std::string(300, 'x') + "\"}").ends_with("xx"));
}

TEST_CASE("the text that describes a request leaves out the URL's query") {
  CHECK(wanted_text(ApiVerb::kList, "/api/v1/pods?limit=500") == "to list /api/v1/pods");
  CHECK(wanted_text(ApiVerb::kPatch, "") == "to patch");
}

TEST_CASE("values in a URL are encoded") {
  CHECK(url_encoded("spec.nodeName=a,b c/Ü~_-") == "spec.nodeName%3Da%2Cb%20c%2F%C3%9C~_-");
}
