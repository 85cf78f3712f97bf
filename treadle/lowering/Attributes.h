// Converts attributes of the IR to those of the runtime.
#pragma once

#include "treadle/dialect/TfType.h"
#include "treadle/proto/tensor.pb.h"
#include "treadle/runtime/Graph.h"
#include "treadle/tensor/Attr.h"

namespace treadle {

/// Returns the dtype of a value or element type; Invalid if the runtime has no such dtype.
ValueType valueTypeOf(mlir::Type type);

/// Converts an attribute of a node. Tensors are copied.
Expected<AttrValue> convertAttribute(mlir::Attribute attr);

/// Converts the attributes of an instantiation.
Expected<AttrMap> convertAttributes(mlir::DictionaryAttr attrs);

/// Converts a tensor in any encoding of its message. Returns InvalidArgument if values and shape
/// disagree.
Expected<Tensor> tensorFromProto(const pb::TensorProto &proto);

} // namespace treadle
