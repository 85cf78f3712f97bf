// Tensor arrays: what may be written and read, joining and splitting, and gradients.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

struct Array {
  explicit Array(int32_t size, AttrMap attrs = {}, std::string_view op = "TensorArrayV3") {
    attrs.set("dtype", TypeAttr{DType::Float32});
    std::vector<DType> types = {DType::Resource, DType::Float32};
    if (op != "TensorArrayV3")
      types = {DType::String};
    handle = runAll(op, {scalar(size)}, types, attrs).at(0);
  }
  explicit Array(Tensor handle) : handle(std::move(handle)) {}

  std::string write(int32_t index, Tensor value) const {
    return errorOf("TensorArrayWriteV3", {handle, scalar(index), std::move(value), scalar(0.0f)},
                   {DType::Float32});
  }
  Tensor read(int32_t index) const {
    return run1("TensorArrayReadV3", {handle, scalar(index), scalar(0.0f)}, DType::Float32,
                dtype());
  }
  std::string readError(int32_t index) const {
    return errorOf("TensorArrayReadV3", {handle, scalar(index), scalar(0.0f)}, {DType::Float32},
                   dtype());
  }
  int32_t size() const {
    return run1("TensorArraySizeV3", {handle, scalar(0.0f)}, DType::Int32).scalarValue<int32_t>();
  }
  std::string scatter(std::vector<int32_t> indices, Tensor value) const {
    return errorOf("TensorArrayScatterV3",
                   {handle, vec(std::move(indices)), std::move(value), scalar(0.0f)},
                   {DType::Float32});
  }
  std::string split(Tensor value, std::vector<int64_t> lengths) const {
    return errorOf("TensorArraySplitV3",
                   {handle, std::move(value), vec(std::move(lengths)), scalar(0.0f)},
                   {DType::Float32});
  }
  Tensor gather(std::vector<int32_t> indices) const {
    return run1("TensorArrayGatherV3", {handle, vec(std::move(indices)), scalar(0.0f)},
                DType::Float32, dtype());
  }
  std::vector<Tensor> concat() const {
    return runAll("TensorArrayConcatV3", {handle, scalar(0.0f)}, {DType::Float32, DType::Int64},
                  dtype());
  }
  Array gradient(std::string source = "g") const {
    AttrMap attrs;
    attrs.set("source", std::move(source));
    return Array(runAll("TensorArrayGradV3", {handle, scalar(0.0f)},
                        {DType::Resource, DType::Float32}, attrs)
                     .at(0));
  }
  static AttrMap dtype() {
    AttrMap attrs;
    attrs.set("dtype", TypeAttr{DType::Float32});
    return attrs;
  }

  Tensor handle;
};

AttrMap with(std::string_view name, AttrValue value) {
  AttrMap attrs;
  attrs.set(name, std::move(value));
  return attrs;
}

using Floats = std::vector<float>;

TEST(TensorArray, clearsElementsAfterRead) {
  Array array(2);
  EXPECT_EQ(array.size(), 2);
  EXPECT_EQ(array.write(1, vec<float>({1, 2})), "");
  EXPECT_EQ(values<float>(array.read(1)), (Floats{1, 2}));
  EXPECT_EQ(array.readError(1), "InvalidArgumentError: cannot read index 1 again: it was cleared "
                                "after the first time; set clear_after_read to false to keep it");
}

TEST(TensorArray, rejectsInvalidAccesses) {
  Array array(2, with("element_shape", PartialShape::ranked({-1})));
  EXPECT_EQ(array.write(0, vec<float>({1})), "");
  EXPECT_EQ(array.write(0, vec<float>({1})),
            "InvalidArgumentError: cannot write to index 0: it was written already");
  EXPECT_EQ(array.write(2, vec<float>({1})), "InvalidArgumentError: cannot write to index 2 of a "
                                             "tensor array of size 2, which can't grow");
  EXPECT_EQ(array.write(-1, vec<float>({1})).substr(0, 20), "InvalidArgumentError");
  EXPECT_EQ(array.write(1, scalar(1.0f)),
            "InvalidArgumentError: cannot write float32[] to index 1: the tensor array's elements "
            "have the shape [?]");
  EXPECT_EQ(array.write(1, vec<int32_t>({1})),
            "InvalidArgumentError: cannot write int32 to a tensor array of float32");
  EXPECT_NE(array.readError(1), ""); // unknown shape
  EXPECT_NE(array.readError(7), "");
  EXPECT_EQ(errorClassOf("TensorArrayV3", {scalar(-1)}, {DType::Resource, DType::Float32},
                         Array::dtype()),
            "InvalidArgumentError");
}

TEST(TensorArray, growsIfDynamic) {
  Array array(0, with("dynamic_size", true));
  EXPECT_EQ(array.write(3, scalar(1.0f)), "");
  EXPECT_EQ(array.size(), 4);
  EXPECT_EQ(array.write(INT32_MAX, scalar(1.0f)).substr(0, 22), "ResourceExhaustedError");
}

TEST(TensorArray, identicalShapesAreEnforced) {
  Array array(2, with("identical_element_shapes", true));
  EXPECT_EQ(array.write(0, vec<float>({1, 2})), "");
  EXPECT_NE(array.write(1, vec<float>({1})), "");
  EXPECT_EQ(values<float>(array.read(1)), (Floats{0, 0})); // never written, but of known shape
}

