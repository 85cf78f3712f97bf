// Tests of the function table, used as JAX uses it.
#include "treadle/pjrt/Api.h"
#include "treadle/pjrt/Callbacks.h"
#include "treadle/pjrt/Completion.h"
#include "treadle/pjrt/DeviceAssignment.h"
#include "treadle/pjrt/Queue.h"
#include "treadle/pjrt/Results.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <chrono>
#include <thread>

using namespace treadle;
using namespace treadle::pjrt;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Calls a function of the table and returns its error message; empty if it succeeded.
template <typename Args> std::string call(PJRT_Error *(*function)(Args *), Args &args) {
  args.struct_size = sizeof(Args);
  PJRT_Error *error = function(&args);
  if (!error)
    return "";
  PJRT_Error_Message_Args message{};
  message.error = error;
  api()->PJRT_Error_Message(&message);
  std::string text(message.message, message.message_size);
  PJRT_Error_Destroy_Args destroy{};
  destroy.error = error;
  api()->PJRT_Error_Destroy(&destroy);
  return text;
}
#define CALL(function, args) call(api()->function, args)

class PjrtTest : public testing::Test {
protected:
  void SetUp() override {
    PJRT_NamedValue option{};
    option.name = "num_devices";
    option.name_size = 11;
    option.type = PJRT_NamedValue_kInt64;
    option.int64_value = 2;
    PJRT_Client_Create_Args args{};
    args.create_options = &option;
    args.num_options = 1;
    ASSERT_EQ(CALL(PJRT_Client_Create, args), "");
    client = args.client;
  }
  void TearDown() override {
    PJRT_Client_Destroy_Args args{};
    args.client = client;
    EXPECT_EQ(CALL(PJRT_Client_Destroy, args), "");
  }

  std::string compile(std::string code, PJRT_LoadedExecutable *&executable,
                      const std::string &options = "", std::string_view format = "mlir") {
    PJRT_Program program{};
    program.code = code.data();
    program.code_size = code.size();
    returnText(format, program.format, program.format_size);
    PJRT_Client_Compile_Args args{};
    args.client = client;
    args.program = &program;
    returnText(options, args.compile_options, args.compile_options_size);
    std::string problem = CALL(PJRT_Client_Compile, args);
    executable = args.executable;
    return problem;
  }

  PJRT_Buffer *buffer(const std::vector<float> &values, std::vector<int64_t> dims,
                      std::vector<int64_t> strides = {}) {
    PJRT_Client_Devices_Args devices{};
    devices.client = client;
    EXPECT_EQ(CALL(PJRT_Client_Devices, devices), "");
    PJRT_Client_BufferFromHostBuffer_Args args{};
    args.client = client;
    args.data = values.data();
    args.type = PJRT_Buffer_Type_F32;
    args.dims = dims.data();
    args.num_dims = dims.size();
    args.byte_strides = strides.data();
    args.num_byte_strides = strides.size();
    args.device = devices.devices[0];
    EXPECT_EQ(CALL(PJRT_Client_BufferFromHostBuffer, args), "");
    PJRT_Event_Destroy_Args event{};
    event.event = args.done_with_host_buffer;
    EXPECT_EQ(CALL(PJRT_Event_Destroy, event), "");
    return args.buffer;
  }

  std::string execute(PJRT_LoadedExecutable *executable, std::vector<PJRT_Buffer *> arguments,
                      PJRT_Buffer *&result) {
    PJRT_Buffer *const *list = arguments.data();
    PJRT_Buffer **results = &result;
    PJRT_ExecuteOptions options{};
    PJRT_LoadedExecutable_Execute_Args args{};
    args.executable = executable;
    args.options = &options;
    args.argument_lists = &list;
    args.num_devices = 1;
    args.num_args = arguments.size();
    args.output_lists = &results;
    return CALL(PJRT_LoadedExecutable_Execute, args);
  }

  /// Returns the elements of a buffer, or sets the error message.
  std::vector<float> read(PJRT_Buffer *buffer, std::string *problem = nullptr) {
    PJRT_Buffer_ToHostBuffer_Args args{};
    args.src = buffer;
    std::string failed = CALL(PJRT_Buffer_ToHostBuffer, args);
    std::vector<float> values(args.dst_size / sizeof(float));
    if (failed.empty()) {
      args.dst = values.empty() ? &args : static_cast<void *>(values.data());
      failed = CALL(PJRT_Buffer_ToHostBuffer, args);
    }
    if (failed.empty()) {
      PJRT_Event_Await_Args await{};
      await.event = args.event;
      failed = CALL(PJRT_Event_Await, await);
      PJRT_Event_Destroy_Args destroy{};
      destroy.event = args.event;
      EXPECT_EQ(CALL(PJRT_Event_Destroy, destroy), "");
    }
    if (problem)
      *problem = failed;
    else
      EXPECT_EQ(failed, "");
    return values;
  }

