// Ops that move, combine and contract tensors of complex numbers are compiled, and give what their
// kernels give.
#include "treadle/testing/CodegenTesting.h"
#include "treadle/testing/KernelTest.h"

#include <complex>

namespace treadle::codegen {
namespace {

/// Complex numbers, or indices if there are some; those of a constant are known.
struct Input {
  std::vector<int64_t> dims;
  std::vector<int32_t> indices = {};
  bool isConstant = true;
};

struct Case {
  std::string op;
  std::vector<Input> inputs;
  std::string attrs = "", result = "*x";
  AttrMap kernelAttrs = {};
};

class ComplexTensorsTest : public CodegenTest, public testing::WithParamInterface<Case> {
protected:
  template <typename T> void compare(DType dtype, const std::string &type, double tolerance) {
    const Case &param = GetParam();
    std::string arguments, constants, operands, types;
    std::vector<Tensor> given, all;
    for (const Input &input : param.inputs) {
      std::string name = "x" + std::to_string(all.size()), own = "tensor<";
      for (int64_t dim : input.dims)
        own += std::to_string(dim) + "x";
      bool isIndex = !input.indices.empty();
      own += (isIndex ? "i32" : type) + ">";
      Tensor made = *Tensor::make(isIndex ? DType::Int32 : dtype, input.dims);
      for (int64_t i = 0; i < made.count(); ++i)
        if (isIndex)
          made.data<int32_t>()[i] = input.indices[i];
        else
          made.data<std::complex<T>>()[i] = {T(i * 7 % 5) / 2 - 1, T(i * 3 % 7) / 4 - T(0.5)};
      if (isIndex && input.isConstant) {
        std::string elements;
        for (int32_t index : input.indices)
          elements += (elements.empty() ? "" : ", ") + std::to_string(index);
        constants += "%" + name + ", %" + name + "_ctl = Const name(\"" + name +
                     "\") {dtype = i32, value = dense<" +
                     (input.dims.empty() ? elements : "[" + elements + "]") + "> : " + own +
                     "} : () -> (" + own + ")\n";
      } else {
        arguments +=
            (given.empty() ? "%" : ", %") + name + ": " + own + " {tfg.name = \"" + name + "\"}";
        given.push_back(made);
      }
      operands += (all.empty() ? "%" : ", %") + name;
      types += (all.empty() ? "" : ", ") + own;
      all.push_back(std::move(made));
    }
    std::string result = "tensor<" + param.result + type + ">";
    std::string attrs = "T = " + type + (param.attrs.empty() ? "" : ", " + param.attrs);
    std::vector<Tensor> found = buildAndCall(
        "tfg.func @f(" + arguments + ") -> (" + result + " {tfg.name = \"y\"}) {\n" + constants +
            op("y", param.op, operands, attrs, "(" + types + ") -> (" + result + ")") +
            "return(%y) : " + result + " }",
        given);
    ASSERT_EQ(found.size(), 1U) << param.op;
    EXPECT_EQ(numKernels, 0U) << param.op << " is left to its kernel";
    Tensor expected = run1(param.op, all, dtype, param.kernelAttrs);
    ASSERT_EQ(found[0].count(), expected.count());
    for (int64_t i = 0; i < expected.count(); ++i)
      EXPECT_LE(std::abs(found[0].data<std::complex<T>>()[i] - expected.data<std::complex<T>>()[i]),
                tolerance)
          << param.op << " at " << i;
  }
};

TEST_P(ComplexTensorsTest, AreCompiled) {
  compare<float>(DType::Complex64, "complex<f32>", 1e-5);
  compare<double>(DType::Complex128, "complex<f64>", 1e-13);
}

/// Quotients in registers, which are computed like those of large tensors but for a branch.
template <typename T> class QuotientTest : public CodegenTest {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(QuotientTest, Types);

TYPED_TEST(QuotientTest, OfInfinitiesAndZerosAreThoseOfTheKernel) {
  using T = TypeParam;
  const bool isFloat = std::is_same_v<T, float>;
  const DType dtype = isFloat ? DType::Complex64 : DType::Complex128;
  const std::string type = isFloat ? "tensor<4xcomplex<f32>>" : "tensor<4xcomplex<f64>>";
  const T ends[] = {0, T(-0.0), 1, -2, T(INFINITY), T(-INFINITY), T(NAN), T(1e-30), T(1e30)};
  std::vector<std::complex<T>> all;
  for (T re : ends)
    for (T im : ends)
      all.emplace_back(re, im);
  this->build("tfg.func @f(%x: " + type + " {tfg.name = \"x\"}, %y: " + type +
                  " {tfg.name = \"y\"}) -> (" + type + " {tfg.name = \"z\"}) {\n" +
                  op("z", "RealDiv", "%x, %y", isFloat ? "T = complex<f32>" : "T = complex<f64>",
                     "(" + type + ", " + type + ") -> (" + type + ")") +
                  "return(%z) : " + type + " }",
              {*Tensor::make(dtype, {4}), *Tensor::make(dtype, {4})});
  auto isSame = [](T a, T b, std::complex<T> whole) {
    T size = std::max(std::isfinite(whole.real()) ? std::abs(whole.real()) : 0,
                      std::isfinite(whole.imag()) ? std::abs(whole.imag()) : 0);
    return std::isnan(b) ? std::isnan(a) : a == b || std::abs(a - b) <= T(1e-6) * size;
  };
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < all.size(); j += 4) {
      Tensor x = *Tensor::make(dtype, {4}), y = *Tensor::make(dtype, {4});
      for (size_t k = 0; k < 4; ++k) {
        x.data<std::complex<T>>()[k] = all[i];
        y.data<std::complex<T>>()[k] = all[(j + k) % all.size()];
      }
      Tensor expected = run1("RealDiv", {x, y}), found = this->call({x, y}).at(0);
      for (size_t k = 0; k < 4; ++k) {
        auto a = found.data<std::complex<T>>()[k], b = expected.data<std::complex<T>>()[k];
        EXPECT_TRUE(isSame(a.real(), b.real(), b) && isSame(a.imag(), b.imag(), b))
            << all[i] << " / " << all[(j + k) % all.size()] << " is " << a << ", not " << b;
      }
    }
}

const Input x{{40}}, small{{6}}, places{{5, 1}, {3, 0, 7, 3, 9}, false},
    few{{3, 1}, {2, 0, 2}, false}, updates{{5}}, rows{{5, 9}};
AttrMap einsum(const std::string &equation) {
  AttrMap attrs;
  attrs.set("equation", equation);
  return attrs;
}
Case product(const std::string &equation, Input left, Input right) {
  return {"Einsum", {left, right}, "equation = \"" + equation + "\"", "*x", einsum(equation)};
}

INSTANTIATE_TEST_SUITE_P(
    Scatters, ComplexTensorsTest,
    testing::Values(Case{"TensorScatterUpdate", {x, places, updates}, "Tindices = i32"},
                    Case{"TensorScatterAdd", {x, places, updates}, "Tindices = i32"},
                    Case{"TensorScatterSub", {x, places, updates}, "Tindices = i32"},
                    Case{"TensorScatterSub", {small, few, {{3}}}, "Tindices = i32"},
                    Case{"ScatterNd", {places, updates, {{1}, {30}}}, "Tindices = i32"}));
INSTANTIATE_TEST_SUITE_P(Products, ComplexTensorsTest,
                         testing::Values(product("a,a->", {{33}}, {{33}}),
                                         product("ab,b->a", {{9, 20}}, {{20}}),
                                         product("ab,a->b", {{9, 20}}, {{9}}),
                                         product("b,ab->a", {{20}}, {{9, 20}}),
                                         product("ab,bc->ac", {{3, 2}}, {{2, 4}})));
INSTANTIATE_TEST_SUITE_P(Folds, ComplexTensorsTest,
                         testing::Values(Case{"Cumsum", {rows, {{}, {1}}}, "Tidx = i32"},
                                         Case{"Cumsum", {rows, {{}, {0}}}, "Tidx = i32"},
                                         Case{"Cumprod", {rows, {{}, {1}}}, "Tidx = i32"},
                                         Case{"Cumprod", {rows, {{}, {0}}}, "Tidx = i32"},
                                         Case{"Prod", {rows, {{1}, {1}}}, "Tidx = i32"},
                                         Case{"Prod", {small, {{1}, {0}}}, "Tidx = i32"},
                                         Case{"Prod", {rows, {{1}, {0}}}, "Tidx = i32"}));

} // namespace
} // namespace treadle::codegen
