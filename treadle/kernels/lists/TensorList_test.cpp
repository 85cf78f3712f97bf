// Tensor lists: single elements, whole lists, and immutability of shared lists.
#include "treadle/kernels/lists/TensorList.h"

#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using Floats = std::vector<float>;
constexpr auto any = [] { return scalar<int32_t>(-1); }; // element shape of unknown rank

AttrMap floats() {
  AttrMap attrs;
  attrs.set("element_dtype", TypeAttr{DType::Float32});
  return attrs;
}

Tensor emptyList(Tensor shape, int32_t maxElements = -1) {
  return run1("EmptyTensorList", {std::move(shape), scalar(maxElements)}, DType::Variant, floats());
}
Tensor reserved(Tensor shape, int32_t count) {
  return run1("TensorListReserve", {std::move(shape), scalar(count)}, DType::Variant, floats());
}
Tensor pushed(Tensor list, Tensor element) {
  std::vector<Tensor> inputs; // a list in braces would be another owner
  inputs.push_back(std::move(list));
  inputs.push_back(std::move(element));
  return run1("TensorListPushBack", std::move(inputs), DType::Variant, floats());
}
Tensor listOf(const std::vector<Tensor> &elements) {
  Tensor list = emptyList(any());
  for (const Tensor &t : elements)
    list = pushed(std::move(list), t);
  return list;
}
int32_t lengthOf(const Tensor &list) {
  return run1("TensorListLength", {list}, DType::Int32).scalarValue<int32_t>();
}
Tensor item(const Tensor &list, int32_t i, Tensor shape = any()) {
  return run1("TensorListGetItem", {list, scalar(i), std::move(shape)}, DType::Float32, floats());
}
Tensor stacked(const Tensor &list, Tensor shape = any()) {
  return run1("TensorListStack", {list, std::move(shape)}, DType::Float32, floats());
}
std::string failure(std::string_view op, std::vector<Tensor> inputs, DType out = DType::Float32) {
  return errorClassOf(op, std::move(inputs), {out}, floats());
}
const std::string invalid = "InvalidArgumentError";

// --- single elements ---------------------------------------------------------------------------

TEST(TensorList, pushAndPop) {
  Tensor list = listOf({scalar<float>(1), vec<float>({2, 3})});
  EXPECT_EQ(lengthOf(list), 2);
  auto out = runAll("TensorListPopBack", {list, any()}, {DType::Variant, DType::Float32}, floats());
  EXPECT_EQ(values<float>(out.at(1)), (Floats{2, 3}));
  EXPECT_EQ(lengthOf(out.at(0)), 1);
  EXPECT_EQ(lengthOf(list), 2) << "a list that is shared was changed";
  EXPECT_EQ(errorClassOf("TensorListPopBack", {emptyList(any()), any()},
                         {DType::Variant, DType::Float32}, floats()),
            invalid);
}

TEST(TensorList, anOwnListGrowsInPlace) {
  Tensor list = emptyList(any());
  const auto *object = variantIn<TensorListObject>(list);
  list = pushed(std::move(list), scalar<float>(1));
  EXPECT_EQ(variantIn<TensorListObject>(list), object);
  Tensor other = list;
  Tensor longer = pushed(std::move(list), scalar<float>(2));
  EXPECT_NE(variantIn<TensorListObject>(longer), object);
  EXPECT_EQ(lengthOf(other), 1);
}

TEST(TensorList, setAndGet) {
  Tensor list = reserved(vec<int32_t>({2}), 3);
  Tensor set = run1("TensorListSetItem", {list, scalar<int32_t>(1), vec<float>({5, 6})},
                    DType::Variant, floats());
  EXPECT_EQ(values<float>(item(set, 1)), (Floats{5, 6}));
  EXPECT_EQ(values<float>(item(set, 0)), (Floats{0, 0})) << "never set";
  EXPECT_EQ(values<float>(item(list, 1)), (Floats{0, 0})) << "a shared list was changed";
}

TEST(TensorList, errorsOfElements) {
  Tensor list = reserved(vec<int32_t>({2}), 3);
  auto set = [&](int32_t i, Tensor value) {
    return failure("TensorListSetItem", {list, scalar(i), std::move(value)}, DType::Variant);
  };
  EXPECT_EQ(set(2, vec<float>({1, 2})), "");
  EXPECT_EQ(set(3, vec<float>({1, 2})), invalid);
  EXPECT_EQ(set(-1, vec<float>({1, 2})), invalid);
  EXPECT_EQ(set(0, vec<float>({1})), invalid);
  EXPECT_EQ(set(0, vec<double>({1, 2})), invalid);
  EXPECT_EQ(failure("TensorListGetItem", {list, scalar<int32_t>(3), any()}), invalid);
  EXPECT_EQ(failure("TensorListGetItem", {list, scalar<int32_t>(0), vec<int32_t>({3})}), invalid);
  EXPECT_EQ(failure("TensorListGetItem", {reserved(any(), 1), scalar<int32_t>(0), any()}), invalid)
      << "the shape of an element that was never set is unknown";
  Tensor full = pushed(emptyList(any(), 1), scalar<float>(1));
  EXPECT_EQ(failure("TensorListPushBack", {full, scalar<float>(2)}, DType::Variant), invalid);
  EXPECT_EQ(failure("TensorListLength", {Tensor::makeScalar(DType::Variant)}, DType::Int32),
            invalid);
  EXPECT_EQ(failure("TensorListReserve", {any(), scalar<int32_t>(-1)}, DType::Variant), invalid);
}

