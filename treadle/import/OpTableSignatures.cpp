// Signatures of the ops in the op table.
#include "treadle/import/OpSignatures.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

static int indexOf(const OpSignature &signature, std::string_view name) {
  if (name.empty())
    return -1;
  auto *it = llvm::find_if(signature.attrs, [&](const AttrSpec &spec) {
    return spec.name.getValue() == StringRef(name);
  });
  return it == signature.attrs.end() ? -1 : it - signature.attrs.begin();
}

static AttrSpec makeAttr(MLIRContext *context, TypeTable &types, const AttrDef &attr) {
  AttrSpec spec;
  spec.name = StringAttr::get(context, StringRef(attr.name()));
  spec.def = &attr;
  spec.hasDefault = attr.hasDefault();
  if (attr.kind() == AttrKind::Int && !attr.isList() && attr.hasDefault())
    spec.defaultInt = attr.defaultValues().front().asInt();
  if (attr.kind() == AttrKind::Type)
    for (AttrConstant value : attr.defaultValues())
      spec.defaultTypes.push_back(types.element(static_cast<int>(value.asType())));
  return spec;
}

static ArgSpec makeArg(MLIRContext *context, TypeTable &types, const OpSignature &signature,
                       const ArgDef &arg) {
  ArgSpec spec;
  spec.name = StringAttr::get(context, StringRef(arg.name()));
  if (arg.type() != DType::Invalid)
    spec.type = types.element(static_cast<int>(arg.type()));
  spec.typeAttr = indexOf(signature, arg.typeAttr());
  spec.numberAttr = indexOf(signature, arg.numberAttr());
  spec.typeListAttr = indexOf(signature, arg.typeListAttr());
  spec.isRef = arg.isRef();
  return spec;
}

bool OpSignatures::fillFromTable(StringRef op, OpSignature &signature) {
  const OpDef *def = lookupOp(op);
  if (!def)
    return false;
  for (const AttrDef &attr : def->attrs())
    signature.attrs.push_back(makeAttr(context, types, attr));
  for (const ArgDef &arg : def->inputs())
    signature.inputs.push_back(makeArg(context, types, signature, arg));
  for (const ArgDef &arg : def->outputs())
    signature.outputs.push_back(makeArg(context, types, signature, arg));
  return true;
}