  void destroy(PJRT_Buffer *buffer) {
    PJRT_Buffer_Destroy_Args args{};
    args.buffer = buffer;
    EXPECT_EQ(CALL(PJRT_Buffer_Destroy, args), "");
  }
  void destroy(PJRT_LoadedExecutable *executable) {
    PJRT_LoadedExecutable_Destroy_Args args{};
    args.executable = executable;
    EXPECT_EQ(CALL(PJRT_LoadedExecutable_Destroy, args), "");
  }
  bool isDeleted(PJRT_Buffer *buffer) {
    PJRT_Buffer_IsDeleted_Args args{};
    args.buffer = buffer;
    EXPECT_EQ(CALL(PJRT_Buffer_IsDeleted, args), "");
    return args.is_deleted;
  }

  PJRT_Client *client = nullptr;
};

constexpr const char *doubled = R"(
module @twice {
  func.func public @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %0 = stablehlo.add %x, %x : tensor<2x2xf32>
    return %0 : tensor<2x2xf32>
  }
})";

TEST_F(PjrtTest, ProgramsRun) {
  PJRT_LoadedExecutable *twice = nullptr;
  ASSERT_EQ(compile(doubled, twice), "");
  PJRT_Buffer *x = buffer({1, 2, 3, 4}, {2, 2}), *y = nullptr;
  for (int i = 0; i < 3; ++i) { // later runs may be on the calling thread
    ASSERT_EQ(execute(twice, {x}, y), "");
    EXPECT_THAT(read(y), ElementsAre(2, 4, 6, 8));
    destroy(y);
  }
  destroy(x);
  destroy(twice);
}

TEST_F(PjrtTest, TokensAreTakenAndIgnored) {
  PJRT_LoadedExecutable *program = nullptr;
  ASSERT_EQ(compile(R"(
func.func public @main(%token: !stablehlo.token, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
})",
                    program),
            "");
  PJRT_Buffer *token = buffer({}, {0}), *x = buffer({1, 2}, {2}), *y = nullptr;
  ASSERT_EQ(execute(program, {token, x}, y), "");
  EXPECT_THAT(read(y), ElementsAre(2, 4));
  for (PJRT_Buffer *each : {token, x, y})
    destroy(each);
  destroy(program);
}

TEST_F(PjrtTest, RunsQueueUp) {
  PJRT_LoadedExecutable *twice = nullptr;
  ASSERT_EQ(compile(doubled, twice), "");
  PJRT_Buffer *x = buffer({1, 2, 3, 4}, {2, 2});
  for (int i = 0; i < 20; ++i) {
    PJRT_Buffer *y = nullptr;
    ASSERT_EQ(execute(twice, {x}, y), "");
    destroy(x);
    x = y;
  }
  EXPECT_THAT(read(x), ElementsAre(1 << 20, 2 << 20, 3 << 20, 4 << 20));
  destroy(x);
  destroy(twice);
}

TEST_F(PjrtTest, StridesOfTheHostAreHeeded) {
  PJRT_Buffer *transposed = buffer({1, 2, 3, 4, 5, 6}, {3, 2}, {4, 12});
  EXPECT_THAT(read(transposed), ElementsAre(1, 4, 2, 5, 3, 6));
  destroy(transposed);
}

TEST_F(PjrtTest, DonatedBuffersAreGone) {
  PJRT_LoadedExecutable *program = nullptr;
  ASSERT_EQ(compile(R"(
func.func public @main(%x: tensor<2xf32> {tf.aliasing_output = 0 : i32}) -> tensor<2xf32> {
  %0 = stablehlo.negate %x : tensor<2xf32>
  return %0 : tensor<2xf32>
})",
                    program),
            "");
  PJRT_Buffer *x = buffer({1, 2}, {2}), *y = nullptr, *z = nullptr;
  ASSERT_EQ(execute(program, {x}, y), "");
  EXPECT_TRUE(isDeleted(x));
  EXPECT_THAT(read(y), ElementsAre(-1, -2));
  EXPECT_THAT(execute(program, {x}, z), HasSubstr("was deleted, or donated"));
  destroy(x);
  destroy(y);
  destroy(program);
}

