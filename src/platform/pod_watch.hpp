#pragma once
// The pods of this node in the API server: one watch of them, for all that want to know them. Loop thread
// only.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/api_watch.hpp"
#include "base/lifetime.hpp"
#include "platform/api_server.hpp"

namespace plughost {

class PodWatch {
 public:
  struct Hooks {
    std::function<void(const std::vector<Json>& pods)> listed;  // all that there are
    std::function<void(const Json& pod)> changed;
    std::function<void(const Json& pod)> gone;
  };
  // While it lives.
  class Follower {
   public:
    ~Follower() { watch_.followers_.erase(number_); }
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

   private:
    friend class PodWatch;
    Follower(PodWatch& watch, std::uint64_t number) : watch_(watch), number_(number) {}
    PodWatch& watch_;
    std::uint64_t number_;
  };

  // server outlives it, and it outlives its followers.
  explicit PodWatch(ApiServer& server);
  PodWatch(const PodWatch&) = delete;
  PodWatch& operator=(const PodWatch&) = delete;

  // It is watched while somebody follows. Who comes is told of all pods first, and that begins anew for the
  // others. No hook is called from within.
  std::unique_ptr<Follower> follow(Hooks hooks);
  // Why what is known grows old; empty: all is well.
  const std::string& trouble() const { return trouble_; }

 private:
  void begin();
  template <typename Call>
  void tell(Call call);

  ApiServer& server_;
  std::map<std::uint64_t, Hooks> followers_;
  std::uint64_t next_ = 0;
  std::string trouble_;
  Subscription user_;
  std::unique_ptr<ApiWatch> watch_;
};

}  // namespace plughost
