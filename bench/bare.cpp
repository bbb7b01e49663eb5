#include "bare.hpp"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "deviceplugin/v1beta1/deviceplugin.grpc.pb.h"

namespace plughost::bench {

namespace {

using v1beta1::DevicePlugin;
using v1beta1::Empty;
using v1beta1::ListAndWatchResponse;

std::atomic<std::size_t> lists_sent = 0;

class Stream final : public grpc::ServerWriteReactor<ListAndWatchResponse> {
 public:
  Stream() {
    for (int n = 0; n < 8; ++n) {
      v1beta1::Device& device = *list_.add_devices();
      device.set_id("bench.example.com/r0-" + std::to_string(n));
      device.set_health("Healthy");
    }
    StartWrite(&list_);
  }
  void OnWriteDone(bool) override {
    list_.Clear();
    ++lists_sent;
  }
  void OnCancel() override { Finish(grpc::Status::OK); }
  void OnDone() override { delete this; }

 private:
  ListAndWatchResponse list_;
};

class Service final : public DevicePlugin::CallbackService {
  grpc::ServerWriteReactor<ListAndWatchResponse>* ListAndWatch(grpc::CallbackServerContext*,
                                                               const Empty*) override {
    return new Stream;
  }
};

class Reader final : public grpc::ClientReadReactor<ListAndWatchResponse> {
 public:
  explicit Reader(DevicePlugin::Stub& stub) {
    stub.async()->ListAndWatch(&context_, &request_, this);
    StartRead(&list_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (ok) StartRead(&list_);
  }

 private:
  grpc::ClientContext context_;
  Empty request_;
  ListAndWatchResponse list_;
};

[[noreturn]] void read_streams(const std::vector<int>& sockets) {
  std::vector<std::unique_ptr<DevicePlugin::Stub>> stubs;
  std::vector<std::unique_ptr<Reader>> readers;
  for (const int socket : sockets) {
    stubs.push_back(DevicePlugin::NewStub(grpc::CreateInsecureChannelFromFd("localhost", socket)));
    readers.push_back(std::make_unique<Reader>(*stubs.back()));
  }
  for (;;) ::pause();  // until it is killed
}

long private_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stol(line.substr(8));
  }
  return 0;
}

}  // namespace

int run_bare_servers(std::size_t servers) {
  std::vector<int> ours;
  std::vector<int> theirs;
  for (std::size_t n = 0; n < servers; ++n) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return 1;
    ours.push_back(ends[0]);
    theirs.push_back(ends[1]);
  }
  const pid_t clients = ::fork();
  if (clients < 0) return 1;
  if (clients == 0) read_streams(theirs);

  const std::unique_ptr<Service[]> services(new Service[servers]);
  std::vector<std::unique_ptr<grpc::Server>> running;
  for (std::size_t n = 0; n < servers; ++n) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&services[n]);
    running.push_back(builder.BuildAndStart());
    grpc::AddInsecureChannelFromFd(running.back().get(), ours[n]);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (lists_sent < servers && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::printf("%ld\n", private_kilobytes());
  std::fflush(stdout);
  ::kill(clients, SIGKILL);
  ::waitpid(clients, nullptr, 0);
  ::_exit(lists_sent == servers ? 0 : 1);  // the servers need no orderly shutdown
}

}  // namespace plughost::bench
