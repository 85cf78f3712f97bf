#include "treadle/view/AttributeText.h"

#include "treadle/dialect/TfType.h"
#include "treadle/kernels/text/TensorText.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/raw_ostream.h"

namespace treadle::view {
namespace {

constexpr size_t longest = 300;
constexpr int64_t elementsShown = 3;
/// Larger tensors in attributes aren't converted to text.
constexpr size_t maxConvertedBytes = 1 << 16;

bool isLarge(mlir::Attribute attr) {
  if (auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(attr))
    return !dense.isSplat() && dense.getNumElements() > static_cast<int64_t>(maxConvertedBytes / 8);
  if (auto proto = mlir::dyn_cast<tf_type::TensorProtoAttr>(attr))
    return proto.getValue().size() > maxConvertedBytes;
  return false;
}

/// Returns whether the attribute is a tensor, including a splat.
bool isSpread(mlir::Attribute attr) {
  auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(attr);
  return dense && dense.isSplat() && dense.getNumElements() > 1;
}

bool isTensor(mlir::Attribute attr) {
  return mlir::isa<mlir::DenseElementsAttr, tf_type::TensorProtoAttr>(attr);
}

std::string printed(mlir::Attribute attr) {
  std::string text;
  llvm::raw_string_ostream(text) << attr;
  return text;
}

std::string tensorText(mlir::Attribute attr) {
  if (isLarge(attr))
    return "a large tensor";
  if (isSpread(attr))
    return printed(attr); // `dense<0> : tensor<1000xi32>`
  auto value = convertAttribute(attr);
  const Tensor *tensor = value ? std::get_if<Tensor>(&*value) : nullptr;
  if (!tensor)
    return printed(attr).substr(0, longest);
  std::string text = nestedText(*tensor, elementsShown);
  for (char &c : text)
    c = c == '\n' ? ' ' : c;
  return str(tensorTypeText(*tensor), " = ", text);
}

// ---- in the format of the command line and of graphs in text

std::string textOf(std::monostate) { return ""; }
std::string textOf(const std::string &text) {
  return str("\"", escaped(std::string_view(text).substr(0, longest)), "\"");
}
std::string textOf(int64_t number) { return std::to_string(number); }
std::string textOf(float number) { return numberText(number); }
std::string textOf(bool value) { return value ? "true" : "false"; }
std::string textOf(TypeAttr type) { return str(dtypeName(type.dtype), type.isRef ? "_ref" : ""); }
std::string textOf(const PartialShape &shape) { return shape.text(); }
std::string textOf(const Tensor &tensor) { return tensorTypeText(tensor); }
std::string textOf(const FunctionRef &function) { return function.name; }

template <typename T> std::string textOf(const std::vector<T> &list) {
  std::string text;
  for (const T &value : list) {
    if (text.size() > longest)
      break;
    text += (text.empty() ? "" : ", ") + textOf(value);
  }
  return "[" + text + "]";
}

std::string makeText(mlir::Attribute attr) {
  if (isTensor(attr))
    return tensorText(attr);
  Expected<AttrValue> value = convertAttribute(attr);
  bool isKnown = value && !std::holds_alternative<std::monostate>(*value);
  return isKnown ? std::visit([](const auto &of) { return textOf(of); }, *value) : printed(attr);
}

} // namespace

const std::string &AttributeTexts::of(mlir::Attribute attr) {
  auto [entry, isNew] = known.try_emplace(attr);
  if (isNew) {
    std::string text = makeText(attr);
    if (text.size() > longest)
      text = text.substr(0, longest) + "...";
    known[attr] = std::move(text);
  }
  return known[attr];
}

} // namespace treadle::view
