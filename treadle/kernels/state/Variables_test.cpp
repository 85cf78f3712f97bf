// Variables by handle and by v1 reference: assignment, addition, rows and slices.
#include "treadle/kernels/state/Variables.h"

#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

Ref<Variable> variableOf(Tensor value, DType dtype = DType::Invalid) {
  auto variable = makeRef<Variable>("v", value ? value.dtype() : dtype);
  variable->assign(std::move(value));
  return variable;
}

// Runs an op without outputs; returns its error.
std::string runOn(std::string_view op, std::vector<Tensor> inputs, const AttrMap &attrs = {}) {
  auto out = runOp(builtinKernels(), op, attrs, std::move(inputs), {});
  return out ? "" : str(errorClass(out.error().code), ": ", out.error().message);
}

AttrMap dtypeAttr(DType dtype) {
  AttrMap attrs;
  attrs.set("dtype", TypeAttr{dtype});
  return attrs;
}

// --- by handle ---------------------------------------------------------------------------------

TEST(Variables, aValueIsSharedNotCopied) {
  Tensor value = vec<float>({1, 2, 3});
  auto variable = variableOf({}, DType::Float32);
  EXPECT_EQ(runOn("AssignVariableOp", {makeHandle(variable), value}), "");
  Tensor read = run1("ReadVariableOp", {makeHandle(variable)}, DType::Float32);
  EXPECT_TRUE(read.sharesElementsWith(value));
}

