// Attributes of the IR as the runtime sees them.
#pragma once

#include "treadle/dialect/TfType.h"
#include "treadle/proto/tensor.pb.h"
#include "treadle/runtime/Graph.h"
#include "treadle/tensor/Attr.h"

namespace treadle {

/// The dtype of a value or element type; Invalid where it has none that the runtime knows.
ValueType valueTypeOf(mlir::Type type);

/// An attribute of a node. Tensors are copied.
Expected<AttrValue> convertAttribute(mlir::Attribute attr);

/// The attributes of an instantiation.
Expected<AttrMap> convertAttributes(mlir::DictionaryAttr attrs);

/// A tensor in any of the encodings of its message. InvalidArgument where values and shape
/// disagree.
Expected<Tensor> tensorFromProto(const pb::TensorProto &proto);

} // namespace treadle
