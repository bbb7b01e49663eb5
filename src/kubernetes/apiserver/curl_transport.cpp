#include "kubernetes/apiserver/curl_transport.hpp"

#include <dlfcn.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/text/ascii.hpp"
#include "base/text/network_address.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

// Returns false if the library does not have the function.
template <typename Function>
bool find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

constexpr long kKeepAliveIdle = 30;  // seconds
constexpr long kKeepAliveInterval = 15;

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
                   find(handle, library->easy_pause, "curl_easy_pause") &&
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
  if (!all) return name + " is not libcurl: it lacks one of its functions";
  // curl_global_init() is thread-safe only since libcurl 7.84.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const CURLcode code = global_init(CURL_GLOBAL_DEFAULT); code != CURLE_OK)
    return name + " does not begin: " + library->easy_strerror(code);
  return std::shared_ptr<const CurlLibrary>(library);
}

CurlTransport::CurlTransport(EventLoop& loop, std::shared_ptr<const CurlLibrary> library,
                             std::shared_ptr<const ApiAccess> access, long most_connections)
    : loop_(loop),
      library_(std::move(library)),
      access_(std::move(access)),
      multi_(library_->multi_init()),
      timer_(loop, [this] { act(CURL_SOCKET_TIMEOUT, 0); }),
      deliver_(loop, [this] { deliver(); }) {
  if (!multi_) throw std::runtime_error("libcurl has no memory");
  library_->multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlTransport::on_socket);
  library_->multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  library_->multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlTransport::on_timer);
  library_->multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  library_->multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, most_connections);
  library_->multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 1L);
}

CurlTransport::~CurlTransport() { library_->multi_cleanup(multi_); }

// libcurl is written in C: exceptions must not pass through it.
int CurlTransport::on_socket(CURL* /*easy*/, curl_socket_t socket, int what, void* transport,
                             void* /*ignored*/) {
  try {
    static_cast<CurlTransport*>(transport)->watch(socket, what);
    return 0;
  } catch (const std::exception&) {
    return -1;
  }
}

int CurlTransport::on_timer(CURLM* /*multi*/, long milliseconds, void* transport) {
  Timer& timer = static_cast<CurlTransport*>(transport)->timer_;
  if (milliseconds < 0)
    timer.cancel();
  else
    timer.arm(std::chrono::milliseconds(milliseconds));
  return 0;
}

