#include "standin/list_reader.hpp"

namespace plughost {

std::shared_ptr<ListReader> ListReader::open(std::shared_ptr<PluginClient> client, bool paused,
                                             OnList on_list, OnEnd on_end) {
  std::shared_ptr<ListReader> reader(
      new ListReader(std::move(client), std::move(on_list), std::move(on_end)));
  reader->self_ = reader;
  reader->paused_ = paused;
  const bool open = reader->client_->begin_call(reader->context_, [raw = reader.get()] { raw->cancel(); });
  reader->client_->plugin().async()->ListAndWatch(&reader->context_, &reader->request_, reader.get());
  reader->AddHold();
  reader->held_ = true;
  reader->read_on();
  reader->StartCall();
  if (!open) reader->cancel();
  return reader;
}

ListReader::ListReader(std::shared_ptr<PluginClient> client, OnList on_list, OnEnd on_end)
    : client_(std::move(client)), on_list_(std::move(on_list)), on_end_(std::move(on_end)) {}

void ListReader::pause(bool paused) {
  paused_ = paused;
  read_on();
}

void ListReader::cancel() {
  context_.TryCancel();
  if (!reading_) release();
}

void ListReader::read_on() {
  if (paused_ || reading_ || !held_) return;
  reading_ = true;
  StartRead(&message_);
}

void ListReader::release() {
  if (std::exchange(held_, false)) RemoveHold();
}

void ListReader::OnReadDone(bool ok) {
  client_->loop().poster()([this, ok] {
    reading_ = false;
    if (!ok) return release();
    on_list_(message_);
    read_on();
  });
}

void ListReader::OnDone(const grpc::Status& status) {
  // client_ may be gone, in the loop, before this returns.
  const EventLoop::Poster post = client_->loop().poster();
  post([this, status] {
    const auto keep = std::move(self_);
    on_end_(status);
    client_->end_call(context_);
  });
}

}  // namespace plughost
