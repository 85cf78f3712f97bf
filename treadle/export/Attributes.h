// Converts MLIR attributes to attribute values of GraphDefs.
#pragma once

#include "treadle/dialect/TfType.h"
#include "treadle/proto/attr_value.pb.h"
#include "treadle/proto/full_type.pb.h"
#include "treadle/proto/tensor.pb.h"
#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace treadle::graphdef {

/// Unimplemented, naming the attribute, for attributes that an AttrValue can't represent.
Expected<void> exportAttr(mlir::Attribute attr, pb::AttrValue &value);

/// Adds the dictionary's entries to the map.
Expected<void> exportAttrs(mlir::DictionaryAttr attrs,
                           google::protobuf::Map<std::string, pb::AttrValue> &map);

/// Writes the canonical encoding: one value if all elements are equal (or there is only one),
/// otherwise tensor_content; strings are always stored as values.
Expected<void> exportTensor(mlir::Attribute tensor, pb::TensorProto &proto);

Expected<pb::DataType> exportType(mlir::Type elementType);
void exportShape(tf_type::ShapeAttr shape, pb::TensorShapeProto &proto);
void exportFullType(tf_type::FullTypeAttr type, pb::FullTypeDef &proto);

/// Parses the contents of a #tf_type.message and merges it into `message`. Fails if it is another
/// message, or corrupted.
Expected<void> mergeMessage(mlir::Attribute attr, llvm::StringRef name,
                            google::protobuf::Message &message);

} // namespace treadle::graphdef
