// Writes facts of each op from the tables of kernels, shapes and gradients, one line per op, for
// the reference; scripts/docs/ops.py reads it.
//
//     OP  ROOM  DTYPES  CODE  SHAPE  GRADIENT          separated by tabs
//
// ROOM is the folder of treadle/kernels that has the kernel, or `control_flow` for what plans and
// executors do themselves; empty for an op that doesn't run. DTYPES are those that the kernel
// binds: `T=float32,float64;Tidx=int32`; empty where the op has no choice, or where no attributes
// that were tried here suit the kernel. CODE says whether the compiler has a form of the op, SHAPE
// whether there is a shape function: `yes` or `no`. GRADIENT is `rule`; `constant`, where none
// flows; or `no`.
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/Translator.h"
#include "treadle/gradients/GradientTable.h"
#include "treadle/kernels/Families.h"
#include "treadle/ops/OpTable.h"
#include "treadle/shapes/ShapeFunctions.h"

#include <cstdio>
#include <map>
#include <set>

namespace treadle {
namespace {

/// A room of kernels, and how many families it has.
struct Room {
  std::string_view name;
  int families;
};

#pragma push_macro("TREADLE_FAMILY")
#undef TREADLE_FAMILY
#define TREADLE_FAMILY(function) +1
constexpr Room rooms[] = {
    {"arrays", 0
#include "treadle/kernels/arrays/Families.h"
    },
    {"datasets", 0
#include "treadle/kernels/datasets/Families.h"
    },
    {"elementwise", 0
#include "treadle/kernels/elementwise/Families.h"
    },
    {"exchange", 0
#include "treadle/kernels/exchange/Families.h"
    },
    {"files", 0
#include "treadle/kernels/files/Families.h"
    },
    {"functions", 0
#include "treadle/kernels/functions/Families.h"
    },
    {"images", 0
#include "treadle/kernels/images/Families.h"
    },
    {"linear_algebra", 0
#include "treadle/kernels/linear_algebra/Families.h"
    },
    {"lists", 0
#include "treadle/kernels/lists/Families.h"
    },
    {"nets", 0
#include "treadle/kernels/nets/Families.h"
    },
    {"products", 0
#include "treadle/kernels/products/Families.h"
    },
    {"quantized", 0
#include "treadle/kernels/quantized/Families.h"
    },
    {"random", 0
#include "treadle/kernels/random/Families.h"
    },
    {"reductions", 0
#include "treadle/kernels/reductions/Families.h"
    },
    {"signals", 0
#include "treadle/kernels/signals/Families.h"
    },
    {"sparse", 0
#include "treadle/kernels/sparse/Families.h"
    },
    {"state", 0
#include "treadle/kernels/state/Families.h"
    },
    {"text", 0
#include "treadle/kernels/text/Families.h"
    },
    {"windows", 0
#include "treadle/kernels/windows/Families.h"
    },
};
#pragma pop_macro("TREADLE_FAMILY")

struct Kernel {
  std::string_view room;
  BindFn bind = nullptr; // null: it calls functions, which a node by itself doesn't have
};

/// Whether an op without a kernel runs all the same: plans know it, or replace it.
bool isOfPlans(const OpDef &op) {
  constexpr std::string_view names[] = {"BatchFunction", "Const", "HostConst", "_Cluster", "_Read"};
  OpKind kind = op.kind();
  bool isControlFlow = kind == OpKind::Argument || kind == OpKind::For || isFunctional(kind) ||
                       kind == OpKind::OtherCall ||
                       (isV1ControlFlow(kind) && kind != OpKind::OtherV1);
  return isControlFlow || std::ranges::count(names, op.name()) > 0;
}

std::map<std::string_view, Kernel> kernels() {
  std::map<std::string_view, Kernel> found;
  const std::vector<std::span<const KernelEntry>> tables = kernelFamilies();
  auto table = tables.begin(); // in the order of the rooms
  for (const Room &room : rooms)
    for (int i = 0; i < room.families; ++i)
      for (const KernelEntry &entry : *table++)
        found[entry.op] = {room.name, entry.bind};
  for (auto functions : {rowFunctionKernels(), tensorFunctionKernels()})
    for (const FunctionKernelEntry &entry : functions)
      found[entry.op] = {"functions"};
  for (const OpDef &op : allOps())
    if (isOfPlans(op))
      found.try_emplace(op.name(), Kernel{"control_flow"});
  return found;
}

AttrValue valueOf(AttrKind kind, AttrConstant constant) {
  switch (kind) {
  case AttrKind::String:
    return std::string(constant.asString());
  case AttrKind::Int:
    return constant.asInt();
  case AttrKind::Float:
    return constant.asFloat();
  case AttrKind::Bool:
    return constant.asBool();
  case AttrKind::Type:
    return TypeAttr{constant.asType()};
  case AttrKind::Shape: {
    ShapeConstant shape = constant.asShape();
    return PartialShape{shape.hasRank, {shape.dims.begin(), shape.dims.end()}};
  }
  case AttrKind::Tensor:
    return Tensor::scalar(DType::Float32, 0.0F);
  case AttrKind::Func:
    return FunctionRef{std::string(constant.asFunc()), nullptr};
  }
  return {};
}

/// Attributes whose texts kernels read when they are bound, and which have no default.
constexpr std::pair<std::string_view, std::string_view> texts[] = {
    {"equation", "a->a"},       {"input_encoding", "UTF-8"},
    {"input_order", "R"},       {"interpolation", "BILINEAR"},
    {"set_operation", "union"}, {"row_partition_types", "ROW_SPLITS"}};

/// Something that a node may say where the op has no default.
AttrValue anyValue(const AttrDef &attr) {
  if (!attr.allowedValues().empty())
    return valueOf(attr.kind(), attr.allowedValues()[0]);
  switch (attr.kind()) {
  case AttrKind::String: {
    const auto *text = std::ranges::find(texts, attr.name(), [](auto &pair) { return pair.first; });
    return std::string(text == std::end(texts) ? "" : text->second);
  }
  case AttrKind::Int:
    return std::max<int64_t>(attr.isList() ? 1 : attr.minimum().value_or(1), 1);
  case AttrKind::Float:
    return 1.0F;
  case AttrKind::Bool:
    return false;
  case AttrKind::Type:
    return TypeAttr{DType::Float32};
  case AttrKind::Shape:
    return PartialShape::ranked({1});
  case AttrKind::Tensor:
    return Tensor::scalar(DType::Float32, 0.0F);
  case AttrKind::Func:
    return FunctionRef{"f", nullptr};
  }
  return {};
}

/// The alternative of AttrValue that holds `elements`, which are of one kind.
AttrValue listOf(const std::vector<AttrValue> &elements) {
  if (elements.empty())
    return std::vector<std::string>(); // any list
  return std::visit(
      [&](const auto &first) -> AttrValue {
        using T = std::decay_t<decltype(first)>;
        if constexpr (!std::is_same_v<T, std::monostate> && !detail::IsVector<T>::value) {
          std::vector<T> list;
          list.reserve(elements.size());
          for (const AttrValue &element : elements)
            list.push_back(std::get<T>(element));
          return list;
        } else {
          return {};
        }
      },
      elements[0]);
}

/// The default, or some value; of a list that has no least length, `length` of them.
AttrValue startingValue(const AttrDef &attr, int64_t length) {
  std::vector<AttrValue> elements;
  for (AttrConstant constant : attr.defaultValues())
    elements.push_back(valueOf(attr.kind(), constant));
  if (!attr.isList())
    return attr.hasDefault() ? elements.at(0) : anyValue(attr);
  if (!attr.hasDefault())
    elements.assign(std::max<int64_t>(attr.minimum().value_or(length), 1), anyValue(attr));
  return listOf(elements);
}

std::vector<DType> typesOf(std::span<const ArgDef> args, const AttrMap &attrs) {
  std::vector<DType> types;
  for (const ArgDef &arg : args) {
    if (!arg.typeListAttr().empty()) {
      for (DType type : attrs.getOr(arg.typeListAttr(), std::vector<DType>()))
        types.push_back(type);
      continue;
    }
    DType type = arg.typeAttr().empty() ? arg.type() : attrs.getOr(arg.typeAttr(), DType::Invalid);
    int64_t count = arg.numberAttr().empty() ? 1 : attrs.getOr(arg.numberAttr(), int64_t(1));
    types.insert(types.end(), count, type);
  }
  return types;
}

std::vector<DType> choices(const AttrDef &attr) {
  std::vector<DType> types;
  for (AttrConstant allowed : attr.allowedValues())
    types.push_back(allowed.asType());
  if (types.empty())
    for (int type = 1; type <= static_cast<int>(DType::UInt64); ++type)
      types.push_back(static_cast<DType>(type));
  return types;
}

/// Tries all dtypes that the op's definition allows, together, with the defaults of other
/// attributes.
class Probe {
public:
  Probe(const OpDef &op, BindFn bind, int64_t length) : op(op), bind(bind) {
    for (const AttrDef &attr : op.attrs()) {
      attrs.set(attr.name(), startingValue(attr, length));
      if (attr.kind() == AttrKind::Type && !attr.isList())
        variables.push_back({attr.name(), choices(attr), {}});
    }
  }

