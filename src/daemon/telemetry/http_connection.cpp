#include "daemon/telemetry/http_connection.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <utility>
#include <variant>

namespace plughost {

HttpConnection::HttpConnection(EventLoop& loop, UniqueFd socket, Owner& owner)
    : loop_(loop),
      socket_(std::move(socket)),
      owner_(owner),
      deadline_(loop, [this] { on_deadline(); }),
      stall_(loop, [this] { end(); }),
      watch_(loop, socket_.get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
             [this](std::uint32_t events) { on_event(events); }) {
  deadline_.arm(kHeadDeadline);
}

void HttpConnection::expect(std::chrono::milliseconds within, std::function<void()> late) {
  late_ = std::move(late);
  deadline_.arm(within);
}

void HttpConnection::on_deadline() {
  if (state_ != State::kAnswering && state_ != State::kStreaming) return end();
  const auto late = late_;  // a copy: the callback may call expect()
  late();
}

void HttpConnection::on_event(std::uint32_t events) {
  if (state_ == State::kGone) return;
  // A client may close its sending half after the request, but a client of a stream that does so has gone.
  if ((events & (EPOLLERR | EPOLLHUP)) != 0 || (state_ == State::kStreaming && (events & EPOLLRDHUP) != 0))
    return end();
  if ((events & (EPOLLIN | EPOLLRDHUP)) != 0) read();
  if ((events & EPOLLOUT) != 0 && behind()) {
    flush();
    if (state_ == State::kStreaming && !behind()) owner_.on_drained();
  }
}

void HttpConnection::read() {
  std::array<char, 4096> bytes;
  while (state_ == State::kReading || state_ == State::kLingering) {
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) return end();
    if (!receive({bytes.data(), static_cast<std::size_t>(got)})) return;
  }
}

bool HttpConnection::receive(std::string_view bytes) {
  if (state_ == State::kLingering) {
    ignored_ += bytes.size();
    if (ignored_ > kMostBody) end();
    return true;
  }
  in_ += bytes;
  const auto request = read_request(in_);
  if (!request) return true;
  std::string().swap(in_);
  state_ = State::kAnswering;
  deadline_.cancel();
  if (const auto* fault = std::get_if<HttpFault>(&*request)) {
    reply(refusal(*fault));
  } else {
    head_only_ = std::get<HttpRequest>(*request).method == "HEAD";
    owner_.on_request(std::get<HttpRequest>(*request));
  }
  return false;
}

void HttpConnection::reply(HttpReply reply) {
  if (state_ != State::kAnswering) return;
  deadline_.cancel();
  state_ = State::kReplying;
  out_ = head_of(reply.code, reply.type, reply.body.text.size());
  if (!head_only_) body_ = std::move(reply.body);
  flush();
}

bool HttpConnection::stream(std::string_view type) {
  state_ = head_only_ ? State::kReplying : State::kStreaming;
  send(head_of(200, type, std::nullopt));
  return !head_only_;
}

void HttpConnection::send(std::string_view text) {
  out_ += text;
  flush();
}

void HttpConnection::flush() {
  while (sent_ < out_.size() || !body_.text.empty()) {
    std::array<iovec, 2> parts{{{out_.data() + sent_, out_.size() - sent_},
                                {const_cast<char*>(body_.text.data()), body_.text.size()}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t wrote = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!stall_.armed()) stall_.arm(kWriteDeadline);
      return;
    }
    if (wrote < 0) return end();
    stall_.cancel();
    const std::size_t of_out = std::min(static_cast<std::size_t>(wrote), out_.size() - sent_);
    sent_ += of_out;
    body_.text.remove_prefix(static_cast<std::size_t>(wrote) - of_out);
  }
  std::string().swap(out_);
  sent_ = 0;
  body_ = {};
  if (state_ == State::kReplying) linger();
}

// Reads the remaining input: closing a socket with unread input resets the connection and loses the answer.
void HttpConnection::linger() {
  state_ = State::kLingering;
  ::shutdown(socket_.get(), SHUT_WR);
  deadline_.arm(kLingerDeadline);
  read();
}

void HttpConnection::end() {
  if (std::exchange(state_, State::kGone) == State::kGone) return;
  deadline_.cancel();
  stall_.cancel();
  // Later, because the caller may still use this object.
  loop_.poster()(lifetime_.bound([this] { owner_.on_gone(); }));
}

}  // namespace plughost
