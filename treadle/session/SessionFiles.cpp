#include "treadle/session/SessionFiles.h"

#include "treadle/graph/GraphImpl.h"
#include "treadle/import/Keywords.h"

#include <cstdlib>
#include <filesystem>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace treadle {
namespace {

namespace fs = std::filesystem;

bool isSame(const std::string &folder, const char *other) {
  std::error_code ignored;
  return other && *other && fs::equivalent(folder, other, ignored);
}

/// Home directory of this user according to the system, read once; empty if there is none.
const std::string &homeOfUser() {
  static const std::string home = [] {
    passwd entry{}, *user = nullptr;
    std::vector<char> texts(16384);
    getpwuid_r(getuid(), &entry, texts.data(), texts.size(), &user);
    return std::string(user ? user->pw_dir : "");
  }();
  return home;
}

/// Grants the files that a converted SavedModel records as its variables and assets, and no others.
void grantRecordedFiles(mlir::ModuleOp module, FileAccess &files) {
  auto folder = module->getAttrOfType<mlir::StringAttr>(graphdef::filesKey);
  if (!folder)
    return;
  files.grantVisible(str(folder.getValue().str(), "/variables"));
  files.grantVisible(str(folder.getValue().str(), "/assets"));
}

} // namespace

bool isSharedFolder(const std::string &folder) {
  struct stat status{};
  if (stat(folder.c_str(), &status) || (status.st_mode & S_IWOTH))
    return true;
  return isSame(folder, "/") || isSame(folder, std::getenv("HOME")) ||
         isSame(folder, homeOfUser().c_str());
}

FileAccess filesFor(const Graph &graph, const Permissions &granted) {
  FileAccess files(granted);
  const GraphSource &place = graph.impl->place;
  if (place.isModelFolder || (!place.folder.empty() && !isSharedFolder(place.folder)))
    files.grantVisible(place.folder);
  grantRecordedFiles(*graph.impl->module, files);
  return files;
}

} // namespace treadle