TEST(TensorArray, scattersAndGathersRows) {
  Array array(3);
  EXPECT_EQ(array.scatter({2, 0}, tensor<float>({2, 2}, {1, 2, 3, 4})), "");
  EXPECT_EQ(array.scatter({1}, tensor<float>({1, 2}, {5, 6})), "");
  Tensor rows = array.gather({0, 1, 2});
  EXPECT_EQ(dimsText(rows.dims()), "[3,2]");
  EXPECT_EQ(values<float>(rows), (Floats{3, 4, 5, 6, 1, 2}));
  EXPECT_NE(Array(3).scatter({0, 1}, vec<float>({1})), "");
  EXPECT_NE(Array(3).scatter({}, scalar(1.0f)), "");
}

TEST(TensorArray, emptyGatherNeedsKnownShape) {
  AttrMap attrs = Array::dtype();
  std::vector<Tensor> inputs = {Array(0).handle, vec<int32_t>({}), scalar(0.0f)};
  EXPECT_EQ(errorClassOf("TensorArrayGatherV3", inputs, {DType::Float32}, attrs),
            "InvalidArgumentError");
  attrs.set("element_shape", PartialShape::ranked({3}));
  Tensor none = run1("TensorArrayGatherV3", inputs, DType::Float32, attrs);
  EXPECT_EQ(dimsText(none.dims()), "[0,3]");
}

TEST(TensorArray, splitsAndJoins) {
  Array array(3);
  EXPECT_EQ(array.split(vec<float>({1, 2, 3}), {2, 0, 1}), "");
  std::vector<Tensor> joined = array.concat();
  EXPECT_EQ(values<float>(joined.at(0)), (Floats{1, 2, 3}));
  EXPECT_EQ(values<int64_t>(joined.at(1)), (std::vector<int64_t>{2, 0, 1}));
  for (const std::vector<int64_t> &lengths : std::vector<std::vector<int64_t>>{
           {1, 1}, {1, 1, 2}, {-1, 2, 2}, {INT64_MAX, INT64_MAX, 5}, {1, 1, 0}})
    EXPECT_NE(Array(3).split(vec<float>({1, 2, 3}), lengths), "");
}

TEST(TensorArray, concatRejectsWrongShapes) {
  Array scalars(1), differing(2);
  EXPECT_EQ(scalars.write(0, scalar(1.0f)), "");
  differing.write(0, tensor<float>({1, 2}, {1, 2}));
  differing.write(1, tensor<float>({1, 3}, {1, 2, 3}));
  for (const Array &array : {scalars, differing})
    EXPECT_EQ(errorClassOf("TensorArrayConcatV3", {array.handle, scalar(0.0f)},
                           {DType::Float32, DType::Int64}, Array::dtype()),
              "InvalidArgumentError");
}

TEST(TensorArray, gradientsAddUp) {
  Array array(2);
  array.write(0, vec<float>({1, 2}));
  Array gradient = array.gradient();
  EXPECT_EQ(gradient.write(0, vec<float>({1, 1})), "");
  EXPECT_EQ(array.gradient().write(0, vec<float>({2, 3})), ""); // the same array
  EXPECT_NE(gradient.write(0, vec<float>({1})), "");
  EXPECT_EQ(values<float>(gradient.read(0)), (Floats{3, 4}));
  EXPECT_EQ(values<float>(array.gradient("other").read(0)), (Floats{0, 0}));
  EXPECT_NE(gradient.write(2, vec<float>({1, 1})), ""); // a gradient array can't grow
}

TEST(TensorArray, addingLeavesOthersTensorsAlone) {
  Array array(1);
  array.write(0, scalar(1.0f));
  Array gradient = array.gradient();
  Tensor first = scalar(1.0f);
  gradient.write(0, first);
  gradient.write(0, scalar(5.0f));
  EXPECT_EQ(first.scalarValue<float>(), 1.0f);
  EXPECT_EQ(gradient.read(0).scalarValue<float>(), 6.0f);
}

TEST(TensorArray, gradientsWithAPrefixHaveMoreDimensions) {
  Array array(1);
  array.write(0, vec<float>({1, 2}));
  Array gradient(runAll("TensorArrayGradWithShape", {array.handle, scalar(0.0f), vec<int32_t>({3})},
                        {DType::Resource, DType::Float32}, with("source", std::string("g")))
                     .at(0));
  EXPECT_EQ(dimsText(gradient.read(0).dims()), "[3,2]");
}

TEST(TensorArray, closedArrayRejectsAccesses) {
  Array array(1);
  EXPECT_EQ(errorOf("TensorArrayCloseV3", {array.handle}), "");
  EXPECT_EQ(array.readError(0), "InvalidArgumentError: the tensor array was closed already");
  EXPECT_NE(array.write(0, scalar(1.0f)), "");
}

TEST(TensorArray, handlesOfOldOpsAreStrings) {
  Array array(1, {}, "TensorArrayV2");
  EXPECT_EQ(array.handle.dtype(), DType::String);
  EXPECT_EQ(array.write(0, scalar(4.0f)), "");
  EXPECT_EQ(array.read(0).scalarValue<float>(), 4.0f);
  Array other(vec<std::string>({"", "no such thing"}));
  EXPECT_EQ(other.readError(0).substr(0, 13), "NotFoundError");
}

} // namespace
} // namespace treadle
