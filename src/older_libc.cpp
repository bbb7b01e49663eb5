// Functions of a newer C library that libgcc and libstdc++ call, for the oldest C library that plughost
// supports (glibc 2.34). libgcc and libstdc++ are linked statically and use these functions. Thread-safe.

#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* found;
};

void* pointer(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): the loader gives integers
}

int look_at(dl_phdr_info* object, std::size_t, void* data) {
  const auto& search = *static_cast<Search*>(data);
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  std::uintptr_t handlers = 0;
  for (const auto& part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    const std::uintptr_t at = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) {
      begin = std::min(begin, at);
      end = std::max(end, at + part.p_memsz);
    }
    if (part.p_type == PT_GNU_EH_FRAME) handlers = at;
  }
  if (search.address < begin || search.address >= end || handlers == 0) return 0;
  *search.found = {};
  search.found->dlfo_map_start = pointer(begin);
  search.found->dlfo_map_end = pointer(end);
  search.found->dlfo_eh_frame = pointer(handlers);
  return 1;
}

}  // namespace

// libgcc finds an exception's handlers through this function. The function is hidden because the machine's
// libraries have their own. dlfo_link_map stays null, because libgcc does not read it.
extern "C" __attribute__((visibility("hidden"))) int _dl_find_object(void* address,
                                                                     dl_find_object* result) noexcept {
  Search search{.address = reinterpret_cast<std::uintptr_t>(address), .found = result};
  return ::dl_iterate_phdr(look_at, &search) == 1 ? 0 : -1;
}

// std::random_device calls this function.
extern "C" __attribute__((visibility("hidden"))) std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  // getrandom() returns four bytes or fails; only an interruption by a signal is retried.
  while (::getrandom(&number, sizeof number, 0) != sizeof number)
    if (errno != EINTR) std::abort();
  return number;
}