TEST_F(PjrtTest, ArraysThatOthersLookAtAreNotOverwritten) {
  PJRT_LoadedExecutable *program = nullptr;
  ASSERT_EQ(compile(R"(
func.func public @main(%x: tensor<2xf32> {jax.buffer_donor = true}) -> tensor<2xf32> {
  %0 = stablehlo.negate %x : tensor<2xf32>
  return %0 : tensor<2xf32>
})",
                    program),
            "");
  PJRT_Buffer *x = buffer({1, 2}, {2}), *y = nullptr;
  PJRT_Buffer_IncreaseExternalReferenceCount_Args pin{};
  pin.buffer = x;
  ASSERT_EQ(CALL(PJRT_Buffer_IncreaseExternalReferenceCount, pin), "");
  PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args pointer{};
  pointer.buffer = x;
  ASSERT_EQ(CALL(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, pointer), "");
  ASSERT_EQ(execute(program, {x}, y), "");
  EXPECT_THAT(read(y), ElementsAre(-1, -2));
  EXPECT_EQ(static_cast<const float *>(pointer.device_memory_ptr)[1], 2);
  destroy(x);
  destroy(y);
  destroy(program);
}

TEST_F(PjrtTest, ErrorsOfRunsAreThoseOfResults) {
  PJRT_LoadedExecutable *program = nullptr;
  ASSERT_EQ(compile(R"(
func.func public @main() -> tensor<2xf32> {
  %0 = stablehlo.custom_call @treadle_callback() {mhlo.backend_config = {index = 5 : i64}} : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
})",
                    program),
            "");
  EXPECT_TRUE(treadle_pjrt_uses_callback(5));
  treadle_pjrt_set_callback(nullptr);
  PJRT_Buffer *y = nullptr;
  std::string problem;
  ASSERT_EQ(execute(program, {}, y), "");
  read(y, &problem);
  EXPECT_THAT(problem, HasSubstr("no callback is registered in this process"));
  destroy(y);

  treadle_pjrt_set_callback([](int64_t index, const CallbackArray *, int64_t,
                               const CallbackArray *outputs, int64_t, char *, int64_t) {
    auto *values = static_cast<float *>(outputs[0].data);
    std::fill(values, values + outputs[0].dims[0], static_cast<float>(index));
    return true;
  });
  ASSERT_EQ(execute(program, {}, y), "");
  EXPECT_THAT(read(y), ElementsAre(5, 5));
  destroy(y);
  destroy(program);
  // The device's thread releases the run slightly after the result is available.
  for (int tries = 0; treadle_pjrt_uses_callback(5) && tries < 1000; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(treadle_pjrt_uses_callback(5));
}

TEST_F(PjrtTest, WrongArgumentsAreNamed) {
  PJRT_LoadedExecutable *twice = nullptr;
  ASSERT_EQ(compile(doubled, twice), "");
  PJRT_Buffer *x = buffer({1, 2, 3, 4}, {4}), *y = nullptr;
  EXPECT_THAT(execute(twice, {x}, y), HasSubstr("argument 0 is float32[4], expected float32[2,2]"));
  EXPECT_THAT(execute(twice, {}, y), HasSubstr("gets 0 arguments, expected 1"));
  destroy(x);
  destroy(twice);
}

TEST_F(PjrtTest, WhatIsNotThereIsNamed) {
  PJRT_LoadedExecutable *none = nullptr;
  EXPECT_THAT(compile("x", none, "", "hlo"), HasSubstr("expected 'mlir'"));
  EXPECT_THAT(compile("func.func @main() { not }", none), HasSubstr("isn't MLIR"));
  EXPECT_THAT(compile(R"(func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.custom_call @whatever(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
})",
                      none),
              HasSubstr("@whatever is not known"));
  EXPECT_THAT(compile("func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
                      "  return %x : tensor<?xf32>\n}",
                      none),
              HasSubstr("dynamic sizes"));
  PJRT_Error *error = api()->PJRT_Client_DmaMap(nullptr);
  EXPECT_EQ(error->error.code, Code::Unimplemented);
  EXPECT_EQ(error->error.message, "PJRT_Client_DmaMap");
  delete error;
}

