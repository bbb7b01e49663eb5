#include "base/text/quantity.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

TEST_CASE("a whole quantity is read in every form of the API server") {
  CHECK(whole_quantity("0") == 0);
  CHECK(whole_quantity("8") == 8);
  CHECK(whole_quantity("1k") == 1000);
  CHECK(whole_quantity("2M") == 2'000'000);
  CHECK(whole_quantity("3G") == 3'000'000'000);
  CHECK(whole_quantity("4T") == 4'000'000'000'000);
  CHECK(whole_quantity("5P") == 5'000'000'000'000'000);
  CHECK(whole_quantity("6E") == 6'000'000'000'000'000'000);
  CHECK(whole_quantity("1Ki") == 1024);
  CHECK(whole_quantity("2Mi") == 2'097'152);
  CHECK(whole_quantity("3Gi") == 3'221'225'472);
  CHECK(whole_quantity("1Ti") == 1'099'511'627'776);
  CHECK(whole_quantity("1Pi") == 1'125'899'906'842'624);
  CHECK(whole_quantity("1Ei") == 1'152'921'504'606'846'976);
  CHECK(whole_quantity("1e3") == 1000);
  CHECK(whole_quantity("12E2") == 1200);
  CHECK(whole_quantity("12e+2") == 1200);
  CHECK(whole_quantity("1200e-2") == 12);
  CHECK(whole_quantity("+7") == 7);
  CHECK(whole_quantity("18446744073709551615") == 18'446'744'073'709'551'615U);
}

TEST_CASE("a fraction that a suffix makes whole is accepted") {
  CHECK(whole_quantity("1.5k") == 1500);
  CHECK(whole_quantity("0.5Ki") == 512);
  CHECK(whole_quantity(".25k") == 250);
  CHECK(whole_quantity("2.") == 2);
  CHECK(whole_quantity("2.000") == 2);
  CHECK(whole_quantity("3000m") == 3);
  CHECK(whole_quantity("7000000u") == 7);
  CHECK(whole_quantity("9000000000n") == 9);
}

TEST_CASE("only whole numbers from 0 to 2^64 - 1 are quantities") {
  for (const char* text : {"",      "k",    ".",     "+",     "-1",    "500m", "1.5",
                           "0.3Ki", "1K",   "1ki",   "1kk",   "1 k",   "k1",   "1e",
                           "1e+",   "1e19", "1e-19", "1e1.5", "1.2.3", "0x10", "18446744073709551616",
                           "19E",   "16Ei", "1,000"}) {
    CAPTURE(text);
    CHECK_FALSE(whole_quantity(text));
  }
}

}  // namespace
}  // namespace plughost
