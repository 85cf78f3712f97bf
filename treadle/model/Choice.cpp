// Model::choose: selects the variant of a function for given arguments.
#include "treadle/graph/ObjectFunctions.h"
#include "treadle/tensor/ByName.h"

#include <algorithm>
#include <charconv>

namespace treadle {
namespace {

using Choice = ModelFunction::Variant;
using Values = Model::Values;

template <typename T> bool isNumber(const std::string &text, T value) {
  double stated = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), stated);
  return failure == std::errc() && end == text.data() + text.size() &&
         static_cast<T>(stated) == value;
}

/// Whether a tensor equals the value that Python prints as this text.
bool isValue(const Tensor &tensor, const std::string &text) {
  if (!tensor)
    return text == "None";
  if (tensor.count() != 1)
    return false;
  switch (tensor.dtype()) {
  case DType::Bool:
    return text == (*tensor.data<bool>() ? "True" : "False");
  case DType::String:
    return text == "'" + *tensor.data<std::string>() + "'";
  case DType::Float32:
    return isNumber(text, *tensor.data<float>());
  case DType::Float64:
    return isNumber(text, *tensor.data<double>());
  case DType::Int32:
    return isNumber(text, *tensor.data<int32_t>());
  case DType::Int64:
    return isNumber(text, *tensor.data<int64_t>());
  default:
    return false;
  }
}

bool hasNames(const Choice &variant, const Values &values) {
  ByName inputs(variant.signature.inputs);
  return std::ranges::all_of(values, [&](const auto &value) {
    return inputs.find(value.first) || std::ranges::any_of(variant.fixed, [&](const auto &fixed) {
             return fixed.name == value.first;
           });
  });
}

bool takes(const Choice &variant, const Values &values) {
  if (!hasNames(variant, values))
    return false;
  ByName named(values);
  for (const ModelFunction::Fixed &fixed : variant.fixed) {
    const Tensor *given = named.find(fixed.name);
    if (given ? !isValue(*given, fixed.value) : !fixed.isDefault)
      return false;
  }
  return std::ranges::all_of(variant.signature.inputs, [&](const auto &input) {
    const Tensor *given = named.find(input.first);
    return given && *given && given->dtype() == input.second.dtype &&
           PartialShape{input.second.hasRank, input.second.dims}.accepts(given->dims());
  });
}

std::string listOf(const ModelFunction &function) {
  std::string list;
  for (const Choice &variant : function.variants)
    list += str("\n  ", functionText(function, variant),
                variant.problem.empty() ? "" : ": " + variant.problem);
  return list;
}

std::string givenText(const Values &values) {
  std::string text;
  for (const auto &[name, value] : values)
    text += str(text.empty() ? "" : ", ", name, ": ", value ? tensorTypeText(value) : "None");
  return "(" + text + ")";
}

} // namespace

/// Like TensorFlow, selects the first variant that matches. A variant that can't be called is
/// considered only if no other matches: its arguments may be values that can't be passed.
Expected<const Choice *> Model::choose(const ModelFunction &function, const Values &inputs) {
  const Choice *found = nullptr;
  for (const Choice &variant : function.variants) {
    bool canBeCalled = variant.problem.empty();
    bool fits = takes(variant, inputs) || (function.variants.size() == 1 && !canBeCalled);
    if (fits && (!found || (canBeCalled && !found->problem.empty())))
      found = &variant;
  }
  if (!found)
    return Unexpected(invalidArgument("function '", function.name, "' isn't defined for ",
                                      givenText(inputs), ", only for", listOf(function)));
  if (!found->problem.empty())
    return Unexpected(
        unimplemented("function '", function.name, "' can't be called: ", found->problem));
  return found;
}

} // namespace treadle
