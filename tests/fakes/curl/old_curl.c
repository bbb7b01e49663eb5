/* libcurl as it was before it took certificates as texts. */

#define _GNU_SOURCE
#include <curl/curl.h>
#include <dlfcn.h>
#include <stdarg.h>

#undef curl_easy_setopt

/* A long, an offset or a pointer: all of one size here. */
CURLcode curl_easy_setopt(CURL* easy, CURLoption option, ...) {
  typedef CURLcode (*Function)(CURL*, CURLoption, ...);
  va_list arguments;
  va_start(arguments, option);
  void* const value = va_arg(arguments, void*);
  va_end(arguments);
  if (option >= CURLOPTTYPE_BLOB) return CURLE_UNKNOWN_OPTION;
  return ((Function)dlsym(RTLD_NEXT, "curl_easy_setopt"))(easy, option, value);
}
