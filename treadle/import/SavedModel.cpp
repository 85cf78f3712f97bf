// The message of a SavedModel; its folder is File.cpp's.
#include "treadle/import/SavedModel.h"

#include "treadle/dialect/Tfg.h"
#include "treadle/import/Attributes.h"
#include "treadle/import/GraphDef.h"
#include "treadle/import/Keywords.h"
#include "treadle/import/Signatures.h"
#include "treadle/import/TextForm.h"

#include "llvm/ADT/StringExtras.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

namespace {

using ImportedModule = Expected<OwningOpRef<ModuleOp>>;

std::string tagsOf(const pb::MetaGraphDef &meta) {
  return str("meta graph {", llvm::join(meta.meta_info_def().tags(), ","), "}");
}

/// Takes the graph and the signatures out of `meta`.
ImportedModule importMetaGraph(MLIRContext &context, pb::MetaGraphDef &meta) {
  bool hasGraph = meta.has_graph_def();
  ImportedModule module = importGraphDef(context, std::move(*meta.mutable_graph_def()));
  if (!module)
    return module;
  if (!hasGraph)
    for (tfg::GraphOp graph : llvm::make_early_inc_range((*module)->getOps<tfg::GraphOp>()))
      graph.erase();
  meta.clear_graph_def();

  TypeTable types(&context);
  AttributeImporter attributes(&context, types);
  NamedAttrList signatures;
  for (const auto &[name, signature] : meta.signature_def())
    if (DictionaryAttr converted = importSignature(attributes, types, signature);
        converted && !name.empty())
      signatures.append(name, converted);
  for (NamedAttribute signature : signatures)
    meta.mutable_signature_def()->erase(signature.getName().str());
  if (!signatures.empty())
    (**module)->setAttr(signaturesKey, signatures.getDictionary(&context));
  (**module)->setAttr(metaGraphKey, attributes.message("MetaGraphDef", meta));
  return module;
}

ImportedModule importMetaGraphs(MLIRContext &context, pb::SavedModel &model) {
  if (model.meta_graphs_size() == 1)
    return importMetaGraph(context, *model.mutable_meta_graphs(0));
  OwningOpRef<ModuleOp> outer = ModuleOp::create(UnknownLoc::get(&context));
  for (pb::MetaGraphDef &meta : *model.mutable_meta_graphs()) {
    ImportedModule module = importMetaGraph(context, meta);
    if (!module)
      return Unexpected(
          Error{module.error().code, str(tagsOf(meta), ": ", module.error().message)});
    outer->push_back(module->release());
  }
  return outer;
}

} // namespace

ImportedModule treadle::importSavedModel(MLIRContext &context, pb::SavedModel &&model) {
  google::protobuf::LogSilencer silencer;
  context.loadDialect<tfg::TfgDialect, tf_type::TfTypeDialect>();
  ImportedModule module = importMetaGraphs(context, model);
  if (!module)
    return module;
  model.clear_meta_graphs();
  TypeTable types(&context);
  (**module)->setAttr(savedModelKey,
                      AttributeImporter(&context, types).message("SavedModel", model));
  return module;
}

ImportedModule treadle::importSavedModel(MLIRContext &context, std::string_view bytes) {
  google::protobuf::LogSilencer silencer;
  pb::SavedModel model;
  if (bytes.size() > INT32_MAX ||
      !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Unexpected(invalidArgument(
        "the bytes are no SavedModel: they are damaged, or not all there; expected a serialized "
        "SavedModel (saved_model.pb)"));
  return importSavedModel(context, std::move(model));
}

ImportedModule treadle::importSavedModelText(MLIRContext &context, std::string_view text) {
  pb::SavedModel model;
  TREADLE_TRY(parseTextForm(text, "SavedModel", "saved_model.pbtxt", model));
  return importSavedModel(context, std::move(model));
}

SmallVector<ModuleOp> treadle::metaGraphs(ModuleOp module) {
  if (!module->hasAttr(savedModelKey))
    return {};
  if (module->hasAttr(metaGraphKey))
    return {module};
  return llvm::to_vector(module.getOps<ModuleOp>());
}
