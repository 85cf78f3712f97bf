// Rules that say on which device nodes go: `MatMul|Conv.*=/device:GPU:0;name:^loop/=/job:w/task:0`.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "mlir/Support/LLVM.h"
#include "llvm/Support/Regex.h"

#include <optional>
#include <vector>

namespace treadle::tfg {

/// One rule: nodes whose op is the pattern all through, or whose name contains it, go to a device.
class PlacementRule {
public:
  /// Nothing, and `error` says why, where the text is no rule.
  static std::optional<PlacementRule> parse(llvm::StringRef text, std::string &error);

  bool matches(Node node) const;
  llvm::StringRef device() const { return deviceName; }

private:
  PlacementRule(llvm::Regex pattern, bool looksAtName, std::string device)
      : pattern(std::move(pattern)), looksAtName(looksAtName), deviceName(std::move(device)) {}

  llvm::Regex pattern;
  bool looksAtName;
  std::string deviceName;
};

/// All rules of an option; the first that matches decides.
class PlacementRules {
public:
  /// Nothing, having filled `error`.
  static std::optional<PlacementRules> parse(llvm::StringRef text, std::string &error);

  /// Empty where no rule matches.
  llvm::StringRef deviceFor(Node node) const;

private:
  std::vector<PlacementRule> rules;
};

} // namespace treadle::tfg
