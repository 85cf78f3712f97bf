// Send and Recv: by name, in order, within a run.
#include "treadle/runtime/Execution.h"
#include "treadle/runtime/Run.h"
#include "treadle/testing/KernelTest.h"

#include <thread>

namespace treadle {
namespace {

/// Both ops in runs of one session; runOp would create one for each.
struct Wire {
  Expected<Tensor> run(std::string_view op, std::string_view name, uint64_t step, Tensor input,
                       DType received) {
    AttrMap attrs;
    attrs.set("tensor_name", std::string(name));
    std::vector<DType> inputTypes, outputTypes;
    if (input)
      inputTypes.push_back(input.dtype());
    else
      outputTypes.push_back(received);
    BoundKernel kernel = TREADLE_TRY(
        (*builtinKernels().find(op))(BindContext{op, op, attrs, inputTypes, outputTypes}));
    RunState state(resources, nullptr);
    state.step = step;
    uint32_t index = 0;
    Tensor output;
    Execution ctx;
    ctx.bases[0] = &input;
    ctx.inputIndex = &index;
    ctx.outputs = &output;
    ctx.inputCount = inputTypes.size();
    ctx.outputCount = outputTypes.size();
    ctx.boundState = kernel.state.get();
    ctx.runState = &state;
    kernel.fn(ctx);
    finishSuspended(ctx);
    if (ctx.error)
      return Unexpected(std::move(*ctx.error));
    return output;
  }
  void send(std::string_view name, int32_t value, uint64_t step = 1) {
    EXPECT_TRUE(run("_Send", name, step, scalar(value), DType::Invalid));
  }
  int32_t receive(std::string_view name, uint64_t step = 1) {
    Expected<Tensor> value = run("_Recv", name, step, {}, DType::Int32);
    return value ? value->scalarValue<int32_t>() : -1;
  }

  ResourceManager resources;
};

TEST(Rendezvous, valuesArriveInOrderByName) {
  Wire wire;
  wire.send("a", 1);
  wire.send("b", 2);
  wire.send("a", 3);
  EXPECT_EQ(wire.receive("b"), 2);
  EXPECT_EQ(wire.receive("a"), 1);
  EXPECT_EQ(wire.receive("a"), 3);
}

TEST(Rendezvous, runsDontMeet) {
  Wire wire;
  wire.send("a", 1, 1);
  wire.send("a", 2, 2);
  EXPECT_EQ(wire.receive("a", 2), 2);
  EXPECT_EQ(wire.receive("a", 1), 1);
}

TEST(Rendezvous, receiversWait) {
  Wire wire;
  int32_t first = 0, second = 0;
  std::thread receiver([&] {
    first = wire.receive("a");
    second = wire.receive("a");
  });
  wire.send("a", 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  wire.send("a", 2);
  receiver.join();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
}

TEST(Rendezvous, anotherDTypeIsAnError) {
  Wire wire;
  wire.send("a", 1);
  Expected<Tensor> received = wire.run("_Recv", "a", 1, {}, DType::Float32);
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, Code::InvalidArgument);
}

} // namespace
} // namespace treadle
