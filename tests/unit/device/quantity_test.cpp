#include "device/quantity.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

TEST_CASE("a whole quantity is read in every form that the API server prints") {
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

TEST_CASE("a fraction that a suffix makes whole is whole") {
  CHECK(whole_quantity("1.5k") == 1500);
  CHECK(whole_quantity("0.5Ki") == 512);
  CHECK(whole_quantity(".25k") == 250);
  CHECK(whole_quantity("2.") == 2);
  CHECK(whole_quantity("2.000") == 2);
  CHECK(whole_quantity("3000m") == 3);
  CHECK(whole_quantity("7000000u") == 7);
  CHECK(whole_quantity("9000000000n") == 9);
}

TEST_CASE("what is no whole number from 0 to 2^64 - 1 is none") {
  for (const char* text : {"",      "k",    ".",     "+",     "-1",    "500m", "1.5",
                           "0.3Ki", "1K",   "1ki",   "1kk",   "1 k",   "k1",   "1e",
                           "1e+",   "1e19", "1e-19", "1e1.5", "1.2.3", "0x10", "18446744073709551616",
                           "19E",   "16Ei", "1,000"}) {
    CAPTURE(text);
    CHECK_FALSE(whole_quantity(text));
  }
}

TEST_CASE("a number is written in the largest binary unit that it is made of, from Mi on") {
  CHECK(quantity_text(0) == "0");
  CHECK(quantity_text(1024) == "1024");
  CHECK(quantity_text(1000) == "1000");
  CHECK(quantity_text(std::uint64_t{1} << 20u) == "1Mi");
  CHECK(quantity_text((std::uint64_t{1} << 20u) + 1024) == "1049600");
  CHECK(quantity_text(std::uint64_t{80} << 30u) == "80Gi");
  CHECK(quantity_text(std::uint64_t{1536} << 30u) == "1536Gi");
  CHECK(quantity_text(std::uint64_t{8} << 60u) == "8Ei");
  for (const std::uint64_t number : {std::uint64_t{7}, std::uint64_t{3} << 21u, ~std::uint64_t{0}})
    CHECK(whole_quantity(quantity_text(number)) == number);
}

}  // namespace
}  // namespace plughost
