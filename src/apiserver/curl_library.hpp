#pragma once
// libcurl, opened when it is first needed: nothing of it is needed to start. Thread-safe.

#include <curl/curl.h>

#include <memory>
#include <string>
#include <variant>

namespace plughost {

// libcurl.so.4 and no other: libcurl-gnutls.so.4 takes certificates from files only. What was opened stays
// open, because OpenSSL cannot be unloaded.
struct CurlLibrary {
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_multi_init) multi_init;
  decltype(&::curl_multi_setopt) multi_setopt;
  decltype(&::curl_multi_add_handle) multi_add_handle;
  decltype(&::curl_multi_remove_handle) multi_remove_handle;
  decltype(&::curl_multi_socket_action) multi_socket_action;
  decltype(&::curl_multi_info_read) multi_info_read;
  decltype(&::curl_multi_strerror) multi_strerror;
  decltype(&::curl_multi_cleanup) multi_cleanup;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;

  // Or why there is none, as a sentence. May block on the file system.
  static std::variant<std::shared_ptr<const CurlLibrary>, std::string> open(const std::string& name);
};

}  // namespace plughost