  std::string text() {
    tryFrom(0);
    std::string out;
    for (const Variable &variable : variables) {
      if (variable.bound.empty())
        return {};
      out += std::string(out.empty() ? "" : ";").append(variable.attr) + "=";
      std::string_view separator;
      for (DType type : variable.choices)
        if (variable.bound.contains(type)) {
          out.append(separator).append(dtypeName(type));
          separator = ",";
        }
    }
    return out;
  }

private:
  struct Variable {
    std::string_view attr;
    std::vector<DType> choices;
    std::set<DType> bound;
  };

  void tryFrom(size_t index) {
    if (index == variables.size())
      return tryThese();
    for (DType type : variables[index].choices) {
      attrs.set(variables[index].attr, TypeAttr{type});
      tryFrom(index + 1);
    }
  }

  void tryThese() {
    std::vector<DType> inputs = typesOf(op.inputs(), attrs), outputs = typesOf(op.outputs(), attrs);
    if (!bind(BindContext{"node", op.name(), attrs, inputs, outputs}))
      return;
    for (Variable &variable : variables)
      variable.bound.insert(attrs.getOr(variable.attr, DType::Invalid));
  }

  const OpDef &op;
  BindFn bind;
  AttrMap attrs;
  std::vector<Variable> variables;
};

std::string dtypesOf(const OpDef &op, BindFn bind) {
  std::string out;
  for (int64_t length : {1, 4, 2}) // of strides, for one; images have four dimensions
    if (out.empty())
      out = Probe(op, bind, length).text();
  return out;
}

std::string_view gradientOf(const OpDef &op) {
  auto found = tfg::gradientTable().find(op.name());
  if (found != tfg::gradientTable().end())
    return found->second ? "rule" : "constant";
  return isFunctional(op.kind()) ? "rule" : "no";
}

std::string line(const OpDef &op, const Kernel *kernel) {
  std::string out(op.name());
  out.append("\t").append(kernel ? kernel->room : "");
  out.append("\t").append(kernel && kernel->bind ? dtypesOf(op, kernel->bind) : "");
  bool hasForm = codegen::isElementwise(op.name()) || codegen::findLowering(op.name());
  out.append("\t").append(hasForm ? "yes" : "no");
  out.append("\t").append(hasShapeFunction(op.name()) ? "yes" : "no");
  out.append("\t").append(gradientOf(op));
  return out;
}

void write() {
  std::map<std::string_view, Kernel> known = kernels();
  for (const OpDef &op : allOps()) {
    auto found = known.find(op.name());
    std::puts(line(op, found == known.end() ? nullptr : &found->second).c_str());
  }
}

} // namespace
} // namespace treadle

int main() { treadle::write(); }