TEST(Variables, addingPreservesEarlierReads) {
  auto variable = variableOf(vec<int32_t>({1, 2}));
  Tensor before = variable->read();
  EXPECT_EQ(runOn("AssignAddVariableOp", {makeHandle(variable), vec<int32_t>({10, 20})}), "");
  EXPECT_EQ(values<int32_t>(variable->read()), (std::vector<int32_t>{11, 22}));
  EXPECT_EQ(values<int32_t>(before), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(runOn("AssignSubVariableOp", {makeHandle(variable), vec<int32_t>({1, 2})}), "");
  EXPECT_EQ(values<int32_t>(variable->read()), (std::vector<int32_t>{10, 20}));
}

TEST(Variables, addingIsInPlaceIfUnshared) {
  auto variable = variableOf(vec<double>({1, 2}));
  const void *elements = variable->value.raw();
  EXPECT_EQ(runOn("AssignAddVariableOp", {makeHandle(variable), vec<double>({1, 1})}), "");
  EXPECT_EQ(variable->value.raw(), elements);
}

TEST(Variables, errorsOfHandles) {
  auto empty = variableOf({}, DType::Float32);
  auto full = variableOf(vec<float>({1, 2}));
  auto classOf = [](const std::string &text) { return text.substr(0, text.find(':')); };
  EXPECT_EQ(errorClassOf("ReadVariableOp", {makeHandle(empty)}, {DType::Float32}),
            "FailedPreconditionError");
  EXPECT_EQ(errorClassOf("ReadVariableOp", {makeHandle(full)}, {DType::Int32}),
            "InvalidArgumentError");
  EXPECT_EQ(classOf(runOn("AssignVariableOp", {makeHandle(full), vec<int32_t>({1})})),
            "InvalidArgumentError");
  EXPECT_EQ(classOf(runOn("AssignAddVariableOp", {makeHandle(full), vec<float>({1})})),
            "InvalidArgumentError");
  EXPECT_EQ(classOf(runOn("AssignAddVariableOp", {makeHandle(empty), vec<float>({1})})),
            "NotFoundError");
  AttrMap validates;
  validates.set("validate_shape", true);
  EXPECT_EQ(classOf(runOn("AssignVariableOp", {makeHandle(full), vec<float>({1})}, validates)),
            "InvalidArgumentError");
  EXPECT_EQ(runOn("AssignVariableOp", {makeHandle(full), vec<float>({1})}), "");
  EXPECT_EQ(full->read().count(), 1);
}

TEST(Variables, asManyAreReadAsThereAreDTypes) {
  auto variable = variableOf(vec<float>({1, 2}));
  EXPECT_EQ(
      errorClassOf("_ReadVariablesOp", {makeHandle(variable)}, {DType::Float32, DType::Float32}),
      "InvalidArgumentError");
}

TEST(Variables, questionsAboutThem) {
  auto variable = variableOf(iota<float>({2, 3}, 0));
  auto empty = variableOf({}, DType::Float32);
  EXPECT_TRUE(run1("VarIsInitializedOp", {makeHandle(variable)}, DType::Bool).scalarValue<bool>());
  EXPECT_FALSE(run1("VarIsInitializedOp", {makeHandle(empty)}, DType::Bool).scalarValue<bool>());
  EXPECT_EQ(values<int64_t>(run1("VariableShape", {makeHandle(variable)}, DType::Int64)),
            (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(runOn("DestroyResourceOp", {makeHandle(variable)}), "");
  EXPECT_FALSE(run1("VarIsInitializedOp", {makeHandle(variable)}, DType::Bool).scalarValue<bool>());
}

TEST(Variables, unnamedHandlesAreDistinct) {
  AttrMap attrs = dtypeAttr(DType::Float32);
  attrs.set("shared_name", std::string("cd2c89b7-88b7-44c8-ad83-06c2a9158347"));
  Tensor a = run1("VarHandleOp", {}, DType::Resource, attrs);
  Tensor b = run1("VarHandleOp", {}, DType::Resource, attrs);
  EXPECT_FALSE(a.data<ResourceHandle>()->resource == b.data<ResourceHandle>()->resource);
}

TEST(Variables, countUpTo) {
  auto variable = variableOf(scalar<int32_t>(1));
  AttrMap attrs;
  attrs.set("limit", int64_t{2});
  EXPECT_EQ(
      run1("ResourceCountUpTo", {makeHandle(variable)}, DType::Int32, attrs).scalarValue<int32_t>(),
      1);
  EXPECT_EQ(errorClassOf("ResourceCountUpTo", {makeHandle(variable)}, {DType::Int32}, attrs),
            "OutOfRangeError");
  EXPECT_EQ(variable->read().scalarValue<int32_t>(), 2);
}

// --- by reference ------------------------------------------------------------------------------

TEST(RefVariables, assignReturnsReference) {
  auto variable = variableOf({}, DType::Float32);
  Tensor reference = makeRefTensor(variable);
  EXPECT_FALSE(run1("IsVariableInitialized", {reference}, DType::Bool).scalarValue<bool>());
  EXPECT_EQ(errorClassOf("AssignAdd", {reference, vec<float>({1})}, {DType::Float32}),
            "FailedPreconditionError");
  Tensor out = run1("Assign", {reference, vec<float>({1, 2})}, DType::Float32);
  ASSERT_TRUE(out.isRef());
  EXPECT_EQ(&refVariable(out), variable.get());
  EXPECT_TRUE(run1("IsVariableInitialized", {reference}, DType::Bool).scalarValue<bool>());
}

TEST(RefVariables, whoReadBeforeSeesTheNewValue) {
  auto variable = variableOf(vec<float>({1, 2}));
  Tensor before = variable->read();
  run1("AssignAdd", {makeRefTensor(variable), vec<float>({10, 10})}, DType::Float32);
  EXPECT_EQ(values<float>(before), (std::vector<float>{11, 12}));
  run1("Assign", {makeRefTensor(variable), vec<float>({5, 6})}, DType::Float32);
  EXPECT_EQ(values<float>(before), (std::vector<float>{5, 6}));
}

TEST(RefVariables, shapesMustStayUnlessToldOtherwise) {
  auto variable = variableOf(vec<float>({1, 2}));
  Tensor reference = makeRefTensor(variable);
  EXPECT_EQ(errorClassOf("Assign", {reference, vec<float>({1})}, {DType::Float32}),
            "InvalidArgumentError");
  AttrMap attrs;
  attrs.set("validate_shape", false);
  run1("Assign", {reference, vec<float>({1})}, DType::Float32, attrs);
  EXPECT_EQ(variable->read().count(), 1);
}

TEST(RefVariables, temporaryOnesGiveTheirValueWhenDestroyed) {
  AttrMap attrs = dtypeAttr(DType::Int32);
  attrs.set("shape", PartialShape::ranked({2}));
  attrs.set("var_name", std::string("t"));
  Tensor reference = run1("TemporaryVariable", {}, DType::Int32, attrs);
  run1("Assign", {reference, vec<int32_t>({3, 4})}, DType::Int32);
  EXPECT_EQ(values<int32_t>(run1("DestroyTemporaryVariable", {reference}, DType::Int32, attrs)),
            (std::vector<int32_t>{3, 4}));
  EXPECT_EQ(errorClassOf("DestroyTemporaryVariable", {reference}, {DType::Int32}, attrs),
            "NotFoundError");
  Tensor other = run1("TemporaryVariable", {}, DType::Int32, attrs);
  attrs.set("var_name", std::string("another"));
  EXPECT_EQ(errorClassOf("DestroyTemporaryVariable", {other}, {DType::Int32}, attrs),
            "NotFoundError");
}

// --- rows --------------------------------------------------------------------------------------

TEST(VariableScatter, gather) {
  auto variable = variableOf(iota<float>({3, 2}, 0));
  Tensor rows =
      run1("ResourceGather", {makeHandle(variable), vec<int64_t>({2, 0})}, DType::Float32);
  EXPECT_EQ(values<float>(rows), (std::vector<float>{4, 5, 0, 1}));
  Tensor one = run1("ResourceGatherNd", {makeHandle(variable), tensor<int32_t>({1, 2}, {1, 1})},
                    DType::Float32);
  EXPECT_EQ(values<float>(one), (std::vector<float>{3}));
  AttrMap batched;
  batched.set("batch_dims", int64_t{1});
  Tensor each = run1("ResourceGather", {makeHandle(variable), tensor<int32_t>({3, 1}, {1, 0, 1})},
                     DType::Float32, batched);
  EXPECT_EQ(values<float>(each), (std::vector<float>{1, 2, 5}));
  EXPECT_EQ(
      errorClassOf("ResourceGather", {makeHandle(variable), vec<int64_t>({3})}, {DType::Float32}),
      "InvalidArgumentError");
}

struct ScatterCase {
  const char *op;
  std::vector<int32_t> expected;
};

class Scatter : public testing::TestWithParam<ScatterCase> {};

TEST_P(Scatter, updatesRowsOfBothKindsOfVariables) {
  Tensor indices = vec<int32_t>({2, 0}), updates = tensor<int32_t>({2, 2}, {2, 3, 4, 5});
  auto variable = variableOf(iota<int32_t>({3, 2}, 10));
  Tensor before = variable->read();
  EXPECT_EQ(runOn(str("Resource", GetParam().op), {makeHandle(variable), indices, updates}), "");
  EXPECT_EQ(values<int32_t>(variable->read()), GetParam().expected);
  EXPECT_EQ(before.data<int32_t>()[0], 10) << "what was read before changed";

  auto v1 = variableOf(iota<int32_t>({3, 2}, 10));
  Tensor out = run1(GetParam().op, {makeRefTensor(v1), indices, updates}, DType::Int32);
  EXPECT_TRUE(out.isRef());
  EXPECT_EQ(values<int32_t>(v1->read()), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Ops, Scatter,
                         testing::Values(ScatterCase{"ScatterAdd", {14, 16, 12, 13, 16, 18}},
                                         ScatterCase{"ScatterSub", {6, 6, 12, 13, 12, 12}},
                                         ScatterCase{"ScatterMul", {40, 55, 12, 13, 28, 45}},
                                         ScatterCase{"ScatterDiv", {2, 2, 12, 13, 7, 5}},
                                         ScatterCase{"ScatterMin", {4, 5, 12, 13, 2, 3}},
                                         ScatterCase{"ScatterMax", {10, 11, 12, 13, 14, 15}},
                                         ScatterCase{"ScatterUpdate", {4, 5, 12, 13, 2, 3}}));

TEST(VariableScatter, aScalarIsForAllRowsAndRowsMayComeTwice) {
  auto variable = variableOf(vec<float>({1, 2, 3}));
  EXPECT_EQ(runOn("ResourceScatterAdd",
                  {makeHandle(variable), vec<int64_t>({1, 1, 0}), scalar<float>(10)}),
            "");
  EXPECT_EQ(values<float>(variable->read()), (std::vector<float>{11, 22, 3}));
}

TEST(VariableScatter, failedUpdateChangesNothing) {
  auto variable = variableOf(vec<int32_t>({1, 2, 3}));
  Tensor handle = makeHandle(variable);
  for (const Tensor &indices : {vec<int32_t>({0, 3}), vec<int32_t>({0, -1}), vec<int32_t>({0})})
    EXPECT_NE(runOn("ResourceScatterAdd", {handle, indices, vec<int32_t>({5, 5})}), "");
  EXPECT_NE(runOn("ResourceScatterAdd", {makeHandle(variableOf(scalar<int32_t>(1))),
                                         vec<int32_t>({0}), vec<int32_t>({5})}),
            "");
  EXPECT_EQ(values<int32_t>(variable->read()), (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(runOn("ResourceScatterDiv", {handle, vec<int32_t>({0}), vec<int32_t>({0})}),
            "InvalidArgumentError: integer division by zero");
}

TEST(VariableScatter, byCoordinates) {
  auto variable = variableOf(iota<float>({2, 2}, 0));
  EXPECT_EQ(runOn("ResourceScatterNdUpdate",
                  {makeHandle(variable), tensor<int32_t>({1, 2}, {1, 0}), vec<float>({9})}),
            "");
  EXPECT_EQ(values<float>(variable->read()), (std::vector<float>{0, 1, 9, 3}));
  run1("ScatterNdAdd",
       {makeRefTensor(variable), tensor<int64_t>({1, 1}, {0}), tensor<float>({1, 2}, {5, 5})},
       DType::Float32);
  EXPECT_EQ(values<float>(variable->read()), (std::vector<float>{5, 6, 9, 3}));
  EXPECT_NE(runOn("ResourceScatterNdUpdate",
                  {makeHandle(variable), tensor<int32_t>({1, 2}, {2, 0}), vec<float>({9})}),
            "");
}

TEST(VariableScatter, regions) {
  auto variable = variableOf(iota<int32_t>({4}, 0));
  EXPECT_EQ(runOn("ResourceStridedSliceAssign",
                  {makeHandle(variable), vec<int32_t>({1}), vec<int32_t>({4}), vec<int32_t>({2}),
                   vec<int32_t>({7, 8})}),
            "");
  EXPECT_EQ(values<int32_t>(variable->read()), (std::vector<int32_t>{0, 7, 2, 8}));
}

} // namespace
} // namespace treadle
