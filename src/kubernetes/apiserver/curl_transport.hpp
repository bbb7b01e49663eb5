#pragma once
// libcurl, loaded on first use, and its transfers in the event loop. Loop thread only, except loading.

#include <curl/curl.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/system/unique_fd.hpp"
#include "kubernetes/apiserver/access.hpp"
#include "kubernetes/apiserver/api_request.hpp"

namespace plughost {

// libcurl.so.4 only: libcurl-gnutls.so.4 reads certificates from files only. The library stays loaded,
// because OpenSSL cannot be unloaded.
struct CurlLibrary {
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_pause) easy_pause;
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

  // Returns the library, or why it cannot be used, as a sentence. May block on the file system.
  static std::variant<std::shared_ptr<const CurlLibrary>, std::string> open(const std::string& name);
};

struct CurlRequest {
  std::string method;  // "GET", "POST", "PATCH"
  std::string path;    // after the server's URL, with the query
  std::string content_type;
  std::string body;
  std::string addresses;  // see HostLookup::entry()
};

class CurlTransfer;

// Connections with one identity. A transport lives as long as its transfers.
class CurlTransport : public std::enable_shared_from_this<CurlTransport> {
 public:
  // The maximum size of an answer's head, in bytes.
  static constexpr std::size_t kMostHead = 256u << 10;
  // The maximum number of bytes that wait for the owner. Without it, libcurl reads all that a fast server
  // sends.
  static constexpr std::size_t kMostWaiting = 256u << 10;
  static constexpr std::chrono::seconds kConnectDeadline{10};

  // Allows `most_connections` connections at once, one of which is kept open for later requests. `loop` must
  // outlive the transport. Throws std::runtime_error if libcurl lacks a function.
  CurlTransport(EventLoop& loop, std::shared_ptr<const CurlLibrary> library,
                std::shared_ptr<const ApiAccess> access, long most_connections);
  ~CurlTransport();
  CurlTransport& operator=(CurlTransport&&) = delete;

  const std::shared_ptr<const ApiAccess>& access() const { return access_; }

 private:
  friend class CurlTransfer;

  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* transport, void* ignored);
  static int on_timer(CURLM* multi, long milliseconds, void* transport);
  void watch(int socket, int what);
  void act(int socket, int events);
  void break_down(const std::string& why);
  void deliver();

  EventLoop& loop_;
  std::shared_ptr<const CurlLibrary> library_;
  std::shared_ptr<const ApiAccess> access_;
  CURLM* multi_;
  std::map<int, std::unique_ptr<IoWatch>> sockets_;
  Timer timer_;
  Timer deliver_;
  std::uint64_t next_transfer_ = 1;
  std::map<std::uint64_t, CurlTransfer*> transfers_;
};

// One request with its answer. Dropping a transfer cancels its callbacks.
class CurlTransfer {
 public:
  // No function is called from within the transfer's constructor, and each may drop the transfer.
  class Owner {
   public:
    virtual ~Owner() = default;
    // Called when the head of the answer has arrived. `code` is the HTTP status.
    virtual void on_begin(int code) = 0;
    virtual void on_bytes(std::string_view bytes) = 0;
    // `answer` has no body: on_bytes() has received it. `answer.error` is why the body is missing or cut.
    virtual void on_end(ApiAnswer answer) = 0;
  };

  // `owner` must outlive the transfer.
  CurlTransfer(std::shared_ptr<CurlTransport> transport, CurlRequest request, Owner& owner);
  ~CurlTransfer();
  CurlTransfer& operator=(CurlTransfer&&) = delete;

  // Between pause() and resume(), no function of the owner is called. The sender is paused once kMostWaiting
  // bytes wait.
  void pause() { paused_ = true; }
  void resume();

 private:
  friend class CurlTransport;

  template <typename Value>
  bool set(CURLoption option, Value value);
  void set_pem(CURLoption blob_option, CURLoption file_option, const std::string& pem);
  void set_access(const ApiAccess& access);
  void add(curl_slist*& list, const std::string& line);
  void add_header(const std::string& line) { add(headers_, line); }
  void end(ApiAnswer answer);
  static std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* transfer);
  static std::size_t on_bytes(char* bytes, std::size_t size, std::size_t count, void* transfer);
  void on_header_line(std::string_view line);
  void on_done(CURLcode code);
  bool has_news() const;
  void receive_more();

  std::shared_ptr<CurlTransport> transport_;
  const CurlLibrary& curl_;
  CurlRequest request_;
  Owner& owner_;
  std::uint64_t number_;
  CURL* easy_ = nullptr;
  curl_slist* headers_ = nullptr;
  curl_slist* connect_to_ = nullptr;
  curl_slist* addresses_ = nullptr;
  std::vector<UniqueFd> files_;  // of certificates, for a libcurl that reads files only
  std::string error_;            // written by libcurl
  bool added_ = false;
  bool paused_ = false;
  bool full_ = false;  // libcurl has more bytes than may wait

  std::size_t head_ = 0;  // size of the answer's head so far, in bytes
  std::optional<std::chrono::seconds> retry_after_;
  std::optional<int> began_;      // not reported yet
  std::string bytes_;             // not reported yet
  std::optional<ApiAnswer> end_;  // not reported yet
};

}  // namespace plughost
