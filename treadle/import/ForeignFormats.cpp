#include "treadle/import/ForeignFormats.h"

#include "treadle/tensor/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <filesystem>
#include <vector>

using llvm::StringRef;

namespace treadle {
namespace {

constexpr const char *kerasFix =
    "a SavedModel: keras.models.load_model(FILE).export(FOLDER) writes one";
constexpr const char *weightsFix =
    "a graph: this file has only values; a SavedModel has both (in Keras model.export(FOLDER) "
    "writes one), as does a program in StableHLO (in JAX jax.export)";
constexpr const char *torchFix = "the module itself: treadle.from_fx(module, [example inputs]) "
                                 "takes it in Python, once it is loaded in PyTorch";
constexpr const char *exportedFix = "a file made of it, for which PyTorch isn't needed: python -m "
                                    "treadle convert FILE net.tfg";
constexpr const char *originFix =
    "the original model: a SavedModel or a GraphDef of TensorFlow, a program in "
    "StableHLO, or a module of PyTorch for treadle.from_fx";
constexpr const char *unpackFix = "its contents: unpack it and pass the folder or file";
constexpr const char *arraysFix =
    "a model; arrays are inputs: treadle run MODEL --input x=@FILE.npy";
constexpr const char *programFix =
    "a graph: in TensorFlow tf.saved_model.save or model.export(FOLDER) writes one, in JAX "
    "jax.export, and PyTorch's modules go to treadle.from_fx";

/// Recognizes a format by its bytes.
struct FileSignature {
  size_t offset;
  StringRef bytes; // at that offset
  StringRef what, fix;
};

constexpr FileSignature magics[] = {
    {0, "\x89HDF\r\n\x1a\n", "HDF5, the format of Keras's .h5 files", kerasFix},
    {4, "TFL3", "a model of TensorFlow Lite (.tflite)", originFix},
    {0, "GGUF", "weights in GGUF", weightsFix},
    {0, "\x93NUMPY", "an array of numpy (.npy)", arraysFix},
    {0, "\x1f\x8b", "compressed by gzip", unpackFix},
    {0, "BZh", "compressed by bzip2", unpackFix},
    {0,
     StringRef("\xfd"
               "7zXZ\0",
               6),
     "compressed by xz", unpackFix},
    {0, "\x28\xb5\x2f\xfd", "compressed by zstd", unpackFix},
    {257, "ustar", "an archive (tar)", unpackFix},
    {0,
     "\x7f"
     "ELF",
     "compiled code: an object file, a library or a program", originFix},
    {0, "model_checkpoint_path:", "the list of a folder's checkpoints", weightsFix},
};

/// Recognizes a zip archive by the name of an entry; the first match counts.
struct ZipRow {
  StringRef entry, what, fix;
};
constexpr ZipRow zips[] = {
    {"model.weights.h5", "a model of Keras (.keras)", kerasFix},
    {"model.json", "an exported program of PyTorch (.pt2)", exportedFix},
    {"serialized_exported_program.json", "an exported program of PyTorch (.pt2)",
     "the program itself: treadle.torch.save(torch.export.load(FILE), \"net.tfg\") writes it for "
     "Treadle"},
    {"/code/", "a script module of PyTorch (TorchScript)",
     "the original module: treadle.from_fx(module, [example inputs])"},
    {"data.pkl", "a file of torch.save", torchFix},
    {".npy", "arrays of numpy (.npz)", arraysFix},
    {"", "an archive (zip)", unpackFix},
};

struct Extension {
  StringRef end, what, fix;
};
constexpr Extension extensions[] = {
    {".keras", "a model of Keras (.keras)", kerasFix},
    {".h5", "a file of Keras (.h5)", kerasFix},
    {".hdf5", "a file of Keras (.hdf5)", kerasFix},
    {".tflite", "a model of TensorFlow Lite (.tflite)", originFix},
    {".onnx", "a model in ONNX", originFix},
    {".pt", "a file of PyTorch (.pt)", torchFix},
    {".pth", "a file of PyTorch (.pth)", torchFix},
    {".pt2", "an exported program of PyTorch (.pt2)", exportedFix},
    {".ckpt", "a checkpoint (.ckpt)", weightsFix},
    {".meta", "a meta graph of TensorFlow 1 (.meta)",
     "a SavedModel or a GraphDef: in TensorFlow tf.compat.v1.train.import_meta_graph reads it, and "
     "tf.io.write_graph writes the graph"},
    {".index", "a part of a checkpoint (.index)", weightsFix},
    {".safetensors", "weights in safetensors", weightsFix},
    {".mlmodel", "a model of Core ML (.mlmodel)", originFix},
    {".pdmodel", "a model of Paddle (.pdmodel)", originFix},
    {".xml", "XML, as OpenVINO writes models", originFix},
    {".engine", "an engine of TensorRT", originFix},
    {".py", "a Python program", programFix},
    {".ipynb", "a notebook", programFix},
    {".json", "JSON, which may describe a model, but holds no graph that can be read", originFix},
};

std::string text(StringRef what, StringRef fix) {
  return str(what.str(), "; expected ", fix.str());
}

/// Names are at the beginning of an archive and in the directory at its end.
std::string zipText(StringRef content) {
  constexpr size_t looked = 1 << 16;
  const ZipRow *row = std::ranges::find_if(zips, [&](const ZipRow &row) {
    return content.take_front(looked).contains(row.entry) ||
           content.take_back(looked).contains(row.entry);
  });
  return text(row->what, row->fix);
}

/// The length of a header, then the header in JSON.
bool isSafetensors(StringRef content) {
  return content.size() > 9 && content[8] == '{' &&
         llvm::support::endian::read64le(content.data()) < content.size();
}

/// The footer of LevelDB tables, which checkpoints use for their index.
bool isTable(StringRef content) {
  return content.ends_with(StringRef("\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8));
}

/// Whether it is a pickle of protocol 2 to 5.
bool isPickle(StringRef content) {
  return content.size() > 2 && content[0] == '\x80' && content[1] >= 2 && content[1] <= 5 &&
         content.ends_with(".");
}

} // namespace

std::optional<std::string> foreignFormat(std::string_view path, std::string_view bytes) {
  StringRef content(bytes), name = llvm::sys::path::filename(path);
  for (const FileSignature &magic : magics)
    if (content.drop_front(std::min(magic.offset, content.size())).starts_with(magic.bytes))
      return text(magic.what, magic.fix);
  if (content.starts_with("PK\x03\x04"))
    return zipText(content);
  if (isSafetensors(content))
    return text("weights in safetensors", weightsFix);
  if (isTable(content) || name.contains(".data-0"))
    return text("a part of a checkpoint", weightsFix);
  for (const Extension &extension : extensions)
    if (name.ends_with_insensitive(extension.end))
      return text(extension.what, extension.fix);
  if (isPickle(content))
    return text("a pickle of Python, as torch.save wrote it", torchFix);
  return std::nullopt;
}

namespace {

/// Returns the sorted names of the folder's entries.
std::vector<std::string> entriesOf(const std::filesystem::path &folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    names.push_back(it->path().filename().string());
  llvm::sort(names);
  return names;
}

bool isGraphFile(StringRef name) {
  return llvm::any_of(llvm::ArrayRef<StringRef>{".pb", ".pbtxt", ".cpb", ".mlir"},
                      [&](StringRef end) { return name.ends_with(end); }) &&
         name != "keras_metadata.pb" && name != "fingerprint.pb";
}

bool holdsModel(const std::filesystem::path &folder) {
  return llvm::any_of(entriesOf(folder),
                      [](StringRef name) { return name.starts_with("saved_model.pb"); });
}

/// Recognizes a folder by the name of an entry, or by text in a file of that name.
struct FolderRow : Extension {
  StringRef text = "";
};
constexpr FolderRow folderRows[] = {
    {{"model.weights.h5", "an unpacked model of Keras", kerasFix}},
    {{".mlmodel", "a model of Core ML", originFix}},
    {{"Manifest.json", "a model of Core ML (.mlpackage)", originFix}},
    {{"_METADATA", "a checkpoint of JAX (Orbax)", weightsFix}},
    {{"model.json", "a model of TensorFlow.js", originFix}, "\"weightsManifest\""},
    {{".safetensors", "weights in safetensors", weightsFix}},
    {{".index", "a checkpoint", weightsFix}},
    {{".keras", "a model of Keras (.keras)", kerasFix}},
    {{".h5", "a file of Keras (.h5)", kerasFix}},
    {{".tflite", "a model of TensorFlow Lite (.tflite)", originFix}},
    {{".onnx", "a model in ONNX", originFix}},
};

bool isOf(const FolderRow &row, const std::filesystem::path &folder, StringRef name) {
  if (!name.ends_with(row.end))
    return false;
  if (row.text.empty())
    return true;
  auto file = llvm::MemoryBuffer::getFile((folder / name.str()).string());
  return file && (*file)->getBuffer().contains(row.text);
}

} // namespace

std::string foreignFolder(const std::string &folder) {
  constexpr size_t maxNamed = 3;
  std::vector<std::string> names = entriesOf(folder), near;
  for (const std::string &name : names)
    if (isGraphFile(name) || holdsModel(std::filesystem::path(folder) / name))
      near.push_back(str("'", (std::filesystem::path(folder) / name).string(), "'"));
  if (near.size() > maxNamed)
    near.resize(maxNamed);
  if (!near.empty())
    return str(" (did you mean ", llvm::join(near, " or "), "?)");
  for (const FolderRow &row : folderRows)
    if (llvm::any_of(names, [&](StringRef name) { return isOf(row, folder, name); }))
      return str("; it holds ", text(row.what, row.fix));
  return "";
}

} // namespace treadle
