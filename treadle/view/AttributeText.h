// Internal to the view: attributes of nodes as short texts.
#pragma once

#include "mlir/IR/Attributes.h"
#include "llvm/ADT/DenseMap.h"

#include <string>

namespace treadle::view {

/// Attributes are unique in their context: each text is made once.
class AttributeTexts {
public:
  /// At most some hundred characters; of tensors the first elements.
  const std::string &of(mlir::Attribute attr);

private:
  llvm::DenseMap<mlir::Attribute, std::string> known;
};

} // namespace treadle::view