void CurlTransport::watch(int socket, int what) {
  sockets_.erase(socket);  // before the next watch, because a descriptor can be registered only once
  if (what == CURL_POLL_REMOVE) return;
  const std::uint32_t in = what == CURL_POLL_IN || what == CURL_POLL_INOUT ? EPOLLIN : 0u;
  const std::uint32_t out = what == CURL_POLL_OUT || what == CURL_POLL_INOUT ? EPOLLOUT : 0u;
  sockets_[socket] = std::make_unique<IoWatch>(loop_, socket, in | out, [this, socket](std::uint32_t events) {
    const bool broken = (events & (EPOLLERR | EPOLLHUP)) != 0;
    act(socket, ((events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                    ((events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) | (broken ? CURL_CSELECT_ERR : 0));
  });
}

void CurlTransport::act(int socket, int events) {
  int running = 0;
  const CURLMcode code = library_->multi_socket_action(multi_, socket, events, &running);
  int left = 0;
  while (const CURLMsg* const message = library_->multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode result = message->data.result;
    const auto found = std::ranges::find_if(
        transfers_, [&](const auto& each) { return each.second->easy_ == message->easy_handle; });
    if (found != transfers_.end()) found->second->on_done(result);
  }
  if (code != CURLM_OK) break_down(std::string("libcurl: ") + library_->multi_strerror(code));
  const bool news = std::ranges::any_of(transfers_, [](const auto& each) { return each.second->has_news(); });
  if (news) deliver_.arm(std::chrono::milliseconds(0));
}

void CurlTransport::break_down(const std::string& why) {
  for (const auto& [number, transfer] : transfers_) transfer->end({.error = why});
}

void CurlTransport::deliver() {
  const auto self = shared_from_this();  // keeps this transport if an owner drops the last transfer
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, transfer] : transfers_) numbers.push_back(number);
  const auto with = [&](std::uint64_t number, auto tell) {
    const auto found = transfers_.find(number);
    if (found != transfers_.end() && !found->second->paused_) tell(*found->second);
  };
  for (const std::uint64_t number : numbers) {
    with(number, [](CurlTransfer& transfer) {
      if (const auto code = std::exchange(transfer.began_, std::nullopt)) transfer.owner_.on_begin(*code);
    });
    with(number, [](CurlTransfer& transfer) {
      if (const std::string bytes = std::exchange(transfer.bytes_, {}); !bytes.empty())
        transfer.owner_.on_bytes(bytes);
    });
    with(number, [](CurlTransfer& transfer) {
      if (auto end = std::exchange(transfer.end_, std::nullopt)) transfer.owner_.on_end(std::move(*end));
    });
    with(number, [](CurlTransfer& transfer) { transfer.receive_more(); });
  }
}

CurlTransfer::CurlTransfer(std::shared_ptr<CurlTransport> transport, CurlRequest request, Owner& owner)
    : transport_(std::move(transport)),
      curl_(*transport_->library_),
      request_(std::move(request)),
      owner_(owner),
      number_(transport_->next_transfer_++),
      error_(CURL_ERROR_SIZE, '\0') {
  transport_->transfers_.emplace(number_, this);
  const ApiAccess& access = *transport_->access_;
  try {
    easy_ = curl_.easy_init();
    if (!easy_) throw std::runtime_error("libcurl has no memory");
    set(CURLOPT_ERRORBUFFER, error_.data());
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(CURLOPT_HEADERFUNCTION, &CurlTransfer::on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &CurlTransfer::on_bytes);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_CONNECTTIMEOUT_MS,
        static_cast<long>(std::chrono::milliseconds(transport_->kConnectDeadline).count()));
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_TCP_KEEPIDLE, kKeepAliveIdle);
    set(CURLOPT_TCP_KEEPINTVL, kKeepAliveInterval);
#if LIBCURL_VERSION_NUM >= 0x075700
    // Does not wait for libcurl's resolver thread, which runs only for a server behind a socks4 or socks5
    // proxy: HostLookup resolves all other names.
    set(CURLOPT_QUICK_EXIT, 1L);
#endif
    // The kubeconfig determines the proxy, not this process's environment.
    set(CURLOPT_PROXY, access.proxy.c_str());
    set(CURLOPT_NOPROXY, "");
    if (request_.method != "GET") {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
      set(CURLOPT_POSTFIELDS, request_.body.data());
      if (request_.method != "POST") set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
      add_header("Content-Type: " + request_.content_type);
      add_header("Expect:");
    }
    add_header("Accept: application/json");
    add_header("User-Agent: plughost");
    set_access(access);
    set(CURLOPT_HTTPHEADER, headers_);
    if (const CURLMcode code = curl_.multi_add_handle(transport_->multi_, easy_); code != CURLM_OK)
      throw std::runtime_error(std::string("libcurl: ") + curl_.multi_strerror(code));
    added_ = true;
  } catch (const std::exception& exception) {
    end({.error = exception.what()});
    transport_->deliver_.arm(std::chrono::milliseconds(0));
  }
}

CurlTransfer::~CurlTransfer() {
  transport_->transfers_.erase(number_);
  if (added_) curl_.multi_remove_handle(transport_->multi_, easy_);
  if (easy_) curl_.easy_cleanup(easy_);
  curl_.slist_free_all(headers_);
  curl_.slist_free_all(connect_to_);
  curl_.slist_free_all(addresses_);
}

template <typename Value>
bool CurlTransfer::set(CURLoption option, Value value) {
  return curl_.easy_setopt(easy_, option, value) == CURLE_OK;
}

void CurlTransfer::set_access(const ApiAccess& access) {
  std::string url = access.server + request_.path;
  if (!access.tls_server_name.empty()) {
    // libcurl verifies the certificate against the name in the URL. The URL therefore has the name from
    // tls-server-name, and CURLOPT_CONNECT_TO has the server's address.
    const std::string_view of_server = authority_of(access.server);
    const std::string authority(of_server);
    const auto own_port = host_and_port(authority).port;
    const std::string port = ':' + std::to_string(own_port.value_or(443));
    url.replace(static_cast<std::size_t>(of_server.data() - access.server.data()), authority.size(),
                access.tls_server_name + port);
    add(connect_to_, "::" + authority + (own_port ? "" : port));
    set(CURLOPT_CONNECT_TO, connect_to_);
    add_header("Host: " + authority);
  }
  set(CURLOPT_URL, url.c_str());
  if (const std::string& entry = request_.addresses; !entry.empty()) {
    // libcurl keeps an entry for the transport's lifetime: the first line removes the former entry.
    add(addresses_, '-' + entry.substr(0, entry.find(':', entry.find(':') + 1)));
    add(addresses_, entry);
    set(CURLOPT_RESOLVE, addresses_);
  }
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_SSL_VERIFYPEER, access.insecure ? 0L : 1L);
  set(CURLOPT_SSL_VERIFYHOST, access.insecure ? 0L : 2L);
  if (!access.ca.empty()) {
    set(CURLOPT_CAPATH, nullptr);
    set_pem(CURLOPT_CAINFO_BLOB, CURLOPT_CAINFO, access.ca);
  }
  if (!access.certificate.empty()) {
    set_pem(CURLOPT_SSLCERT_BLOB, CURLOPT_SSLCERT, access.certificate);
    set_pem(CURLOPT_SSLKEY_BLOB, CURLOPT_SSLKEY, access.key);
  }
  if (!access.token.empty()) {
    add_header("Authorization: Bearer " + access.token);
  } else if (!access.user.empty()) {
    set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    set(CURLOPT_USERNAME, access.user.c_str());
    set(CURLOPT_PASSWORD, access.password.c_str());
  }
}

