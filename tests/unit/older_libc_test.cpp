// Tests src/older_libc.cpp's replacements for the C library, with which this program is linked.

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <stdlib.h>

#include <cstdint>
#include <set>

namespace {

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

char* pointer(std::uintptr_t number) { return reinterpret_cast<char*>(number); }

dl_find_object object_of(void* address) {
  dl_find_object found{};
  REQUIRE(_dl_find_object(address, &found) == 0);
  return found;
}

}  // namespace

TEST_CASE("_dl_find_object() finds the same object for an address as the C library's own function") {
  auto* const theirs = reinterpret_cast<decltype(&_dl_find_object)>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
  if (theirs == nullptr) return;  // older than 2.35
  REQUIRE((theirs != &_dl_find_object));
  static int own = 0;
  for (void* const address : {static_cast<void*>(&own), reinterpret_cast<void*>(&object_of),
                              dlsym(RTLD_DEFAULT, "malloc"), dlsym(RTLD_DEFAULT, "dlopen")}) {
    dl_find_object expected{};
    REQUIRE(theirs(address, &expected) == 0);
    const dl_find_object found = object_of(address);
    CHECK(found.dlfo_eh_frame == expected.dlfo_eh_frame);
    CHECK(number(found.dlfo_map_start) <= number(address));
    CHECK(number(found.dlfo_map_end) > number(address));
  }
}

TEST_CASE("an object contains its first and its last byte, but not the bytes before and after them") {
  const dl_find_object whole = object_of(reinterpret_cast<void*>(&object_of));
  CHECK(object_of(whole.dlfo_map_start).dlfo_eh_frame == whole.dlfo_eh_frame);
  CHECK(object_of(pointer(number(whole.dlfo_map_end) - 1)).dlfo_eh_frame == whole.dlfo_eh_frame);
  dl_find_object other{};
  CHECK(_dl_find_object(pointer(number(whole.dlfo_map_start) - 1), &other) == -1);
  CHECK(_dl_find_object(whole.dlfo_map_end, &other) == -1);
}

TEST_CASE("an address on the stack, or null, is in no object") {
  dl_find_object found{};
  int in_no_object = 0;
  CHECK(_dl_find_object(&in_no_object, &found) == -1);
  CHECK(_dl_find_object(nullptr, &found) == -1);
}

TEST_CASE("each byte of arc4random() takes different values") {
  std::set<int> bytes[4];
  for (int i = 0; i < 100; ++i) {
    const std::uint32_t number = arc4random();
    for (unsigned byte = 0; byte < 4; ++byte) bytes[byte].insert(static_cast<int>(number >> 8 * byte & 0xff));
  }
  for (const std::set<int>& values : bytes) CHECK(values.size() > 1);
}
