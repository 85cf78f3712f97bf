#include "treadle/dialect/stablehlo/Convolution.h"

#include "treadle/dialect/stablehlo/Attributes.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::stablehlo;

/// `names` contains numbers of spatial dimensions and two letters.
static ConvLayout layoutOf(ArrayAttr names, StringRef first, StringRef last) {
  ConvLayout layout{-1, -1};
  layout.spatial.resize(std::max<size_t>(names.size(), 2) - 2, -1);
  for (auto [i, name] : llvm::enumerate(names)) {
    auto place = static_cast<int64_t>(i);
    SmallVector<int64_t> number = numbers(name);
    if (auto text = dyn_cast<StringAttr>(name); text && text.getValue() == first)
      layout.first = place;
    else if (text && text.getValue() == last)
      layout.last = place;
    else if (int64_t dim = number.size() == 1 ? number.front() : -1;
             dim >= 0 && dim < std::ssize(layout.spatial))
      layout.spatial[dim] = place;
  }
  return layout;
}

FailureOr<ConvDimensions> stablehlo::convDimensionsOf(Attribute attr) {
  if (auto lists = dyn_cast_or_null<ArrayAttr>(attr);
      lists && lists.size() == 3 && llvm::all_of(lists, llvm::IsaPred<ArrayAttr>)) {
    auto list = [&](unsigned i) { return cast<ArrayAttr>(lists[i]); };
    return ConvDimensions{layoutOf(list(0), "b", "f"), layoutOf(list(1), "i", "o"),
                          layoutOf(list(2), "b", "f")};
  }
  auto fields = dyn_cast_or_null<DictionaryAttr>(attr);
  if (!fields)
    return failure();
  auto layout = [&](StringRef first, StringRef last, StringRef spatial) {
    auto one = [&](StringRef key) {
      SmallVector<int64_t> found = fieldNumbers(fields, key);
      return found.empty() ? 0 : found.front();
    };
    return ConvLayout{one(first), one(last), fieldNumbers(fields, spatial)};
  };
  return ConvDimensions{
      layout("input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"),
      layout("kernel_input_feature_dimension", "kernel_output_feature_dimension",
             "kernel_spatial_dimensions"),
      layout("output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions")};
}