TEST(TensorList, growsOnRequest) {
  AttrMap grows;
  grows.set("resize_if_index_out_of_bounds", true);
  Tensor list = run1("TensorListSetItem", {emptyList(any()), scalar<int32_t>(2), scalar<float>(7)},
                     DType::Variant, grows);
  EXPECT_EQ(lengthOf(list), 3);
  EXPECT_EQ(lengthOf(run1("TensorListResize", {list, scalar<int32_t>(1)}, DType::Variant)), 1);
  EXPECT_EQ(errorClassOf("TensorListSetItem",
                         {emptyList(any()), scalar<int32_t>(INT32_MAX), scalar<float>(7)},
                         {DType::Variant}, grows),
            "ResourceExhaustedError");
}

TEST(TensorList, elementShape) {
  Tensor shape = run1("TensorListElementShape", {emptyList(vec<int32_t>({-1, 2}))}, DType::Int64);
  EXPECT_EQ(values<int64_t>(shape), (std::vector<int64_t>{-1, 2}));
  Tensor unknown = run1("TensorListElementShape", {emptyList(any())}, DType::Int32);
  EXPECT_TRUE(unknown.isScalar());
  EXPECT_EQ(unknown.scalarValue<int32_t>(), -1);
}

// --- whole lists -------------------------------------------------------------------------------

TEST(TensorList, stackAndBack) {
  Tensor list = run1("TensorListFromTensor", {iota<float>({3, 2}, 0), vec<int32_t>({2})},
                     DType::Variant, floats());
  EXPECT_EQ(lengthOf(list), 3);
  EXPECT_EQ(values<float>(item(list, 1)), (Floats{2, 3}));
  Tensor whole = stacked(list);
  EXPECT_EQ(dimsText(whole.dims()), "[3,2]");
  EXPECT_EQ(values<float>(whole), (Floats{0, 1, 2, 3, 4, 5}));
}

TEST(TensorList, stackOfUnsetElements) {
  EXPECT_EQ(values<float>(stacked(reserved(vec<int32_t>({2}), 2))), (Floats{0, 0, 0, 0}));
  Tensor one =
      run1("TensorListSetItem", {reserved(any(), 2), scalar<int32_t>(1), vec<float>({5, 6})},
           DType::Variant, floats());
  EXPECT_EQ(values<float>(stacked(one)), (Floats{0, 0, 5, 6}));
  EXPECT_EQ(dimsText(stacked(emptyList(vec<int32_t>({4}))).dims()), "[0,4]");
  EXPECT_EQ(failure("TensorListStack", {emptyList(any()), any()}), invalid);
  EXPECT_EQ(failure("TensorListStack", {listOf({scalar<float>(1), vec<float>({1})}), any()}),
            invalid);
  AttrMap two = floats();
  two.set("num_elements", int64_t{2});
  EXPECT_EQ(
      errorClassOf("TensorListStack", {listOf({scalar<float>(1)}), any()}, {DType::Float32}, two),
      invalid);
}

TEST(TensorList, gatherAndScatter) {
  Tensor list = listOf({scalar<float>(10), scalar<float>(11), scalar<float>(12)});
  EXPECT_EQ(values<float>(run1("TensorListGather", {list, vec<int32_t>({2, 0, 2}), any()},
                               DType::Float32, floats())),
            (Floats{12, 10, 12}));
  EXPECT_EQ(failure("TensorListGather", {list, vec<int32_t>({3}), any()}), invalid);
  Tensor made =
      run1("TensorListScatterV2",
           {vec<float>({7, 8}), vec<int32_t>({3, 0}), vec<int32_t>({}), scalar<int32_t>(5)},
           DType::Variant, floats());
  EXPECT_EQ(values<float>(stacked(made)), (Floats{8, 0, 0, 7, 0}));
  Tensor into = run1("TensorListScatterIntoExistingList",
                     {list, vec<float>({1}), vec<int32_t>({1})}, DType::Variant, floats());
  EXPECT_EQ(values<float>(stacked(into)), (Floats{10, 1, 12}));
  EXPECT_EQ(values<float>(stacked(list)), (Floats{10, 11, 12}));
  for (const Tensor &indices : {vec<int32_t>({-1}), vec<int32_t>({0, 1}), vec<int32_t>({5})})
    EXPECT_EQ(failure("TensorListScatterV2", {vec<float>({7}), indices, any(), scalar<int32_t>(5)},
                      DType::Variant),
              invalid);
}

