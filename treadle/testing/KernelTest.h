// Helpers of kernel tests: short ways to write tensors, and to run a single op.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/kernels/Families.h"
#include "treadle/kernels/RunFileAccess.h"
#include "treadle/runtime/RunOp.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace treadle {

template <typename T> Tensor tensor(std::vector<int64_t> dims, const std::vector<T> &elements) {
  Tensor t = *Tensor::make(dtypeOf<T>, dims);
  EXPECT_EQ(t.count(), static_cast<int64_t>(elements.size()));
  std::copy(elements.begin(), elements.end(), t.data<T>());
  return t;
}
template <typename T> Tensor vec(std::vector<T> elements) {
  return tensor<T>({static_cast<int64_t>(elements.size())}, elements);
}
template <typename T> Tensor scalar(T value) { return tensor<T>({}, {value}); }

/// Consecutive numbers from `first` on.
template <typename T> Tensor iota(std::vector<int64_t> dims, int64_t first) {
  Tensor t = *Tensor::make(dtypeOf<T>, dims);
  for (int64_t i = 0; i < t.count(); ++i)
    t.data<T>()[i] = static_cast<T>(first + i);
  return t;
}

/// Returns all outputs; none, and fails the test, if the op fails.
inline std::vector<Tensor> runAll(std::string_view op, std::vector<Tensor> inputs,
                                  std::vector<DType> outputTypes, const AttrMap &attrs = {}) {
  Expected<std::vector<Tensor>> out = runOpWith(FileAccess::all(), builtinKernels(), op, attrs,
                                                std::move(inputs), std::move(outputTypes));
  if (!out) {
    ADD_FAILURE() << op << ": " << errorClass(out.error().code) << ": " << out.error().message;
    return {};
  }
  return std::move(*out);
}

/// Returns output 0, whose dtype is by default that of input 0.
inline Tensor run1(std::string_view op, std::vector<Tensor> inputs, DType type = DType::Invalid,
                   const AttrMap &attrs = {}) {
  if (type == DType::Invalid)
    type = inputs.at(0).dtype();
  std::vector<Tensor> out = runAll(op, std::move(inputs), {type}, attrs);
  if (out.empty())
    return {};
  EXPECT_TRUE(out[0]) << op << " returned no output";
  if (out[0])
    EXPECT_EQ(dtypeName(out[0].dtype()), dtypeName(type)) << op;
  return out[0];
}

/// Returns `InvalidArgumentError: message`, or "" if the op succeeds.
inline std::string errorOf(std::string_view op, std::vector<Tensor> inputs,
                           std::vector<DType> outputTypes = {}, const AttrMap &attrs = {}) {
  if (outputTypes.empty())
    outputTypes.push_back(inputs.at(0).dtype());
  auto out = runOpWith(FileAccess::all(), builtinKernels(), op, attrs, std::move(inputs),
                       std::move(outputTypes));
  return out ? "" : str(errorClass(out.error().code), ": ", out.error().message);
}
inline std::string errorClassOf(std::string_view op, std::vector<Tensor> inputs,
                                std::vector<DType> outputTypes = {}, const AttrMap &attrs = {}) {
  std::string text = errorOf(op, std::move(inputs), std::move(outputTypes), attrs);
  return text.substr(0, text.find(':'));
}

template <typename T> std::vector<T> values(const Tensor &t) {
  if (!t)
    return {};
  return std::vector<T>(t.data<T>(), t.data<T>() + t.count());
}

template <typename T>
void expectNear(const Tensor &t, const std::vector<double> &expected, double tolerance = 1e-6) {
  ASSERT_TRUE(t);
  ASSERT_EQ(t.count(), static_cast<int64_t>(expected.size()));
  for (int64_t i = 0; i < t.count(); ++i)
    EXPECT_NEAR(static_cast<double>(t.data<T>()[i]), expected[i], tolerance) << "element " << i;
}

/// Returns the element of `t` that element `i` of its broadcast to `dims` has.
template <typename T> T broadcastAt(const Tensor &t, Dims dims, int64_t i) {
  int64_t offset = 0, step = 1;
  for (int d = static_cast<int>(dims.size()) - 1, own = t.rank() - 1; d >= 0; --d, --own) {
    int64_t at = i % dims[d];
    i /= dims[d];
    if (own < 0)
      continue;
    offset += t.dim(own) == 1 ? 0 : at * step;
    step *= t.dim(own);
  }
  return t.data<T>()[offset];
}

} // namespace treadle
