#include "treadle/import/Signatures.h"

#include "treadle/import/UnknownFields.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

namespace {

DictionaryAttr importTensorInfo(AttributeImporter &attributes, TypeTable &types,
                                const pb::TensorInfo &info) {
  mlir::Type element = types.element(info.dtype());
  if (info.encoding_case() != pb::TensorInfo::kName || !info.has_tensor_shape() || !element ||
      hasUnknownFields(info))
    return {};
  tf_type::ShapeAttr shape = attributes.convert(info.tensor_shape());
  if (!shape)
    return {};
  Builder builder(shape.getContext());
  return builder.getDictionaryAttr(
      {builder.getNamedAttr(tensorNameKey, attributes.string(info.name())),
       builder.getNamedAttr(tensorTypeKey, mlir::TypeAttr::get(shape.tensorOf(element)))});
}

using Infos = google::protobuf::Map<std::string, pb::TensorInfo>;

DictionaryAttr importTensorInfos(AttributeImporter &attributes, TypeTable &types,
                                 MLIRContext *context, const Infos &infos) {
  NamedAttrList entries;
  for (const auto &[key, info] : infos) {
    DictionaryAttr entry =
        key.empty() ? DictionaryAttr() : importTensorInfo(attributes, types, info);
    if (!entry)
      return {};
    entries.append(key, entry);
  }
  return entries.getDictionary(context);
}

} // namespace

DictionaryAttr graphdef::importSignature(AttributeImporter &attributes, TypeTable &types,
                                         const pb::SignatureDef &signature) {
  if (hasUnknownFields(signature) || !signature.defaults().empty())
    return {};
  StringAttr method = attributes.string(signature.method_name());
  MLIRContext *context = method.getContext();
  DictionaryAttr inputs = importTensorInfos(attributes, types, context, signature.inputs());
  DictionaryAttr outputs = importTensorInfos(attributes, types, context, signature.outputs());
  if (!inputs || !outputs)
    return {};
  NamedAttrList entries;
  entries.append(signatureInputsKey, inputs);
  entries.append(signatureMethodKey, method);
  entries.append(signatureOutputsKey, outputs);
  return entries.getDictionary(context);
}