TEST_F(PjrtTest, SerializedProgramsAreLoaded) {
  PJRT_LoadedExecutable *twice = nullptr;
  ASSERT_EQ(compile(doubled, twice), "");
  PJRT_LoadedExecutable_GetExecutable_Args description{};
  description.loaded_executable = twice;
  ASSERT_EQ(CALL(PJRT_LoadedExecutable_GetExecutable, description), "");
  PJRT_Executable_Serialize_Args serialized{};
  serialized.executable = description.executable;
  ASSERT_EQ(CALL(PJRT_Executable_Serialize, serialized), "");
  PJRT_Executable_DeserializeAndLoad_Args loaded{};
  loaded.client = client;
  loaded.serialized_executable = serialized.serialized_bytes;
  loaded.serialized_executable_size = serialized.serialized_bytes_size;
  ASSERT_EQ(CALL(PJRT_Executable_DeserializeAndLoad, loaded), "");
  PJRT_Buffer *x = buffer({1, 2, 3, 4}, {2, 2}), *y = nullptr;
  ASSERT_EQ(execute(loaded.loaded_executable, {x}, y), "");
  EXPECT_THAT(read(y), ElementsAre(2, 4, 6, 8));
  PJRT_Executable_DeserializeAndLoad_Args damaged{};
  damaged.client = client;
  damaged.serialized_executable = "\x0a\xff";
  damaged.serialized_executable_size = 2;
  EXPECT_THAT(CALL(PJRT_Executable_DeserializeAndLoad, damaged), HasSubstr("malformed"));
  serialized.serialized_executable_deleter(serialized.serialized_executable);
  PJRT_Executable_Destroy_Args destroyed{};
  destroyed.executable = description.executable;
  EXPECT_EQ(CALL(PJRT_Executable_Destroy, destroyed), "");
  destroy(x);
  destroy(y);
  destroy(loaded.loaded_executable);
  destroy(twice);
}

TEST(DeviceAssignmentTest, RoundTrips) {
  DeviceAssignment made = *DeviceAssignment::inOrder(2, 3);
  std::ranges::reverse(made.devices);
  Expected<DeviceAssignment> read = DeviceAssignment::parse(made.serialize());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->replicas, 2);
  EXPECT_EQ(read->partitions, 3);
  EXPECT_EQ(read->devices, made.devices);
}

TEST(DeviceAssignmentTest, DamagedOnesAreErrors) {
  std::string bytes = DeviceAssignment::inOrder(2, 3)->serialize();
  for (size_t size = 1; size < bytes.size(); ++size)
    EXPECT_FALSE(DeviceAssignment::parse(bytes.substr(0, size))) << size;
  EXPECT_FALSE(DeviceAssignment::inOrder(0, 1));
  EXPECT_FALSE(DeviceAssignment::inOrder(1 << 20, 1 << 20));
}

TEST(CompileOptionsTest, OptionsOfXlaAreTaken) {
  EXPECT_TRUE(CompileOptions::parse("\x3a\x07\x0a\x05xla_a"));
  Expected<CompileOptions> unknown = CompileOptions::parse("\x3a\x06\x0a\x04some");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "No such compile option: 'some'");
  EXPECT_FALSE(CompileOptions::parse("\x3a\x09\x0a\x05xla_a"));
}

TEST(CompletionTest, TellsEachWaiter) {
  Completion state;
  int told = 0;
  state.whenDone([&](const Error *error) { told += error ? 1 : 100; });
  std::thread other([&] { state.fail(invalidArgument("no")); });
  EXPECT_EQ(state.wait()->message, "no");
  other.join();
  state.whenDone([&](const Error *error) { told += error ? 1 : 100; });
  EXPECT_EQ(told, 2);
}

TEST(QueueTest, KeepsTheOrder) {
  std::vector<int> order;
  {
    Queue queue;
    EXPECT_TRUE(queue.runNow([&] { order.push_back(0); }));
    for (int i = 1; i < 100; ++i)
      queue.add([&order, i] { order.push_back(i); });
  }
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST(QueueTest, ATaskThatCallsBackMayWaitForAnother) {
  Completion done;
  Queue queue; // destroyed first, after its tasks have run
  queue.add([&] {
    Queue::CallingBack scope;
    EXPECT_TRUE(queue.runNow([&] { done.succeed(); }));
    EXPECT_EQ(done.wait(), nullptr);
  });
  done.wait();
}

} // namespace