TEST(TensorList, splitAndConcat) {
  Tensor list = run1("TensorListSplit",
                     {iota<float>({3, 2}, 0), vec<int32_t>({-1, 2}), vec<int64_t>({1, 0, 2})},
                     DType::Variant, floats());
  EXPECT_EQ(lengthOf(list), 3);
  auto out = runAll("TensorListConcatV2", {list, vec<int32_t>({-1, 2}), vec<int64_t>({})},
                    {DType::Float32, DType::Int64}, floats());
  EXPECT_EQ(dimsText(out.at(0).dims()), "[3,2]");
  EXPECT_EQ(values<float>(out.at(0)), (Floats{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values<int64_t>(out.at(1)), (std::vector<int64_t>{1, 0, 2}));
  for (const Tensor &lengths : {vec<int64_t>({1}), vec<int64_t>({4}), vec<int64_t>({4, -1})})
    EXPECT_EQ(failure("TensorListSplit", {iota<float>({3, 2}, 0), any(), lengths}, DType::Variant),
              invalid);
  EXPECT_EQ(errorClassOf("TensorListConcatV2",
                         {listOf({scalar<float>(1)}), any(), vec<int64_t>({})},
                         {DType::Float32, DType::Int64}, floats()),
            invalid);
}

TEST(TensorList, concatOfUnsetElements) {
  Tensor list =
      run1("TensorListSetItem", {reserved(any(), 2), scalar<int32_t>(0), vec<float>({5, 6})},
           DType::Variant, floats());
  auto out = runAll("TensorListConcatV2", {list, vec<int32_t>({-1}), vec<int64_t>({})},
                    {DType::Float32, DType::Int64}, floats());
  EXPECT_EQ(values<float>(out.at(0)), (Floats{5, 6, 0, 0})) << "as long as the others";
  auto none =
      runAll("TensorListConcatV2", {reserved(any(), 2), vec<int32_t>({-1}), vec<int64_t>({1, 2})},
             {DType::Float32, DType::Int64}, floats());
  EXPECT_EQ(values<float>(none.at(0)), (Floats{0, 0, 0})) << "as long as told";
}

// --- several lists -----------------------------------------------------------------------------

TEST(TensorList, listsOneAfterAnother) {
  Tensor a = listOf({scalar<float>(1)}), b = listOf({scalar<float>(2), scalar<float>(3)});
  Tensor joined = run1("TensorListConcatLists", {a, b}, DType::Variant, floats());
  EXPECT_EQ(values<float>(stacked(joined)), (Floats{1, 2, 3}));
  EXPECT_EQ(lengthOf(a), 1);
}

TEST(TensorList, aRowForEachOfSeveral) {
  Tensor lists = *Tensor::make(DType::Variant, {2});
  Tensor a = listOf({scalar<float>(1)}), b = emptyList(any());
  lists.data<Variant>()[0] = a.data<Variant>()[0];
  lists.data<Variant>()[1] = b.data<Variant>()[0];
  Tensor out =
      run1("TensorListPushBackBatch", {lists, vec<float>({8, 9})}, DType::Variant, floats());
  Tensor first = Tensor::makeScalar(DType::Variant), second = Tensor::makeScalar(DType::Variant);
  *first.data<Variant>() = out.data<Variant>()[0];
  *second.data<Variant>() = out.data<Variant>()[1];
  EXPECT_EQ(values<float>(stacked(first)), (Floats{1, 8}));
  EXPECT_EQ(values<float>(stacked(second)), (Floats{9}));
  EXPECT_EQ(failure("TensorListPushBackBatch", {lists, vec<float>({8})}, DType::Variant), invalid);
}

TEST(TensorList, sumsAndZeros) {
  Tensor a = listOf({vec<float>({1, 2}), scalar<float>(3)});
  Tensor b = listOf({vec<float>({10, 20}), scalar<float>(30)});
  auto sum = addVariantTensors(a, b);
  ASSERT_TRUE(sum) << sum.error().message;
  EXPECT_EQ(values<float>(item(*sum, 0)), (Floats{11, 22}));
  EXPECT_EQ(values<float>(item(*sum, 1)), (Floats{33}));
  auto zeros = zerosLikeVariants(a);
  ASSERT_TRUE(zeros);
  EXPECT_EQ(values<float>(item(*zeros, 0)), (Floats{0, 0}));
  EXPECT_FALSE(addVariantTensors(a, listOf({scalar<float>(1)})));
  // An element that was never set counts as zero.
  auto partly = addVariantTensors(reserved(any(), 2), a);
  ASSERT_TRUE(partly);
  EXPECT_EQ(values<float>(item(*partly, 0)), (Floats{1, 2}));
}

} // namespace
} // namespace treadle
