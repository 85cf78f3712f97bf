#include "treadle/graph/SavedModel.h"

#include "treadle/export/SavedModel.h"
#include "treadle/import/Keywords.h"
#include "treadle/import/SavedModel.h"
#include "treadle/runtime/ValueName.h"

#include <filesystem>
#include <set>

namespace treadle {
namespace {

namespace fs = std::filesystem;

constexpr const char *initCollections[] = {"saved_model_main_op", "legacy_init_op"};
constexpr const char *assetCollection = "saved_model_assets";

using Tags = std::set<std::string>;

Tags tagsOf(const pb::MetaGraphDef &meta) {
  return {meta.meta_info_def().tags().begin(), meta.meta_info_def().tags().end()};
}

std::string formatTags(const Tags &tags) {
  std::string text;
  for (const std::string &tag : tags)
    text += str(text.empty() ? "" : ", ", "'", tag, "'");
  return "{" + text + "}";
}

/// Returns the index of the only match; -1 if there is none, or more than one.
template <typename Fits> int onlyOne(const std::vector<Tags> &all, Fits fits) {
  int found = -1;
  for (int i = 0; i < std::ssize(all); ++i)
    if (fits(all[static_cast<size_t>(i)])) {
      if (found >= 0)
        return -1;
      found = i;
    }
  return found;
}

int choose(const std::vector<Tags> &all, const Tags &wanted) {
  if (!wanted.empty())
    return onlyOne(all, [&](const Tags &tags) { return tags == wanted; });
  int chosen = onlyOne(all, [](const Tags &tags) { return tags == Tags{"serve"}; });
  if (chosen < 0)
    chosen = onlyOne(all, [](const Tags &) { return true; });
  if (chosen < 0)
    chosen = onlyOne(all, [](const Tags &tags) { return tags.contains("serve"); });
  return chosen;
}

Error noSuchTags(const std::vector<Tags> &all, const Tags &wanted) {
  std::string have;
  for (const Tags &tags : all)
    have += str(have.empty() ? "" : ", ", formatTags(tags));
  return notFound("the model doesn't have exactly one meta graph with the tags ",
                  formatTags(wanted.empty() ? Tags{"serve"} : wanted), "; it has ",
                  have.empty() ? "none" : have);
}

std::vector<pb::AssetFileDef> assetDefs(const pb::MetaGraphDef &meta) {
  if (meta.asset_file_def_size())
    return {meta.asset_file_def().begin(), meta.asset_file_def().end()};
  std::vector<pb::AssetFileDef> defs;
  auto it = meta.collection_def().find(assetCollection);
  if (it == meta.collection_def().end())
    return defs;
  // The type URL names TensorFlow's package instead of this project's, so only the bytes are used.
  for (const auto &any : it->second.any_list().value())
    if (pb::AssetFileDef def; def.ParseFromString(any.value()))
      defs.push_back(std::move(def));
  return defs;
}

/// Whether `name` stays inside its intended folder.
bool staysInside(const std::string &name) {
  fs::path path = fs::path(name).lexically_normal();
  return !name.empty() && path.is_relative() && *path.begin() != "..";
}

} // namespace

Expected<SavedModelFiles> SavedModelFiles::of(mlir::OwningOpRef<mlir::ModuleOp> &module,
                                              const std::vector<std::string> &wanted) {
  SavedModelFiles files;
  if (auto folder = (*module)->getAttrOfType<mlir::StringAttr>(graphdef::filesKey))
    files.folder = folder.str();
  std::vector<pb::MetaGraphDef> metas;
  std::vector<Tags> tags;
  llvm::SmallVector<mlir::ModuleOp> modules = metaGraphs(*module);
  for (mlir::ModuleOp metaGraph : modules) {
    pb::MetaGraphDef meta = TREADLE_TRY(exportMetaGraphHeader(metaGraph));
    tags.push_back(tagsOf(meta));
    metas.push_back(std::move(meta));
  }
  int chosen = choose(tags, {wanted.begin(), wanted.end()});
  if (chosen < 0)
    return Unexpected(noSuchTags(tags, {wanted.begin(), wanted.end()}));
  auto index = static_cast<size_t>(chosen);
  files.meta = std::move(metas[index]);
  if (modules[index] != *module) {
    modules[index]->remove();
    module = modules[index];
  }
  return files;
}

Expected<std::vector<SavedModelFiles::Asset>> SavedModelFiles::assets() const {
  std::vector<Asset> assets;
  for (const pb::AssetFileDef &def : assetDefs(meta)) {
    if (!staysInside(def.filename()))
      return Unexpected(invalidArgument("asset '", def.filename(),
                                        "' points outside of the model's folder '", folder,
                                        "'; don't trust this model"));
    assets.push_back({def.tensor_info().name(), str(folder, "/assets/", def.filename())});
  }
  return assets;
}

std::string SavedModelFiles::initOp() const {
  std::string tensor;
  if (auto it = meta.signature_def().find(std::string(initKey)); it != meta.signature_def().end()) {
    auto output = it->second.outputs().find(it->first);
    if (output != it->second.outputs().end())
      tensor = output->second.name();
  }
  for (const char *collection : initCollections) {
    auto it = meta.collection_def().find(collection);
    if (tensor.empty() && it != meta.collection_def().end() &&
        it->second.node_list().value_size() == 1)
      tensor = it->second.node_list().value(0);
  }
  return nodeOf(tensor);
}

} // namespace treadle
