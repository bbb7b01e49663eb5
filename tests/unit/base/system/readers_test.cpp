#include "base/system/readers.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

struct Reader final : FeedReader {
  int news = 0;
  int closed = 0;

  void on_news() override { ++news; }
  void on_closed() override { ++closed; }
};

}  // namespace

TEST_CASE("readers: those of other groups are dismissed, and the others go on") {
  Readers readers;
  const auto former = std::make_shared<Reader>();
  const auto present = std::make_shared<Reader>();
  readers.subscribe(former, 1);
  readers.subscribe(present, 2);
  readers.dismiss_others(2);
  readers.notify();
  CHECK(former->closed == 1);
  CHECK(former->news == 0);
  CHECK(present->closed == 0);
  CHECK(present->news == 1);
  readers.unsubscribe(present.get());
  CHECK(readers.empty());
}

TEST_CASE("readers: after all were dismissed another may subscribe, and after the end none") {
  Readers readers;
  const auto dismissed = std::make_shared<Reader>();
  readers.subscribe(dismissed);
  readers.dismiss();
  CHECK(dismissed->closed == 1);
  const auto ended = std::make_shared<Reader>();
  readers.subscribe(ended);
  CHECK(ended->closed == 0);
  readers.close();
  CHECK(ended->closed == 1);
  const auto late = std::make_shared<Reader>();
  readers.subscribe(late);
  CHECK(late->closed == 1);
  CHECK(readers.empty());
}

}  // namespace plughost
