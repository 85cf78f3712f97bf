// Internal to the view: short texts of attributes.
#pragma once

#include "mlir/IR/Attributes.h"
#include "llvm/ADT/DenseMap.h"

#include <string>

namespace treadle::view {

/// Caches the texts of attributes, which are unique in their context.
class AttributeTexts {
public:
  /// Returns at most some hundred characters; for tensors, the first elements.
  const std::string &of(mlir::Attribute attr);

private:
  llvm::DenseMap<mlir::Attribute, std::string> known;
};

} // namespace treadle::view
