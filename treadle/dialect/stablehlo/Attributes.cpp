#include "treadle/dialect/stablehlo/Attributes.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::stablehlo;

/// Appends the numbers of an attribute. Returns false if it contains anything else.
static bool appendNumbers(Attribute attr, SmallVector<int64_t> &out) {
  // Limit of dimensions or devices; a splat in a file can be arbitrarily large.
  constexpr int64_t most = 1 << 20;
  auto extended = [](const APInt &value, Type element) {
    bool isUnsigned = element.isInteger(1) || element.isUnsignedInteger();
    return (isUnsigned ? value.zextOrTrunc(64) : value.sextOrTrunc(64)).getSExtValue();
  };
  if (auto list = dyn_cast_or_null<ArrayAttr>(attr))
    return llvm::all_of(list, [&](Attribute item) { return appendNumbers(item, out); });
  if (auto number = dyn_cast_or_null<IntegerAttr>(attr)) {
    out.push_back(extended(number.getValue(), number.getType()));
  } else if (auto elements = dyn_cast_or_null<DenseIntElementsAttr>(attr);
             elements && elements.getNumElements() <= most) {
    for (const APInt &value : elements.getValues<APInt>())
      out.push_back(extended(value, elements.getElementType()));
  } else if (auto wide = dyn_cast_or_null<DenseI64ArrayAttr>(attr)) {
    llvm::append_range(out, wide.asArrayRef());
  } else if (auto narrow = dyn_cast_or_null<DenseI32ArrayAttr>(attr)) {
    llvm::append_range(out, narrow.asArrayRef());
  } else if (auto flags = dyn_cast_or_null<DenseBoolArrayAttr>(attr)) {
    llvm::append_range(out, flags.asArrayRef());
  } else {
    return false;
  }
  return true;
}

SmallVector<int64_t> stablehlo::numbers(Attribute attr) {
  SmallVector<int64_t> out;
  (void)appendNumbers(attr, out);
  return out;
}

SmallVector<int64_t> stablehlo::fieldNumbers(DictionaryAttr fields, StringRef key) {
  return fields ? numbers(fields.get(key)) : SmallVector<int64_t>();
}

bool stablehlo::areNumbers(Attribute attr) {
  SmallVector<int64_t> out;
  return appendNumbers(attr, out);
}

bool stablehlo::isNonNegative(Attribute attr) {
  SmallVector<int64_t> found = numbers(attr);
  return found.size() == 1 && found.front() >= 0;
}

bool stablehlo::isCount(Attribute attr) {
  SmallVector<int64_t> found = numbers(attr);
  return found.size() == 1 && found.front() >= 1;
}

StringRef stablehlo::word(Attribute attr) {
  auto text = dyn_cast_or_null<StringAttr>(attr);
  return text ? text.getValue() : StringRef();
}

bool stablehlo::isWord(Attribute attr, ArrayRef<StringRef> words) {
  return llvm::is_contained(words, word(attr));
}

static bool isZero(Attribute attr) {
  if (auto real = dyn_cast<FloatAttr>(attr))
    return real.getValue().isZero();
  return llvm::all_of(numbers(attr), [](int64_t number) { return number == 0; });
}

bool stablehlo::isAccuracy(Attribute attr) {
  auto fields = dyn_cast_or_null<DictionaryAttr>(attr);
  if (!fields || !isWord(fields.get("mode"), {"DEFAULT", "HIGHEST", "TOLERANCE"}))
    return false;
  return word(fields.get("mode")) == "TOLERANCE" || llvm::all_of(fields, [](NamedAttribute field) {
           return field.getName() == "mode" || isZero(field.getValue());
         });
}

bool stablehlo::isPrecision(Attribute attr) {
  auto isOne = [](Attribute item) {
    return isWord(item, {"DEFAULT", "HIGH", "HIGHEST", "PACKED_NIBBLE"});
  };
  auto list = dyn_cast_or_null<ArrayAttr>(attr);
  return list ? list.size() <= 2 && llvm::all_of(list, isOne) : isOne(attr);
}

bool stablehlo::isQuantized(Type type) {
  auto opaque = dyn_cast<OpaqueType>(type);
  return opaque && opaque.getDialectNamespace() == "quant";
}
