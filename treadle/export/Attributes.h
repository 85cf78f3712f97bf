// MLIR attributes as attribute values of GraphDefs.
#pragma once

#include "treadle/dialect/TfType.h"
#include "treadle/proto/attr_value.pb.h"
#include "treadle/proto/full_type.pb.h"
#include "treadle/proto/tensor.pb.h"
#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace treadle::graphdef {

/// Unimplemented, naming the attribute, for attributes that no AttrValue can hold.
Expected<void> exportAttr(mlir::Attribute attr, pb::AttrValue &value);

/// The dictionary's entries are added to the map.
Expected<void> exportAttrs(mlir::DictionaryAttr attrs,
                           google::protobuf::Map<std::string, pb::AttrValue> &map);

/// The canonical encoding: a value where all elements are equal (or there is one), tensor_content
/// otherwise; strings always as values.
Expected<void> exportTensor(mlir::Attribute tensor, pb::TensorProto &proto);

Expected<pb::DataType> exportType(mlir::Type elementType);
void exportShape(tf_type::ShapeAttr shape, pb::TensorShapeProto &proto);
void exportFullType(tf_type::FullTypeAttr type, pb::FullTypeDef &proto);

/// Parses what a #tf_type.message holds into `message`, merging. An error if it is of another
/// message, or damaged.
Expected<void> mergeMessage(mlir::Attribute attr, llvm::StringRef name,
                            google::protobuf::Message &message);

} // namespace treadle::graphdef
