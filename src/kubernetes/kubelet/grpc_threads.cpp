// The threads of gRPC 1.51's callback API wait for work with a deadline of one second, and sleep for 100 ms
// whenever the deadline passes (CallbackAlternativeCQ in src/cpp/common/completion_queue_cc.cc). So an idle
// process wakes up several times a second, and a call that arrives while all threads sleep waits for up to
// 100 ms. The linker's --wrap removes the deadline; the queue's shutdown still wakes the threads.

#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <pthread.h>

#include <string_view>

extern "C" {

grpc_event __real_grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                             void* reserved);
grpc_event __wrap_grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                             void* reserved);

grpc_event __wrap_grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                             void* reserved) {
  // Other callers, such as Server::Shutdown, need the deadline that they pass.
  thread_local const bool nexting = [] {
    char name[16] = {};
    return ::pthread_getname_np(::pthread_self(), name, sizeof name) == 0 &&
           std::string_view(name) == "nexting_thread";
  }();
  return __real_grpc_completion_queue_next(queue, nexting ? gpr_inf_future(GPR_CLOCK_REALTIME) : deadline,
                                           reserved);
}

}  // extern "C"
