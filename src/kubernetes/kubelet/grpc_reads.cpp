// After each read gRPC 1.51 allocates a buffer of 8 KiB for the connection's next read
// (maybe_make_read_slices in src/core/lib/iomgr/tcp_posix.cc; no channel argument reduces it, and TCP's hint
// that no data follows is not available for unix sockets). The kubelet sends some hundred bytes, and has a
// connection per resource. The linker's --wrap replaces the buffer by a smaller one. Longer messages are read
// in several steps, as they are with a full buffer.

#include <grpc/event_engine/memory_allocator.h>

namespace {

constexpr std::size_t kReadBuffer = 8 << 10;
constexpr std::size_t kEnough = 512;

}  // namespace

using grpc_event_engine::experimental::MemoryAllocator;
using grpc_event_engine::experimental::MemoryRequest;

extern "C" {

// MemoryAllocator::MakeSlice under its linker name: a member function gets its object as the first argument.
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
