#include "base/log/log_sink.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <spdlog/details/log_msg.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/log/log_line.hpp"
#include "unit/base/log/standard_error.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto kLong = 20s;

// Formats lines unchanged, and a report of dropped lines as "missing" with their number.
class Bare final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& line, spdlog::memory_buf_t& out) override {
    const auto parts = unpacked({line.payload.data(), line.payload.size()});
    const bool missing = parts.size() == 3 && parts[1] == "lines";
    const std::string text = missing ? "missing " + std::string(parts[2]) + '\n'
                                     : std::string(line.payload.data(), line.payload.size());
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<formatter> clone() const override { return std::make_unique<Bare>(); }
};

struct Writer {
  explicit Writer(std::optional<Journal> journal = std::nullopt)
      : sink(std::in_place, std::move(journal), std::make_unique<Bare>()) {}
  void write(const std::string& text) { sink->log({{}, spdlog::level::info, text}); }

  std::optional<LogSink> sink;
};

std::string numbered(int number, std::size_t size = 0) {
  return std::to_string(number) + std::string(size, '.') + '\n';
}

// A pipe whose buffer is full from the start.
class FullPipe {
 public:
  explicit FullPipe(int flags = 0) {
    int ends[2];
    check(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), "pipe2");
    out_ = UniqueFd(ends[0]);
    in_ = UniqueFd(ends[1]);
    const std::string block(4096, '#');
    while (::write(in_.get(), block.data(), block.size()) > 0) {
    }
    while (::write(in_.get(), "#", 1) > 0) {
    }
    check(::fcntl(in_.get(), F_SETFL, flags), "fcntl");
  }
  const UniqueFd& in() const { return in_; }

  // Reads lines until one begins with `last`. Skips the bytes with which the pipe was filled.
  std::vector<std::string> lines_to(std::string_view last) {
    std::vector<std::string> lines;
    std::string line;
    const auto end = Clock::now() + kLong;
    while (Clock::now() < end) {
      pollfd ready{.fd = out_.get(), .events = POLLIN, .revents = 0};
      ::poll(&ready, 1, 100);
      char bytes[65536];
      const ssize_t got = ::read(out_.get(), bytes, sizeof bytes);
      for (ssize_t i = 0; i < got; ++i) {
        if (bytes[i] == '#') continue;
        if (bytes[i] != '\n') {
          line += bytes[i];
          continue;
        }
        lines.push_back(line.substr(0, line.find('.')));
        line.clear();
        if (lines.back().starts_with(last)) return lines;
      }
    }
    return lines;
  }

 private:
  UniqueFd out_;
  UniqueFd in_;
};

