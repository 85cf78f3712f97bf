// Stacks: last in, first out, within bounds, until they are closed.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

Tensor stackOf(int32_t limit) {
  AttrMap attrs;
  attrs.set("elem_type", TypeAttr{DType::Float32});
  return run1("StackV2", {scalar(limit)}, DType::Resource, attrs);
}
std::string push(const Tensor &stack, Tensor value) {
  return errorOf("StackPushV2", {stack, value}, {value.dtype()});
}
float pop(const Tensor &stack) {
  return run1("StackPopV2", {stack}, DType::Float32).scalarValue<float>();
}
std::string popError(const Tensor &stack, DType dtype = DType::Float32) {
  return errorOf("StackPopV2", {stack}, {dtype});
}

TEST(Stack, lastInIsFirstOut) {
  Tensor stack = stackOf(-1);
  for (float x : {1.0f, 2.0f, 3.0f})
    EXPECT_EQ(push(stack, scalar(x)), "");
  EXPECT_EQ(pop(stack), 3.0f);
  EXPECT_EQ(pop(stack), 2.0f);
  EXPECT_EQ(push(stack, scalar(4.0f)), "");
  EXPECT_EQ(pop(stack), 4.0f);
  EXPECT_EQ(pop(stack), 1.0f);
  EXPECT_EQ(popError(stack), "InvalidArgumentError: the stack is empty: nothing to pop");
}

TEST(Stack, holdsNoMoreThanItsLimit) {
  Tensor stack = stackOf(1);
  EXPECT_EQ(push(stack, scalar(1.0f)), "");
  EXPECT_EQ(push(stack, scalar(2.0f)),
            "InvalidArgumentError: the stack is full: it has its maximum of 1 elements");
}

TEST(Stack, holdsOneDType) {
  Tensor stack = stackOf(-1);
  EXPECT_EQ(push(stack, scalar(1)).substr(0, 20), "InvalidArgumentError");
  push(stack, scalar(1.0f));
  EXPECT_EQ(popError(stack, DType::Int32).substr(0, 20), "InvalidArgumentError");
}

TEST(Stack, closedStackRejectsAccesses) {
  Tensor stack = stackOf(-1);
  push(stack, scalar(1.0f));
  EXPECT_EQ(errorOf("StackCloseV2", {stack}), "");
  EXPECT_EQ(popError(stack), "InvalidArgumentError: the stack was closed already");
}

TEST(Stack, otherHandlesAreRefused) {
  EXPECT_EQ(popError(tensor<ResourceHandle>({}, {ResourceHandle{}})).substr(0, 13),
            "NotFoundError");
}

} // namespace
} // namespace treadle
