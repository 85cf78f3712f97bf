// Builds and reads call stacks in locations.
#include "treadle/dialect/SourceLocation.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace mlir;

namespace treadle {

Location stackFrame(FileLineColLoc place, StringAttr function) {
  return function && !function.empty() ? Location(NameLoc::get(function, place)) : place;
}

Location definedAt(StringAttr key, ArrayRef<Location> frames) {
  return CallSiteLoc::get(NameLoc::get(key), frames);
}

/// Whether it contains no file location.
static bool hasNoFileLocation(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return isa<UnknownLoc>(name.getChildLoc());
  if (auto fused = dyn_cast<FusedLoc>(location))
    return llvm::all_of(fused.getLocations(), hasNoFileLocation);
  return isa<UnknownLoc>(location);
}

StringRef definitionKey(Location location) {
  auto call = dyn_cast<CallSiteLoc>(location);
  // The location of an inlined node is the callee of its call's location.
  if (call && isa<CallSiteLoc>(call.getCallee()))
    return definitionKey(call.getCallee());
  auto name = call ? dyn_cast<NameLoc>(call.getCallee()) : NameLoc();
  return name && hasNoFileLocation(name) ? name.getName().getValue() : StringRef();
}

std::optional<Location> stackOf(Location location) {
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    // A stack of one frame may be a bare file location.
    if (hasNoFileLocation(call.getCallee()))
      return isa<FileLineColLoc>(call.getCaller()) ? call.getCaller() : stackOf(call.getCaller());
    return location;
  }
  if (auto name = dyn_cast<NameLoc>(location); name && isa<FileLineColLoc>(name.getChildLoc()))
    return location;
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::optional<Location> stack = stackOf(part))
        return stack;
  return std::nullopt;
}

static bool isOfLibrary(StringRef file) {
  constexpr StringLiteral parts[] = {"/tensorflow/python/", "/tensorflow/core/",
                                     "/tensorflow_core/",   "/keras/",
                                     "/tf_keras/",          "/tensorflow_estimator/"};
  return llvm::any_of(parts, [&](StringRef part) { return file.contains(part); });
}

/// Appends the file locations of a stack, innermost first.
static void addFileLocations(Location location, SmallVectorImpl<FileLineColLoc> &places) {
  if (auto place = dyn_cast<FileLineColLoc>(location)) {
    places.push_back(place);
  } else if (auto name = dyn_cast<NameLoc>(location)) {
    addFileLocations(name.getChildLoc(), places);
  } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
    addFileLocations(call.getCallee(), places);
    addFileLocations(call.getCaller(), places);
  }
}

std::string sourceLine(Location location) {
  std::optional<Location> stack = stackOf(location);
  SmallVector<FileLineColLoc> places;
  if (stack)
    addFileLocations(*stack, places);
  if (places.empty())
    return "";
  const auto *users =
      llvm::find_if(places, [](FileLineColLoc place) { return !isOfLibrary(place.getFilename()); });
  FileLineColLoc chosen = users == places.end() ? places.front() : *users;
  return (chosen.getFilename().getValue() + ":" + Twine(chosen.getLine())).str();
}

} // namespace treadle
