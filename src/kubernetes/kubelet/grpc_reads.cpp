// gRPC 1.51 keeps a buffer of 8 KiB for the next read of each connection, from the last one on
// (maybe_make_read_slices in src/core/lib/iomgr/tcp_posix.cc; no channel argument makes it smaller, and TCP's
// hint that nothing is there is not to be had of a unix socket). A kubelet asks with some hundred bytes, and
// has a connection for each resource. The linker's --wrap gives such a buffer a smaller one: what is longer
// is read in several steps, as it is behind a full buffer.

#include <grpc/event_engine/memory_allocator.h>

namespace {

constexpr std::size_t kReadBuffer = 8 << 10;
constexpr std::size_t kEnough = 512;

}  // namespace

using grpc_event_engine::experimental::MemoryAllocator;
using grpc_event_engine::experimental::MemoryRequest;

extern "C" {

// MemoryAllocator::MakeSlice, as the linker knows it: a member function gets its object as its first
// argument.
grpc_slice __real__ZN17grpc_event_engine12experimental15MemoryAllocator9MakeSliceENS0_13MemoryRequestE(
    MemoryAllocator* allocator, MemoryRequest request);
grpc_slice __wrap__ZN17grpc_event_engine12experimental15MemoryAllocator9MakeSliceENS0_13MemoryRequestE(
    MemoryAllocator* allocator, MemoryRequest request);

grpc_slice __wrap__ZN17grpc_event_engine12experimental15MemoryAllocator9MakeSliceENS0_13MemoryRequestE(
    MemoryAllocator* allocator, MemoryRequest request) {
  const bool for_a_read = request.min() == kReadBuffer && request.max() == kReadBuffer;
  return __real__ZN17grpc_event_engine12experimental15MemoryAllocator9MakeSliceENS0_13MemoryRequestE(
      allocator, for_a_read ? MemoryRequest(kEnough) : request);
}

}  // extern "C"