void CurlTransfer::set_pem(CURLoption blob_option, CURLoption file_option, const std::string& pem) {
  curl_blob blob{.data = const_cast<char*>(pem.data()), .len = pem.size(), .flags = CURL_BLOB_COPY};
  if (set(blob_option, &blob)) return;
  // libcurl before 7.77 reads certificates from files only. A memfd leaves nothing on the disk.
  UniqueFd file{check(::memfd_create("pem", MFD_CLOEXEC), "memfd_create")};
  std::string_view left = pem;
  while (!left.empty()) {
    const ssize_t written = ::write(file.get(), left.data(), left.size());
    if (written < 0 && errno != EINTR) throw_errno("write");
    left.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  if (!set(file_option, path.c_str())) throw std::runtime_error("this libcurl takes no certificates");
  files_.push_back(std::move(file));
}

void CurlTransfer::add(curl_slist*& list, const std::string& line) {
  curl_slist* const longer = curl_.slist_append(list, line.c_str());
  if (!longer) throw std::runtime_error("libcurl has no memory");
  list = longer;
}

void CurlTransfer::end(ApiAnswer answer) {
  if (!end_) end_ = std::move(answer);
}

std::size_t CurlTransfer::on_header(char* bytes, std::size_t size, std::size_t count, void* transfer) {
  auto& self = *static_cast<CurlTransfer*>(transfer);
  const std::size_t length = size * count;
  self.head_ += length;
  if (self.head_ > CurlTransport::kMostHead) return 0;
  self.on_header_line({bytes, length});
  return length;
}

void CurlTransfer::on_header_line(std::string_view line) {
  constexpr std::string_view kRetryAfter = "retry-after:";
  if (to_lower(line.substr(0, kRetryAfter.size())) == kRetryAfter) {
    line.remove_prefix(kRetryAfter.size());
    const std::size_t from = line.find_first_not_of(" \t");
    if (from == std::string_view::npos) return;
    // A Retry-After with a date is ignored.
    const std::string_view text = line.substr(from, line.find_last_not_of(" \t\r\n") + 1 - from);
    if (const auto seconds = number_in<std::uint32_t>(text))
      retry_after_ =
          std::min<std::chrono::seconds>(std::chrono::seconds(*seconds), ApiAnswer::kLongestRetryAfter);
  }
  if (line != "\r\n" && line != "\n") return;
  long code = 0;
  curl_.easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &code);
  if (code >= 200) began_ = static_cast<int>(code);
}

std::size_t CurlTransfer::on_bytes(char* bytes, std::size_t size, std::size_t count, void* transfer) {
  auto& self = *static_cast<CurlTransfer*>(transfer);
  self.full_ = self.bytes_.size() >= CurlTransport::kMostWaiting;
  if (self.full_) return CURL_WRITEFUNC_PAUSE;
  self.bytes_.append(bytes, size * count);
  return size * count;
}

void CurlTransfer::on_done(CURLcode result) {
  long code = 0;
  curl_.easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &code);
  ApiAnswer ending{.code = static_cast<int>(code), .retry_after = retry_after_};
  if (result != CURLE_OK) {
    const std::string said = printable(error_.c_str());
    ending.error = said.empty() ? curl_.easy_strerror(result) : said;
    long number = 0;
    curl_.easy_getinfo(easy_, CURLINFO_OS_ERRNO, &number);
    ending.nobody =
        (result == CURLE_COULDNT_CONNECT && number == ECONNREFUSED) || result == CURLE_SSL_CONNECT_ERROR;
    if (result == CURLE_COULDNT_CONNECT && number != 0)
      ending.error += ": " + std::generic_category().message(static_cast<int>(number));
  }
  end(std::move(ending));
}

void CurlTransfer::resume() {
  paused_ = false;
  transport_->deliver_.arm(std::chrono::milliseconds(0));
}

void CurlTransfer::receive_more() {
  if (!std::exchange(full_, false)) return;
  curl_.easy_pause(easy_, CURLPAUSE_CONT);
  // libcurl before 7.69 resumes a paused transfer only when it is called again.
  transport_->act(CURL_SOCKET_TIMEOUT, 0);
}

bool CurlTransfer::has_news() const { return !paused_ && (began_ || !bytes_.empty() || end_); }

}  // namespace plughost
