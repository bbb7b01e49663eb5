// Tests how much memory a gRPC connection holds for its next read.

#include <doctest/doctest.h>
#include <grpc/event_engine/memory_allocator.h>

#include <memory>

namespace {

using namespace grpc_event_engine::experimental;

class EndlessMemory : public internal::MemoryAllocatorImpl {
 public:
  std::size_t Reserve(MemoryRequest request) override { return request.max(); }
  void Release(std::size_t) override {}
  void Shutdown() override {}
};

std::size_t length_of_slice(MemoryRequest request) {
  MemoryAllocator memory(std::make_shared<EndlessMemory>());
  const grpc_slice slice = memory.MakeSlice(request);
  const std::size_t length = GRPC_SLICE_LENGTH(slice);
  grpc_slice_unref(slice);
  return length;
}

TEST_CASE("a waiting connection holds 512 bytes for the next read, and not gRPC's 8 KiB") {
  CHECK(length_of_slice(MemoryRequest(8 << 10)) == 512);
}

TEST_CASE("allocations of gRPC for other purposes have the requested size") {
  CHECK(length_of_slice(MemoryRequest(4 << 10)) == 4 << 10);
  CHECK(length_of_slice(MemoryRequest(64 << 10)) == 64 << 10);
  CHECK(length_of_slice(MemoryRequest(1 << 10, 8 << 10)) == 8 << 10);
}

}  // namespace
