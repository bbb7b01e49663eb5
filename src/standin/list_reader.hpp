#pragma once
// One ListAndWatch stream, read as the kubelet reads it: no deadline, no retry.

#include "standin/plugin_client.hpp"

namespace plughost {

// Loop thread only; gRPC's threads enter by the reactions. Owns itself from open() until the stream has
// ended.
class ListReader final : public grpc::ClientReadReactor<v1beta1::ListAndWatchResponse> {
 public:
  using OnList = std::function<void(const v1beta1::ListAndWatchResponse&)>;
  using OnEnd = std::function<void(const grpc::Status&)>;

  // on_end comes once, always, as the last; both come in the loop, and later.
  static std::shared_ptr<ListReader> open(std::shared_ptr<PluginClient> client, bool paused, OnList on_list,
                                          OnEnd on_end);

  // What is paused sees no message and no end, as a kubelet that does not run.
  void pause(bool paused);
  void cancel();

 private:
  ListReader(std::shared_ptr<PluginClient> client, OnList on_list, OnEnd on_end);
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  void read_on();
  void release();

  std::shared_ptr<PluginClient> client_;
  OnList on_list_;
  OnEnd on_end_;
  v1beta1::Empty request_;
  v1beta1::ListAndWatchResponse message_;
  bool paused_ = false;
  bool reading_ = false;
  bool held_ = false;  // gRPC keeps the stream, for reads that the loop starts
  std::shared_ptr<ListReader> self_;
  grpc::ClientContext context_;
};

}  // namespace plughost
