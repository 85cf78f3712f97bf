// Compares compiled ops with their kernels for all element types that compiled code supports.
#include "treadle/kernels/Element.h"
#include "treadle/testing/CodegenTesting.h"

#include <cmath>
#include <map>
#include <random>
#include <sstream>

namespace treadle::codegen {
namespace {

using Wide = std::complex<double>;

template <typename T>
constexpr bool isParted = std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>;

const std::map<std::string, DType> dtypes = {{"i8", DType::Int8},
                                             {"i16", DType::Int16},
                                             {"i32", DType::Int32},
                                             {"i64", DType::Int64},
                                             {"ui8", DType::UInt8},
                                             {"ui16", DType::UInt16},
                                             {"ui32", DType::UInt32},
                                             {"ui64", DType::UInt64},
                                             {"f16", DType::Float16},
                                             {"bf16", DType::BFloat16},
                                             {"f32", DType::Float32},
                                             {"f64", DType::Float64},
                                             {"i1", DType::Bool},
                                             {"complex<f32>", DType::Complex64},
                                             {"complex<f64>", DType::Complex128}};

const std::vector<std::string> small = {"i8", "i16", "ui8", "ui16"};
const std::vector<std::string> integers = {"i8",  "i16",  "i32",  "i64",
                                           "ui8", "ui16", "ui32", "ui64"};
const std::vector<std::string> withSign = {"i8", "i16", "i32", "i64"};
const std::vector<std::string> halves = {"f16", "bf16"};
const std::vector<std::string> complexes = {"complex<f32>", "complex<f64>"};

std::vector<std::string> both(std::vector<std::string> a, const std::vector<std::string> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

template <typename Visit> void visit(DType dtype, Visit &&each) {
  ASSERT_TRUE(visitType(dtype, PlainTypes(), each)) << dtypeName(dtype);
}

/// Returns a number of any magnitude, a limit of the type or NaN; or an ordinary number.
template <typename T> T anyNumber(std::mt19937_64 &random, bool isOrdinary) {
  if constexpr (std::is_same_v<T, bool>) {
    return random() & 1;
  } else if constexpr (isParted<T>) {
    using Part = typename T::value_type;
    return {anyNumber<Part>(random, isOrdinary), anyNumber<Part>(random, isOrdinary)};
  } else if constexpr (std::is_integral_v<T>) {
    constexpr T ends[] = {
        0, 1, static_cast<T>(-1), std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
        3, 7};
    return random() % 4 ? static_cast<T>(random() >> random() % 64) : ends[random() % 7];
  } else {
    constexpr double ends[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, 3, 1e-30, 1e30, 200};
    std::normal_distribution<double> normal;
    if (isOrdinary)
      return T(normal(random));
    return random() % 3 ? T(static_cast<float>(normal(random) * std::exp2(random() % 9)))
                        : T(static_cast<float>(ends[random() % 12]));
  }
}

template <typename T> Wide widen(const T &value) {
  if constexpr (isParted<T>)
    return value;
  else
    return static_cast<double>(value);
}

/// Number of elements that differ between two results: by more than `tolerance` relative to the
/// larger part, or in kind.
template <typename T>
int64_t numOthers(const Tensor &found, const Tensor &expected, double tolerance, std::string &first,
                  const std::vector<Tensor> &inputs) {
  auto isNear = [&](double a, double b, double size) {
    if (std::isnan(b) || std::isinf(b))
      return std::isnan(b) ? std::isnan(a) : a == b;
    return std::fabs(a - b) <= tolerance * size;
  };
  int64_t others = 0;
  for (int64_t i = 0; i < expected.count(); ++i) {
    Wide a = widen(found.data<T>()[i]), b = widen(expected.data<T>()[i]);
    double size = std::max(std::isfinite(b.real()) ? std::fabs(b.real()) : 0,
                           std::isfinite(b.imag()) ? std::fabs(b.imag()) : 0);
    size = std::max<double>(size, tolerance ? 1e-30 : 0);
    if (isNear(a.real(), b.real(), size) && isNear(a.imag(), b.imag(), size))
      continue;
    if (!others++) {
      std::ostringstream text;
      for (const Tensor &input : inputs)
        visit(input.dtype(), [&]<typename X>() { text << widen(input.data<X>()[i]) << ' '; });
      text << "gives " << a << ", not " << b;
      first = text.str();
    }
  }
  return others;
}

struct Case {
  std::string op;
  int numInputs;
  std::vector<std::string> types;
  double tolerance = 0;
  std::string result = "";    // empty: the type of the inputs
  std::string condition = ""; // the type of an additional first input
};

class ElementTypesTest : public CodegenTest, public testing::WithParamInterface<Case> {
protected:
  static constexpr int64_t count = 20'000;

  /// Returns numbers of a type. Divisors aren't zero, which would fail.
  Tensor numbers(const std::string &type, bool isDivisor) {
    Tensor made = *Tensor::make(dtypes.at(type), {count});
    visit(made.dtype(), [&]<typename T>() {
      for (int64_t i = 0; i < count; ++i)
        do
          made.data<T>()[i] = anyNumber<T>(random, isOrdinary);
        while (isDivisor && std::is_integral_v<T> && made.data<T>()[i] == T(0));
    });
    return made;
  }

  void expectKernels(const std::string &name, const std::vector<std::string> &types,
                     const std::string &result, double tolerance, const std::string &attrs) {
    std::string arguments, operands, inputTypes;
    std::vector<Tensor> inputs;
    bool divides = name.find("Div") != std::string::npos || name.find("Mod") != std::string::npos;
    for (size_t i = 0; i < types.size(); ++i) {
      std::string comma = i ? ", " : "", tensor = "tensor<*x" + types[i] + ">";
      std::string argument = "%x" + std::to_string(i);
      arguments +=
          comma + argument + ": " + tensor + " {tfg.name = \"x" + std::to_string(i) + "\"}";
      operands += comma + argument;
      inputTypes += comma + tensor;
      inputs.push_back(numbers(types[i], divides && i));
    }
    std::string out = "tensor<*x" + result + ">";
    std::string text = "tfg.func @f(" + arguments + ") -> (" + out + " {tfg.name = \"y\"}) {" +
                       op("y", name, operands, attrs, "(" + inputTypes + ") -> (" + out + ")") +
                       "return(%y) : " + out + " }";
    std::vector<Tensor> found = buildAndCall(text, inputs);
    ASSERT_EQ(found.size(), 1u) << name << " of " << types.back();
    EXPECT_EQ(numKernels, 0u) << name << " of " << types.back() << " is left to its kernel";
    auto expected = runOp(builtinKernels(), name, {}, inputs, {dtypes.at(result)});
    ASSERT_TRUE(expected) << expected.error().message;
    visit(dtypes.at(result), [&]<typename T>() {
      std::string first;
      int64_t others = numOthers<T>(found[0], expected->front(), tolerance, first, inputs);
      EXPECT_EQ(others, 0) << name << " of " << types.back() << ": " << first;
    });
  }

  std::mt19937_64 random{7};
  bool isOrdinary = false;
};

TEST_P(ElementTypesTest, GivesWhatItsKernelGives) {
  const Case &param = GetParam();
  for (const std::string &type : param.types) {
    std::vector<std::string> types(param.numInputs, type);
    if (!param.condition.empty())
      types.insert(types.begin(), param.condition);
    std::string result = param.result;
    if (result == "part")
      result = type == "complex<f64>" ? "f64" : "f32";
    double tolerance = param.tolerance * (type == "complex<f64>" || type == "f64" ? 1e-9 : 1);
    expectKernels(param.op, types, result.empty() ? type : result, tolerance, "T = " + type);
  }
}

constexpr double few = 1e-6; // relative tolerance for parts in f32

INSTANTIATE_TEST_SUITE_P(
    Ops, ElementTypesTest,
    testing::Values(
        Case{"AddV2", 2, both(both(small, halves), complexes)},
        Case{"Sub", 2, both(both(small, halves), complexes)},
        Case{"Mul", 2, both(both(small, halves), complexes)},
        Case{"RealDiv", 2, both(halves, complexes), few},
        Case{"DivNoNan", 2, both(halves, complexes), few}, Case{"MulNoNan", 2, complexes},
        Case{"TruncateDiv", 2, both(integers, {"f32", "f64"})},
        Case{"FloorDiv", 2, both(integers, {"f32", "f64"})},
        Case{"FloorMod", 2, both(integers, {"f32", "f64"})},
        Case{"Maximum", 2, both(small, halves)}, Case{"Minimum", 2, both(small, halves)},
        Case{"BitwiseAnd", 2, small}, Case{"BitwiseXor", 2, small}, Case{"Invert", 1, small},
        Case{"LeftShift", 2, integers}, Case{"RightShift", 2, integers},
        Case{"Neg", 1, both(both(withSign, halves), complexes)},
        Case{"Abs", 1, both(withSign, halves)}, Case{"Sign", 1, both(withSign, halves)},
        Case{"Square", 1, both(integers, halves)}, Case{"Relu", 1, {"i8", "i16", "f16", "bf16"}},
        Case{"Less", 2, both(small, halves), 0, "i1"},
        Case{"GreaterEqual", 2, both(small, halves), 0, "i1"},
        Case{"Equal", 2, both(both(small, halves), complexes), 0, "i1"},
        Case{"NotEqual", 2, both(both(small, halves), complexes), 0, "i1"},
        Case{"SelectV2", 2, both(both(small, halves), complexes), 0, "", "i1"},
        Case{"ZerosLike", 1, both(both(small, halves), complexes)},
        Case{"OnesLike", 1, both(both(small, halves), complexes)}, Case{"Floor", 1, halves},
        Case{"Rint", 1, halves}, Case{"IsFinite", 1, halves, 0, "i1"},
        Case{"Sqrt", 1, both(halves, complexes), few}, Case{"Exp", 1, halves, 0.008},
        Case{"Tanh", 1, halves, 0.008}, Case{"Sigmoid", 1, halves, 0.008},
        Case{"Log", 1, halves, 0.008}, Case{"Real", 1, complexes, 0, "part"},
        Case{"Imag", 1, complexes, 0, "part"}, Case{"Conj", 1, complexes},
        Case{"ComplexAbs", 1, complexes, few, "part"}, Case{"Angle", 1, complexes, few, "part"},
        Case{"SquaredDifference", 2, complexes, few},
        Case{"PopulationCount", 1, integers, 0, "ui8"}, Case{"NextAfter", 2, {"f32", "f64"}},
        Case{"SigmoidGrad", 2, {"f32", "f64"}}, Case{"TanhGrad", 2, {"f32", "f64"}},
        Case{"SqrtGrad", 2, {"f32", "f64"}}, Case{"RsqrtGrad", 2, {"f32", "f64"}},
        Case{"ReciprocalGrad", 2, {"f32", "f64"}}, Case{"ReluGrad", 2, {"f32", "f64"}},
        Case{"Relu6Grad", 2, {"f32", "f64"}}, Case{"EluGrad", 2, {"f32", "f64"}},
        Case{"SoftplusGrad", 2, {"f32", "f64"}, few}, Case{"SoftsignGrad", 2, {"f32", "f64"}}),
    [](const auto &info) { return info.param.op; });

/// Functions of complex numbers of ordinary magnitude; the tests above use all magnitudes.
class ComplexFunctionTest : public ElementTypesTest {};

TEST_P(ComplexFunctionTest, IsCloseToItsKernel) {
  isOrdinary = true;
  for (const std::string &type : complexes)
    expectKernels(GetParam().op, std::vector<std::string>(GetParam().numInputs, type), type,
                  type == "complex<f64>" ? 1e-13 : GetParam().tolerance, "T = " + type);
}

INSTANTIATE_TEST_SUITE_P(
    Ops, ComplexFunctionTest,
    testing::Values(Case{"Exp", 1, {}, few}, Case{"Expm1", 1, {}, few}, Case{"Log", 1, {}, few},
                    Case{"Log1p", 1, {}, few}, Case{"Sqrt", 1, {}, few}, Case{"Rsqrt", 1, {}, few},
                    Case{"Sin", 1, {}, few}, Case{"Cos", 1, {}, few}, Case{"Sinh", 1, {}, few},
                    Case{"Cosh", 1, {}, few}, Case{"Tanh", 1, {}, few}, Case{"Pow", 2, {}, 1e-5},
                    Case{"Sigmoid", 1, {}, 1e-5}, Case{"Reciprocal", 1, {}, few},
                    Case{"Square", 1, {}, few}, Case{"Sign", 1, {}, few}),
    [](const auto &info) { return info.param.op; });

class CastPairsTest : public ElementTypesTest {};

TEST_P(CastPairsTest, GivesWhatItsKernelGives) {
  for (const auto &[from, dtype] : dtypes)
    for (const std::string &to : GetParam().types)
      if (from != to)
        expectKernels("Cast", {from}, to, 0, "SrcT = " + from + ", DstT = " + to);
}

std::vector<Case> castsTo() {
  std::vector<Case> cases;
  for (const auto &[type, dtype] : dtypes)
    cases.push_back({dtypeName(dtype).data(), 1, {type}});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(To, CastPairsTest, testing::ValuesIn(castsTo()),
                         [](const auto &info) { return info.param.op; });

} // namespace
} // namespace treadle::codegen