// A journal whose queue is full, and that reads only in datagrams_to().
class StuckJournal {
 public:
  StuckJournal() : socket_(check(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket")) {
    address_.sun_family = AF_UNIX;
    dir_.at("socket").string().copy(address_.sun_path, sizeof address_.sun_path - 1);
    const auto* address = reinterpret_cast<const sockaddr*>(&address_);
    check(::bind(socket_.get(), address, sizeof address_), "bind");
    const UniqueFd other(check(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket"));
    while (::sendto(other.get(), "#", 1, 0, address, sizeof address_) > 0) {
    }
  }
  Journal journal() const { return Journal(dir_.at("socket")); }

  std::vector<std::string> datagrams_to(std::string_view last) {
    std::vector<std::string> datagrams;
    const auto end = Clock::now() + kLong;
    while (Clock::now() < end) {
      pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
      ::poll(&ready, 1, 100);
      char bytes[1000];
      const ssize_t got = ::recv(socket_.get(), bytes, sizeof bytes, 0);
      if (got <= 0) continue;
      const std::string datagram(bytes, static_cast<std::size_t>(got));
      if (datagram == "#") continue;
      datagrams.push_back(datagram);
      if (datagram == last) break;
    }
    return datagrams;
  }

 private:
  test::TempDir dir_;
  UniqueFd socket_;
  sockaddr_un address_{};
};

std::vector<std::string> numbers(int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back(std::to_string(i));
  return all;
}

}  // namespace

TEST_CASE("a full pipe blocks no caller, and the waiting lines are written as soon as the pipe is read") {
  int flags = 0;
  SUBCASE("in blocking mode") {}
  SUBCASE("in non-blocking mode, which a different process has set") { flags = O_NONBLOCK; }
  FullPipe pipe(flags);
  const test::StandardErrorTo redirected(pipe.in());
  Writer writer;
  for (int i = 0; i < 100; ++i) writer.write(numbered(i));
  CHECK(pipe.lines_to("99") == numbers(100));
}

TEST_CASE("a line that is longer than the pipe's buffer arrives whole") {
  FullPipe pipe;
  const test::StandardErrorTo redirected(pipe.in());
  Writer writer;
  writer.write(numbered(0, 300'000));
  writer.write(numbered(1));
  CHECK(pipe.lines_to("1") == numbers(2));
}

TEST_CASE("lines that the queue cannot hold are counted, and the gap is reported at its place") {
  FullPipe pipe;
  const test::StandardErrorTo redirected(pipe.in());
  Writer writer;
  constexpr int kLines = 3000;
  for (int i = 0; i < kLines; ++i) writer.write(numbered(i, 1000));
  // The gap is reported without waiting for the next line.
  const std::vector<std::string> lines = pipe.lines_to("missing");
  REQUIRE(lines.size() > 1);
  const int kept = static_cast<int>(lines.size()) - 1;
  CHECK(std::vector(lines.begin(), lines.end() - 1) == numbers(kept));
  CHECK(lines.back() == "missing " + std::to_string(kLines - kept));
  CHECK(kept >= 1000);
  writer.write(numbered(kLines));
  CHECK(pipe.lines_to("3000") == std::vector<std::string>{"3000"});
}

TEST_CASE("a journal that does not read blocks no caller, and gets every line once it reads") {
  StuckJournal journal;
  Writer writer(journal.journal());
  for (int i = 0; i < 100; ++i) writer.write(std::string("never\n\0", 7) + std::to_string(i));
  CHECK(journal.datagrams_to("99") == numbers(100));
}

TEST_CASE("lines that the journal cannot receive, and lines without a datagram, go to standard error") {
  const std::string text = test::written([] {
    Writer writer(Journal("/nowhere/socket"));
    writer.write(std::string("one\n\0MESSAGE=one\n", 17));
    writer.write("two\n");
  });
  CHECK(text == "one\ntwo\n");
}

TEST_CASE("the sink's destructor writes all queued lines") {
  const std::string text = test::written([] {
    Writer writer;
    for (int i = 0; i < 5000; ++i) writer.write(numbered(i));
  });
  CHECK(std::ranges::count(text, '\n') == 5000);
  CHECK(text.ends_with("4999\n"));
}

TEST_CASE("the sink's destructor gives up after a deadline if the pipe is not read") {
  FullPipe pipe;
  const test::StandardErrorTo redirected(pipe.in());
  Writer writer;
  writer.write(numbered(0));
  writer.write(numbered(1));
  const auto begin = Clock::now();
  writer.sink.reset();
  CHECK(Clock::now() - begin >= LogSink::kLastDeadline);
  CHECK(Clock::now() - begin < LogSink::kLastDeadline + 5s);
  // Only the line whose write was in progress may still arrive.
  CHECK(pipe.lines_to("0") == numbers(1));
}

TEST_CASE("a write to a pipe without a reader does not end the process") {
  int ends[2];
  check(::pipe2(ends, O_CLOEXEC), "pipe2");
  const UniqueFd in(ends[1]);
  ::close(ends[0]);
  const test::StandardErrorTo redirected(in);
  Writer().write(numbered(0));
}
