// Writes the folder of a SavedModel: under a temporary name, then renames it.
#include "treadle/export/SavedModel.h"

#include "treadle/export/Chunks.h"
#include "treadle/import/Attributes.h"
#include "treadle/import/Keywords.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <google/protobuf/text_format.h>

using namespace mlir;
using namespace treadle;
namespace fs = std::filesystem;

namespace {

/// A temporary folder that is removed on destruction unless it was moved to its target.
class PartialFolder {
public:
  explicit PartialFolder(const fs::path &final) : final(final) {}
  ~PartialFolder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
  PartialFolder(const PartialFolder &) = delete;
  PartialFolder &operator=(const PartialFolder &) = delete;

  std::error_code create() {
    llvm::SmallString<128> unique;
    llvm::sys::fs::createUniquePath(final.string() + ".%%%%%%%%.tmp", unique,
                                    /*MakeAbsolute=*/false);
    path = unique.str().str();
    std::error_code failure;
    fs::create_directories(path, failure);
    return failure;
  }

  std::error_code moveToTarget() {
    std::error_code failure;
    fs::rename(path, final, failure);
    if (!failure)
      path.clear();
    return failure;
  }

  fs::path path;

private:
  fs::path final;
};

constexpr const char *names[] = {"saved_model.pb", "saved_model.pbtxt", "saved_model.cpb"};

/// Whether the file is a message of the source, which isn't copied because a new one is written.
bool isMessage(const fs::path &name) {
  return std::ranges::any_of(names, [&](const char *message) { return name == message; });
}

std::error_code copyFiles(const fs::path &from, const fs::path &to) {
  std::error_code failure;
  for (fs::directory_iterator it(from, failure), end; !failure && it != end;
       it.increment(failure)) {
    if (isMessage(it->path().filename()))
      continue;
    fs::copy(it->path(), to / it->path().filename(), fs::copy_options::recursive, failure);
    if (failure)
      break;
  }
  return failure;
}

/// Whether the folder belongs to one model; a message alone, such as net.tfg, may be in any folder.
bool isModelFolder(const fs::path &folder) {
  std::error_code ignored;
  return fs::exists(folder / "variables", ignored) ||
         std::ranges::any_of(names,
                             [&](const char *name) { return fs::exists(folder / name, ignored); });
}

/// Whether `inner` is `outer` or inside it.
bool isInside(const fs::path &inner, const fs::path &outer) {
  std::error_code ignored;
  fs::path relative =
      fs::weakly_canonical(inner, ignored).lexically_relative(fs::weakly_canonical(outer, ignored));
  return !relative.empty() && *relative.begin() != "..";
}

Expected<void> checkPlace(const fs::path &folder, const fs::path &source) {
  std::error_code failure;
  bool isFree = !fs::exists(folder, failure) ||
                (fs::is_directory(folder, failure) && fs::is_empty(folder, failure));
  if (!isFree)
    return Unexpected(alreadyExists("'", folder.string(),
                                    "' already exists, expected no folder or an empty one; "
                                    "remove it or choose another"));
  if (source.empty())
    return {};
  if (!fs::is_directory(source, failure))
    return Unexpected(notFound("the SavedModel's variables and assets were in '", source.string(),
                               "', which doesn't exist any more; restore it, or set ",
                               graphdef::filesKey.str(), " to where they are"));
  if (isInside(folder, source))
    return Unexpected(invalidArgument("'", folder.string(), "' is in the SavedModel's own folder '",
                                      source.string(), "', expected another location"));
  return {};
}

Expected<std::string> render(ModuleOp module, SavedModelForm form) {
  pb::SavedModel model = TREADLE_TRY(exportSavedModel(module));
  if (form == SavedModelForm::Binary)
    return graphdef::serialize(model);
  std::string text;
  google::protobuf::TextFormat::PrintToString(model, &text);
  return text;
}

Expected<void> writeMessage(ModuleOp module, SavedModelForm form, const fs::path &folder) {
  std::ofstream file(folder / names[static_cast<int>(form)], std::ios::binary);
  auto sink = [&](std::string_view bytes) {
    return static_cast<bool>(file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())));
  };
  if (form == SavedModelForm::Chunks) {
    TREADLE_TRY(exportSavedModelChunks(module, sink));
  } else {
    std::string content = TREADLE_TRY(render(module, form));
    sink(content);
  }
  file.close();
  return file ? Expected<void>() : Unexpected(unavailable("the bytes can't be written"));
}

} // namespace

Expected<void> treadle::exportSavedModelFolder(ModuleOp module, const std::string &folder,
                                               SavedModelForm form) {
  fs::path place = fs::path(folder).lexically_normal();
  if (!place.has_filename())
    place = place.parent_path();
  auto files = module->getAttrOfType<StringAttr>(graphdef::filesKey);
  fs::path source = files ? files.str() : "";
  if (std::error_code ignored; fs::is_directory(source, ignored) && !isModelFolder(source))
    source.clear();
  if (form == SavedModelForm::Binary && needsChunks(module))
    form = SavedModelForm::Chunks;
  if (Expected<pb::SavedModel> header = exportSavedModelHeader(module); !header)
    return Unexpected(header.error());
  TREADLE_TRY(checkPlace(place, source));

  PartialFolder partial(place);
  std::error_code failure = partial.create();
  if (!failure)
    TREADLE_TRY(writeMessage(module, form, partial.path));
  if (!failure && !source.empty())
    failure = copyFiles(source, partial.path);
  if (!failure)
    failure = partial.moveToTarget();
  if (failure)
    return Unexpected(unavailable("'", folder, "' can't be written: ", failure.message()));
  return {};
}
