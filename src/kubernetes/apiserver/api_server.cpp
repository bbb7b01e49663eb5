#include "kubernetes/apiserver/api_server.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/document/diagnostics.hpp"
#include "base/text/ascii.hpp"
#include "host/programs/program.hpp"
#include "kubernetes/apiserver/curl_transport.hpp"

namespace plughost {
namespace {

// Several connections: a slow request must not block other requests.
constexpr long kMostConnections = 4;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return to_lower(name.data());
}

// Accepts only characters that need no escaping in a path or in JSON.
bool is_node_name(std::string_view name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char c) { return is_lower(c) || is_digit(c) || c == '-' || c == '.'; });
}

std::string made(const ApiRequest::Text& text, const std::string& node) {
  if (const auto* const fixed = std::get_if<std::string>(&text)) return *fixed;
  return std::get<1>(text)(node);
}

const char* method_of(ApiVerb verb) {
  switch (verb) {
    case ApiVerb::kCreate:
      return "POST";
    case ApiVerb::kUpdate:
      return "PUT";
    case ApiVerb::kPatch:
      return "PATCH";
    case ApiVerb::kDelete:
      return "DELETE";
    case ApiVerb::kGet:
    case ApiVerb::kList:
    case ApiVerb::kWatch:
      break;
  }
  return "GET";
}

}  // namespace

ApiClient::ApiClient(EventLoop& loop, Workers& workers, Programs& programs, Log& log,
                     std::shared_ptr<ApiTally> tally, Options options)
    : loop_(loop),
      workers_(workers),
      tally_(std::move(tally)),
      log_(log),
      options_(std::move(options)),
      keeper_(workers, programs,
              {.host = options_.host,
               .where = {.kubeconfig = options_.config.kubeconfig,
                         .service_host = options_.service_host,
                         .service_port = options_.service_port},
               .age = options_.access_age,
               .file_deadline = options_.file_deadline,
               .plugin_deadline = options_.plugin_deadline}),
      opening_(workers, options_.file_deadline),
      lookup_(workers, options_.lookup),
      idle_(loop, [this] { transport_.reset(); }) {
  name_node();
}

void ApiClient::prepare(bool anew, Ready ready) {
  open_curl([this, anew, ready = std::move(ready)](const std::string& error) {
    if (!error.empty()) return ready(error);
    keeper_.want(anew, lifetime_.bound([this, ready](const AccessKeeper::Credentials& credentials,
                                                     const std::string& why_none) {
      on_credentials(credentials, why_none, ready);
    }));
  });
}

void ApiClient::open_curl(Ready ready) {
  if (library_) return ready({});
  opening_.run([name = options_.library] { return CurlLibrary::open(name); },
               [this](auto library) { library_ = std::move(library); },
               "opening libcurl takes longer than " + duration_text(options_.file_deadline) +
                   ": its file system does not respond",
               std::move(ready));
}

void ApiClient::on_credentials(const AccessKeeper::Credentials& credentials, const std::string& error,
                               const Ready& ready) {
  name_node();
  if (credentials) {
    for (const std::string& warning : credentials->warnings) {
      if (told_warnings_.insert(warning).second)
        log_.warn("the connection to the API server is not secure", {{"why", warning}});
    }
  }
  if (!error.empty()) return ready(error);
  if (!is_node_name(node_)) {
    return ready("this node cannot be called " + quote(node_) +
                 ": names of nodes have small letters, digits, '-' and '.'; write `apiServer: {node: NAME}`");
  }
  lookup_.want(*credentials, ready);
}

void ApiClient::name_node() {
  if (!options_.config.node.empty()) {
    node_ = options_.config.node;
  } else if (std::string told = options_.host.node_name(); !told.empty()) {
    node_ = std::move(told);
  } else if (const auto& credentials = keeper_.credentials()) {
    static const std::string kHostName = host_name();
    node_ = credentials->node.empty() ? kHostName : credentials->node;
  }
}

