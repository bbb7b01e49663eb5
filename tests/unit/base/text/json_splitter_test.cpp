#include "base/text/json.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace plughost;

namespace {

using Form = JsonSplitter::Form;
using Texts = std::vector<std::string>;

struct Split {
  Form form;
  JsonSplitter splitter;
  Texts texts;
  Texts cut;  // texts that exceeded the limit: their beginnings

  explicit Split(Form its_form, std::size_t most = 1000) : form(its_form), splitter(its_form, most) {}
  Split& feed(std::string_view bytes) {
    splitter.feed(bytes, [this](JsonSplitter::Piece piece) {
      (piece.whole ? texts : cut).push_back(std::move(piece.text));
    });
    return *this;
  }
  std::string rest() const { return splitter.rest().text; }
};

const std::string kLong(JsonSplitter::kLongestString + 1, 'x');

}  // namespace

TEST_CASE("lines arrive whole, however the bytes are cut") {
  const std::string text = "one\n{\"a\":\"\\\"}\\\\\"}\n\n \r\n[three]\nfou";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    CAPTURE(size);
    Split split(Form::kLines);
    for (std::size_t at = 0; at < text.size(); at += size) split.feed(text.substr(at, size));
    CHECK(split.texts == Texts{"one", "{\"a\":\"\\\"}\\\\\"}", "[three]"});
    CHECK(split.feed("r\n").texts.back() == "four");
  }
}

TEST_CASE(
    "each list item is delivered whole, and the rest contains no items, however the bytes are divided "
    "between calls") {
  const std::string text =
      R"({"kind":"List", "items" : [ {"a":[1,{"b":"],}\""}]},{},3,"x"] ,"metadata":{"items":[1]}})";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    CAPTURE(size);
    Split split(Form::kItems);
    for (std::size_t at = 0; at < text.size(); at += size) split.feed(text.substr(at, size));
    CHECK(split.texts == Texts{R"( {"a":[1,{"b":"],}\""}]})", "{}", "3", "\"x\""});
    CHECK(split.rest() == R"({"kind":"List", "items" : [] ,"metadata":{"items":[1]}})");
  }
}

TEST_CASE("only the values in the array `items` of the outermost object count as items") {
  for (const std::string text :
       {R"({"a":{"items":[1]}})", R"([1,2])", R"({"items":{"a":[1]}})", R"({"items":null})",
        R"({"x\"items":[1]})", R"({"x,\"items":[1]})", R"({"a":"\"items\":","b":[1]})", R"({"items":"[1]"})",
        "", "]]]}", "items:[1]"}) {
    CAPTURE(text);
    Split split(Form::kItems);
    CHECK(split.feed(text).texts.empty());
    CHECK(split.rest() == text);
  }
  CHECK(Split(Form::kItems).feed(R"({"items":[]})").texts.empty());
  CHECK(Split(Form::kItems).feed(R"({"items":[1,],"items":[2]})").texts == Texts{"1", "2"});
  // An incomplete or malformed item is not reported.
  CHECK(Split(Form::kItems).feed(R"({"items":[1,{"a":2)").texts == Texts{"1"});
  CHECK(Split(Form::kItems).feed(R"({"items":[1}})").rest() == R"({"items":[}})");
}

TEST_CASE("a text may be as long as the limit, and of a longer one the beginning is kept") {
  for (const std::size_t size : {1u, 2u, 5u}) {
    Split lines(Form::kLines, 4);
    Split items(Form::kItems, 4);
    const std::string text = "1234\n12345\n123456789\n1\n";
    const std::string list = R"({"items":[1234,12345,123456789,1]})";
    for (std::size_t at = 0; at < text.size(); at += size) lines.feed(text.substr(at, size));
    for (std::size_t at = 0; at < list.size(); at += size) items.feed(list.substr(at, size));
    CHECK(lines.texts == Texts{"1234", "1"});
    CHECK(lines.cut == Texts{"1234", "1234"});
    CHECK(items.texts == Texts{"1234", "1"});
    CHECK(items.cut == Texts{"1234", "1234"});
  }
}

TEST_CASE("only the beginning of a text that is far too long is stored") {
  constexpr std::size_t kMost = std::size_t{1} << 20u;
  for (const Form form : {Form::kLines, Form::kItems}) {
    Split split(form, kMost);
    if (form == Form::kItems) split.feed(R"({"items":[)");
    const std::string part = R"({"name":"a","many":[)" + std::string(100'000, '1');
    for (int i = 0; i < 100; ++i) {
      split.feed(part);
      CHECK(split.splitter.held() <= kMost);
    }
    CHECK(split.splitter.held() == JsonSplitter::kBeginning);
    split.feed(form == Form::kLines ? "\n2\n" : "");
    if (form == Form::kLines) CHECK(split.texts == Texts{"2"});
  }
  Split rest(Form::kItems);
  CHECK_FALSE(rest.feed(std::string(200'000, ' ')).splitter.rest().whole);
  CHECK(rest.rest().size() <= JsonSplitter::kBeginning);
}

TEST_CASE("a too long string is emptied, and the text around it kept") {
  for (const std::size_t size : {1u, 3u, 700u, 5000u}) {
    CAPTURE(size);
    const std::string escaped = std::string(5, 'x') + "\\\"\\u003c" + kLong + "\\\\";
    const std::string object =
        R"({"a":")" + kLong + R"(","b":")" + kLong.substr(1) + R"(","c":")" + escaped + R"(","d":1})";
    const std::string wanted = R"({"a":"","b":")" + kLong.substr(1) + R"(","c":"","d":1})";
    const std::string list = R"({"items":[)" + object + ',' + object + R"(],"more":")" + kLong + R"("})";
    Split lines(Form::kLines, 4000);
    Split items(Form::kItems, 4000);
    for (std::size_t at = 0; at < object.size(); at += size) lines.feed(object.substr(at, size));
    for (std::size_t at = 0; at < list.size(); at += size) items.feed(list.substr(at, size));
    CHECK(lines.feed("\n").texts == Texts{wanted});
    CHECK(items.texts == Texts{wanted, wanted});
    // In the rest, long strings are kept, because the rest has the token of the next page.
    CHECK(items.rest() == R"({"items":[],"more":")" + kLong + R"("})");
  }
}

TEST_CASE("a line feed ends a line, even within a string") {
  CHECK(Split(Form::kLines).feed("{\"a\":\"b\n{}\n\"\\\n1\n").texts ==
        Texts{"{\"a\":\"b", "{}", "\"\\", "1"});
}
