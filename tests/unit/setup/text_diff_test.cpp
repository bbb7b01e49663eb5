#include "setup/text_diff.hpp"

#include <doctest/doctest.h>

using namespace plughost;

TEST_CASE("a file that comes or goes is one whole hunk, and what is equal is nothing") {
  CHECK(text_diff("/f", std::nullopt, "a\nb\n") == "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n");
  CHECK(text_diff("/f", "a\n", std::nullopt) == "--- a/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
  CHECK(text_diff("/f", "a\n", "a\n").empty());
  CHECK(text_diff("/f", std::nullopt, std::nullopt).empty());
}

TEST_CASE("lines that stay are shown, and those that go stand before those that come") {
  CHECK(text_diff("/f", "a\nb\nc\n", "a\nx\nc\nd\n") ==
        "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n a\n-b\n+x\n c\n+d\n");
  CHECK(text_diff("/f", "a\na\nb\n", "a\nb\n") == "--- a/f\n+++ b/f\n@@ -1,3 +1,2 @@\n a\n-a\n b\n");
}

TEST_CASE("a text without its last newline is told as patch(1) wants it") {
  CHECK(text_diff("/f", "a", "a\n") ==
        "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n");
}