std::string ApiClient::server() const { return keeper_.credentials() ? keeper_.credentials()->server : ""; }

void ApiClient::record_request_end() {
  if (--requests_ == 0) idle_.arm(options_.idle);
}

std::shared_ptr<CurlTransport> ApiClient::transport(bool alone) {
  const auto make = [&](long most) {
    return std::make_shared<CurlTransport>(loop_, library_, keeper_.credentials(), most);
  };
  if (alone) return make(1);
  idle_.cancel();
  if (!transport_ || transport_->access() != keeper_.credentials()) transport_ = make(kMostConnections);
  return transport_;
}

void ApiClient::record_answer(const ApiAnswer& answer) {
  const bool answered = answer.code != 0 && answer.code != ApiAnswer::kUnauthorized;
  if (answer.code != 0) heard_ = EventLoop::Clock::now();
  const bool was_well = error_.empty();
  error_ = answered ? std::string() : answer.error;
  if (answered) {
    if (!was_well || !told_) log_.info("API server answers", {{"server", server()}, {"node", node_}});
  } else if (was_well) {
    log_.warn("cannot reach the API server: retrying", {{"server", server()}, {"why", answer.error}});
  }
  told_ = true;
}

ApiClientState ApiClient::state() const {
  ApiClientState state{.node = node_, .heard = heard_, .error = error_};
  if (const auto& credentials = keeper_.credentials()) {
    state.server = credentials->server;
    state.identity = credentials->source;
    state.warnings = credentials->warnings;
  }
  if (!keeper_.error().empty() && state.error.empty()) state.warnings.push_back(keeper_.error());
  state.watches = tally_->read().watches;
  return state;
}

// A call of send(), which has `done`, or of stream(), which has a reader.
class ApiClient::Call final : public ApiCall, CurlTransfer::Owner {
 public:
  Call(ApiClient& client, ApiRequest request, StreamReader* reader, std::function<void(ApiAnswer)> done)
      : client_(client),
        request_(std::move(request)),
        reader_(reader),
        done_(std::move(done)),
        deadline_(client.loop_,
                  [this] { end({.error = "no answer within " + duration_text(request_.deadline)}); }),
        later_(client.loop_, [this] { notify(); }) {
    if (const auto* const fixed = std::get_if<std::string>(&request_.path)) path_ = *fixed;
    if (!alone()) ++client_.requests_;
    deadline_.arm(request_.deadline);
    prepare(false);
  }
  ~Call() override {
    if (!alone()) client_.record_request_end();
  }
  Call& operator=(Call&&) = delete;

  void pause() override {
    if (transfer_) transfer_->pause();
  }
  void resume() override {
    if (transfer_) transfer_->resume();
  }

 private:
  // A watch has its own connection, because it has no end.
  bool alone() const { return request_.verb == ApiVerb::kWatch; }

  void prepare(bool anew) {
    client_.prepare(anew, lifetime_.bound([this](const std::string& error) {
      if (error.empty())
        begin();
      else
        end({.error = error});
    }));
  }

  void begin() {
    try {
      path_ = made(request_.path, client_.node());
      CurlTransfer::Owner& owner = *this;
      CurlRequest request{
          .method = method_of(request_.verb), .path = path_, .addresses = client_.lookup_.entry()};
      if (request.method != "GET") {
        request.content_type = request_.content_type;
        request.body = made(request_.body, client_.node());
      }
      transfer_.emplace(client_.transport(alone()), std::move(request), owner);
    } catch (const std::exception& exception) {
      end({.error = exception.what()});
    }
  }

  void on_begin(int code) override {
    code_ = code;
    began_ = reader_ && code == 200;
    if (!began_) return;
    if (alone()) deadline_.cancel();
    client_.tally_->add(word_of(request_.verb), code);
    client_.record_answer({.code = code});
    reader_->on_begin();
  }

