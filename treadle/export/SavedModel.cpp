// Exports the message of a SavedModel: its graphs, signatures, and the parts that were kept as
// bytes.
#include "treadle/export/SavedModel.h"

#include "treadle/export/Attributes.h"
#include "treadle/export/GraphDef.h"
#include "treadle/import/Keywords.h"
#include "treadle/import/SavedModel.h"
#include "treadle/import/Signatures.h"

#include "treadle/dialect/Tfg.h"

#include <google/protobuf/stubs/logging.h>

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

namespace {

template <typename Attr> Attr entry(Attribute dictionary, StringRef key) {
  auto entries = dyn_cast_or_null<DictionaryAttr>(dictionary);
  return entries ? entries.getAs<Attr>(key) : Attr();
}

/// Creates no attributes, so that several threads may export one module.
void exportShapeOf(TensorType type, pb::TensorShapeProto &shape) {
  shape.set_unknown_rank(!type.hasRank());
  if (type.hasRank())
    for (int64_t dim : type.getShape())
      shape.add_dim()->set_size(ShapedType::isDynamic(dim) ? -1 : dim);
}

Expected<void> exportTensorInfo(Attribute attr, pb::TensorInfo &info) {
  auto name = entry<StringAttr>(attr, tensorNameKey);
  auto typeAttr = entry<mlir::TypeAttr>(attr, tensorTypeKey);
  auto type = typeAttr ? dyn_cast<TensorType>(typeAttr.getValue()) : TensorType();
  if (!name || !type)
    return Unexpected(invalidArgument("expected {name = \"x:0\", type = tensor<...>}"));
  pb::DataType dtype = TREADLE_TRY(exportType(type.getElementType()));
  info.set_name(name.str());
  info.set_dtype(dtype);
  exportShapeOf(type, *info.mutable_tensor_shape());
  return {};
}

Expected<void> exportSignature(Attribute attr, pb::SignatureDef &signature) {
  auto method = entry<StringAttr>(attr, signatureMethodKey);
  if (method)
    signature.set_method_name(method.str());
  for (auto [key, infos] : {std::pair(signatureInputsKey, signature.mutable_inputs()),
                            std::pair(signatureOutputsKey, signature.mutable_outputs())}) {
    auto tensors = entry<DictionaryAttr>(attr, key);
    if (!tensors)
      return Unexpected(
          invalidArgument("expected {inputs = {...}, outputs = {...}, method = \"\"}"));
    for (NamedAttribute tensor : tensors)
      if (auto ok = exportTensorInfo(tensor.getValue(), (*infos)[tensor.getName().str()]); !ok)
        return Unexpected(Error{ok.error().code, str(key.str(), " '", tensor.getName().str(),
                                                     "': ", ok.error().message)});
  }
  return {};
}

Expected<void> exportHeader(ModuleOp module, pb::MetaGraphDef &meta) {
  Attribute rest = module->getAttr(metaGraphKey);
  if (!rest)
    return Unexpected(invalidArgument("a module of a SavedModel has no ", metaGraphKey.str(),
                                      ", expected the #tf_type.message of its meta graph"));
  TREADLE_TRY(mergeMessage(rest, "MetaGraphDef", meta));
  if (auto signatures = module->getAttrOfType<DictionaryAttr>(signaturesKey))
    for (NamedAttribute signature : signatures)
      if (auto ok = exportSignature(signature.getValue(),
                                    (*meta.mutable_signature_def())[signature.getName().str()]);
          !ok)
        return Unexpected(Error{ok.error().code, str("signature '", signature.getName().str(),
                                                     "': ", ok.error().message)});
  return {};
}

bool hasGraph(ModuleOp module) {
  return !module.getOps<tfg::GraphOp>().empty() || !module.getOps<tfg::FuncOp>().empty();
}

} // namespace

Expected<pb::MetaGraphDef> treadle::exportMetaGraphHeader(ModuleOp metaGraph) {
  google::protobuf::LogSilencer silencer;
  pb::MetaGraphDef meta;
  TREADLE_TRY(exportHeader(metaGraph, meta));
  return meta;
}

Expected<pb::SavedModel> treadle::exportSavedModelHeader(ModuleOp module) {
  google::protobuf::LogSilencer silencer;
  Attribute rest = module->getAttr(savedModelKey);
  if (!rest)
    return Unexpected(invalidArgument("the module isn't a SavedModel: it has a graph, but no "
                                      "signatures and no meta graph; write it "
                                      "as a GraphDef (.pb, .pbtxt) or as MLIR text (.mlir)"));
  pb::SavedModel model;
  TREADLE_TRY(mergeMessage(rest, "SavedModel", model));
  for (ModuleOp metaGraph : metaGraphs(module)) {
    pb::MetaGraphDef &meta = *model.add_meta_graphs();
    TREADLE_TRY(exportHeader(metaGraph, meta));
    if (hasGraph(metaGraph))
      meta.mutable_graph_def();
  }
  return model;
}

Expected<pb::SavedModel> treadle::exportSavedModel(ModuleOp module) {
  pb::SavedModel model = TREADLE_TRY(exportSavedModelHeader(module));
  for (auto [index, metaGraph] : llvm::enumerate(metaGraphs(module))) {
    pb::MetaGraphDef &meta = *model.mutable_meta_graphs(static_cast<int>(index));
    if (!meta.has_graph_def())
      continue;
    pb::GraphDef graph = TREADLE_TRY(exportGraphDef(metaGraph));
    *meta.mutable_graph_def() = std::move(graph);
  }
  return model;
}
