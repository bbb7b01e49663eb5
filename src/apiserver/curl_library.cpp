#include "apiserver/curl_library.hpp"

#include <dlfcn.h>

#include <mutex>

namespace plughost {
namespace {

// false: the library has none of these.
template <typename Function>
bool find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::variant<std::shared_ptr<const CurlLibrary>, std::string> CurlLibrary::open(const std::string& name) {
  void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* const why = ::dlerror();
    return "libcurl is needed to talk to the API server, and cannot be opened: " +
           std::string(why ? why : name) + "; install the package libcurl4 (Debian, Ubuntu) or libcurl";
  }
  const auto library = std::make_shared<CurlLibrary>();
  decltype(&::curl_global_init) global_init = nullptr;
  const bool all = find(handle, global_init, "curl_global_init") &&
                   find(handle, library->easy_init, "curl_easy_init") &&
                   find(handle, library->easy_setopt, "curl_easy_setopt") &&
                   find(handle, library->easy_getinfo, "curl_easy_getinfo") &&
                   find(handle, library->easy_strerror, "curl_easy_strerror") &&
                   find(handle, library->easy_cleanup, "curl_easy_cleanup") &&
                   find(handle, library->multi_init, "curl_multi_init") &&
                   find(handle, library->multi_setopt, "curl_multi_setopt") &&
                   find(handle, library->multi_add_handle, "curl_multi_add_handle") &&
                   find(handle, library->multi_remove_handle, "curl_multi_remove_handle") &&
                   find(handle, library->multi_socket_action, "curl_multi_socket_action") &&
                   find(handle, library->multi_info_read, "curl_multi_info_read") &&
                   find(handle, library->multi_strerror, "curl_multi_strerror") &&
                   find(handle, library->multi_cleanup, "curl_multi_cleanup") &&
                   find(handle, library->slist_append, "curl_slist_append") &&
                   find(handle, library->slist_free_all, "curl_slist_free_all");
  if (!all) return name + " is no libcurl: it lacks one of its functions";
  // Before 7.84 two threads must not do this at once.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const CURLcode code = global_init(CURL_GLOBAL_DEFAULT); code != CURLE_OK)
    return name + " does not begin: " + library->easy_strerror(code);
  return std::shared_ptr<const CurlLibrary>(library);
}

}  // namespace plughost