  void on_bytes(std::string_view bytes) override {
    if (began_) return reader_->on_bytes(bytes);
    if (body_.size() + bytes.size() > request_.most_answer) {
      return end({.code = code_,
                  .error = "its answer has more than " + std::to_string(request_.most_answer) + " bytes"});
    }
    body_ += bytes;
  }

  void on_end(ApiAnswer answer) override {
    transfer_.reset();
    if (answer.code == ApiAnswer::kUnauthorized && answer.error.empty() && !std::exchange(again_, true)) {
      client_.tally_->add(word_of(request_.verb), answer.code);
      body_.clear();
      return prepare(true);
    }
    if (!answer.error.empty()) {
      answer.code = 0;  // a partial answer counts as no answer
    } else {
      answer.body = std::exchange(body_, {});
      if (!answer.ok()) answer.error = refusal_text(answer.code, answer.body);
    }
    end(std::move(answer));
  }

  // Stops the transfer, and passes on the answer later, from the loop.
  void end(ApiAnswer answer) {
    transfer_.reset();
    lifetime_.renew();
    deadline_.cancel();
    answer_ = std::move(answer);
    later_.arm(std::chrono::milliseconds(0));
  }

  void notify() {
    ApiAnswer answer = std::move(answer_);
    if (!answer.error.empty()) {
      std::string server = client_.server();
      if (!server.empty()) server = " (" + server + ')';
      answer.error =
          "the API server" + server + " was asked " + wanted_text(request_.verb, path_) + ": " + answer.error;
    }
    if (!began_) {
      client_.tally_->add(word_of(request_.verb), answer.code);
      client_.record_answer(answer);
    }
    if (reader_) return reader_->on_end(std::move(answer));
    const auto done = done_;  // a copy: `done` may drop this call
    done(std::move(answer));
  }

  ApiClient& client_;
  ApiRequest request_;
  StreamReader* const reader_;
  const std::function<void(ApiAnswer)> done_;
  std::string path_;
  int code_ = 0;        // HTTP status
  bool began_ = false;  // the stream has begun
  bool again_ = false;  // the request is repeated after a 401
  std::string body_;
  ApiAnswer answer_;
  Timer deadline_;
  Timer later_;
  std::optional<CurlTransfer> transfer_;
  Lifetime lifetime_;
};

ApiClient::Options ApiClient::Options::of(ApiServerConfig config) {
  return {.config = std::move(config),
          .service_host = variable("KUBERNETES_SERVICE_HOST"),
          .service_port = variable("KUBERNETES_SERVICE_PORT")};
}

std::unique_ptr<ApiCall> ApiClient::send(ApiRequest request, std::function<void(ApiAnswer)> done) {
  return std::make_unique<Call>(*this, std::move(request), nullptr, std::move(done));
}

std::unique_ptr<ApiCall> ApiClient::stream(ApiRequest request, StreamReader& reader) {
  return std::make_unique<Call>(*this, std::move(request), &reader, nullptr);
}

ApiServer::ApiServer(EventLoop& loop, Workers& workers, Programs& programs, Log& log)
    : loop_(loop), workers_(workers), programs_(programs), log_(log) {}

void ApiServer::use(std::optional<ApiServerConfig> config) {
  if (config == config_) {
    config_ = std::move(config);  // == ignores the entry's place in the file, which may have changed
    return;
  }
  config_ = std::move(config);
  const std::unique_ptr<ApiClient> former = std::exchange(client_, nullptr);
  users_.notify();
}

ApiClient* ApiServer::client() {
  if (!client_ && config_)
    client_ = std::make_unique<ApiClient>(loop_, workers_, programs_, log_, tally_,
                                          ApiClient::Options::of(*config_));
  return client_.get();
}

std::optional<ApiClientState> ApiServer::state() const {
  if (!config_) return std::nullopt;
  return client_ ? client_->state() : ApiClientState{};
}

}  // namespace plughost
