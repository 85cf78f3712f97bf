// The op table: some ops compared with TensorFlow's definitions, and invariants of all ops.
#include "treadle/ops/OpAlias.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <string>
#include <vector>

using namespace treadle;

namespace {

const OpDef &op(std::string_view name) {
  const OpDef *found = lookupOp(name);
  if (!found)
    throw std::runtime_error("no op " + std::string(name));
  return *found;
}

const AttrDef &attr(std::string_view opName, std::string_view name) {
  const AttrDef *found = op(opName).findAttr(name);
  if (!found)
    throw std::runtime_error("no attribute " + std::string(name));
  return *found;
}

std::vector<std::string> names(auto rows) {
  std::vector<std::string> out;
  for (const auto &row : rows)
    out.emplace_back(row.name());
  return out;
}

std::vector<DType> types(std::span<const AttrConstant> constants) {
  std::vector<DType> out;
  for (AttrConstant c : constants)
    out.push_back(c.asType());
  return out;
}

using Names = std::vector<std::string>;

TEST(OpTable, AddV2) {
  const OpDef &add = op("AddV2");
  EXPECT_EQ(names(add.inputs()), (Names{"x", "y"}));
  EXPECT_EQ(names(add.outputs()), (Names{"z"}));
  EXPECT_EQ(names(add.attrs()), (Names{"T"}));
  EXPECT_EQ(add.inputs()[0].typeAttr(), "T");
  EXPECT_EQ(add.inputs()[0].type(), DType::Invalid);
  EXPECT_EQ(add.inputs()[0].numberAttr(), "");
  EXPECT_EQ(add.attrs()[0].kind(), AttrKind::Type);
  EXPECT_FALSE(add.attrs()[0].hasDefault());
  auto allowed = types(add.attrs()[0].allowedValues());
  EXPECT_EQ(allowed.size(), 14u);
  EXPECT_TRUE(std::ranges::count(allowed, DType::BFloat16));
  EXPECT_FALSE(std::ranges::count(allowed, DType::String));
  EXPECT_TRUE(add.isCommutative());
  EXPECT_TRUE(add.isAggregate());
  EXPECT_FALSE(add.isStateful());
  EXPECT_FALSE(op("Sub").isCommutative());
}

TEST(OpTable, WhileTakesAListOfTypes) {
  const OpDef &loop = op("While");
  ASSERT_EQ(loop.inputs().size(), 1u);
  EXPECT_EQ(loop.inputs()[0].typeListAttr(), "T");
  EXPECT_EQ(loop.outputs()[0].typeListAttr(), "T");
  EXPECT_TRUE(loop.isStateful());
  EXPECT_FALSE(op("StatelessWhile").isStateful());
  EXPECT_EQ(attr("While", "T").kindName(), "list(type)");
  EXPECT_EQ(attr("While", "T").minimum(), 0);
  EXPECT_EQ(attr("While", "cond").kind(), AttrKind::Func);
  EXPECT_FALSE(attr("While", "body").hasDefault());
  EXPECT_EQ(attr("While", "parallel_iterations").defaultValues()[0].asInt(), 10);
}

TEST(OpTable, SwitchAndMerge) {
  EXPECT_EQ(names(op("Switch").inputs()), (Names{"data", "pred"}));
  EXPECT_EQ(names(op("Switch").outputs()), (Names{"output_false", "output_true"}));
  EXPECT_EQ(op("Switch").inputs()[1].type(), DType::Bool);
  EXPECT_TRUE(op("RefSwitch").outputs()[1].isRef());
  EXPECT_FALSE(op("Switch").outputs()[1].isRef());
  const OpDef &merge = op("Merge");
  EXPECT_EQ(merge.inputs()[0].numberAttr(), "N");
  EXPECT_EQ(merge.inputs()[0].typeAttr(), "T");
  EXPECT_EQ(names(merge.outputs()), (Names{"output", "value_index"}));
  EXPECT_EQ(merge.outputs()[1].type(), DType::Int32);
  EXPECT_EQ(attr("Merge", "N").minimum(), 1);
}

TEST(OpTable, Concat) {
  EXPECT_EQ(names(op("Concat").inputs()), (Names{"concat_dim", "values"}));
  EXPECT_EQ(names(op("ConcatV2").inputs()), (Names{"values", "axis"}));
  EXPECT_EQ(op("ConcatV2").inputs()[0].numberAttr(), "N");
  EXPECT_EQ(op("ConcatV2").inputs()[1].typeAttr(), "Tidx");
  EXPECT_EQ(attr("ConcatV2", "N").minimum(), 2);
  EXPECT_EQ(attr("ConcatV2", "Tidx").defaultValues()[0].asType(), DType::Int32);
  EXPECT_EQ(types(attr("ConcatV2", "Tidx").allowedValues()),
            (std::vector{DType::Int32, DType::Int64}));
}

TEST(OpTable, RareFlags) {
  EXPECT_TRUE(op("Assign").allowsUninitializedInput());
  EXPECT_TRUE(op("Assign").inputs()[0].isRef());
  EXPECT_FALSE(op("AssignAdd").allowsUninitializedInput());
  EXPECT_TRUE(op("CollectiveReduceV2").isDistributedCommunication());
  EXPECT_FALSE(op("AddN").isDistributedCommunication());
  EXPECT_EQ(op("PlaceholderV2").deprecatedSince(), 23);
  EXPECT_EQ(op("Placeholder").deprecatedSince(), 0);
}

TEST(OpTable, DefaultsOfEveryKind) {
  EXPECT_EQ(attr("PrintV2", "end").defaultValues()[0].asString(), "\n");
  EXPECT_EQ(attr("Conv2D", "data_format").defaultValues()[0].asString(), "NHWC");
  EXPECT_EQ(attr("Conv2D", "data_format").allowedValues()[1].asString(), "NCHW");
  EXPECT_EQ(attr("StringSplitV2", "maxsplit").defaultValues()[0].asInt(), -1);
  EXPECT_EQ(attr("FusedBatchNormV3", "epsilon").defaultValues()[0].asFloat(), 0.0001f);
  EXPECT_TRUE(attr("Assert", "summarize").hasDefault());
  EXPECT_TRUE(attr("Conv2D", "use_cudnn_on_gpu").defaultValues()[0].asBool());
  EXPECT_FALSE(attr("MatMul", "transpose_a").defaultValues()[0].asBool());
  ShapeConstant shape = attr("Placeholder", "shape").defaultValues()[0].asShape();
  EXPECT_FALSE(shape.hasRank);
  TensorConstant color = attr("ImageSummary", "bad_color").defaultValues()[0].asTensor();
  EXPECT_EQ(color.dtype, DType::UInt8);
  EXPECT_EQ(std::vector<int64_t>(color.dims.begin(), color.dims.end()), (std::vector<int64_t>{4}));
  EXPECT_EQ(std::vector<int64_t>(color.values.begin(), color.values.end()),
            (std::vector<int64_t>{255, 0, 0, 255}));
}

TEST(OpTable, DefaultsThatAreLists) {
  const AttrDef &dilations = attr("Conv2D", "dilations");
  EXPECT_EQ(dilations.kindName(), "list(int)");
  ASSERT_EQ(dilations.defaultValues().size(), 4u);
  EXPECT_EQ(dilations.defaultValues()[3].asInt(), 1);
  // An empty list is a default, unlike no default.
  EXPECT_TRUE(attr("Conv2D", "explicit_paddings").hasDefault());
  EXPECT_TRUE(attr("Conv2D", "explicit_paddings").defaultValues().empty());
  EXPECT_FALSE(attr("Conv2D", "strides").hasDefault());

  // A test op of TensorFlow with a default of every type.
  EXPECT_EQ(attr("DefaultAttrs", "string_list_val").defaultValues()[0].asString(), "abc");
  EXPECT_EQ(attr("DefaultAttrs", "string_list_val").defaultValues()[1].asString(), "");
  EXPECT_FALSE(attr("DefaultAttrs", "bool_list_val").defaultValues()[1].asBool());
  EXPECT_EQ(types(attr("DefaultAttrs", "type_list_val").defaultValues()),
            (std::vector{DType::Int32, DType::Float32}));
  auto shapes = attr("DefaultAttrs", "shape_list_val").defaultValues();
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_TRUE(shapes[0].asShape().hasRank);
  EXPECT_TRUE(shapes[0].asShape().dims.empty());
  EXPECT_EQ(shapes[1].asShape().dims[0], 1);
  EXPECT_EQ(attr("DefaultAttrs", "tensor_list_val").defaultValues()[0].asTensor().values[0], 1);
}

TEST(OpTable, UnknownNames) {
  EXPECT_EQ(lookupOp(""), nullptr);
  EXPECT_EQ(lookupOp("addv2"), nullptr);
  EXPECT_EQ(lookupOp("AddV2 "), nullptr);
  EXPECT_EQ(lookupOp(std::string(1000, 'A')), nullptr);
  EXPECT_EQ(op("AddV2").findAttr("U"), nullptr);
}

TEST(OpTable, EveryFamilyIsThere) {
  for (const char *name : {"Enter",
                           "Exit",
                           "NextIteration",
                           "LoopCond",
                           "ControlTrigger",
                           "RefMerge",
                           "If",
                           "Case",
                           "StatelessCase",
                           "PartitionedCall",
                           "StatefulPartitionedCall",
                           "SymbolicGradient",
                           "VarHandleOp",
                           "ReadVariableOp",
                           "AssignVariableOp",
                           "ResourceScatterAdd",
                           "ResourceApplyAdam",
                           "VariableV2",
                           "ApplyGradientDescent",
                           "TensorListPushBack",
                           "TensorArrayV3",
                           "StackPushV2",
                           "QueueEnqueueV2",
                           "BarrierTakeMany",
                           "HashTableV2",
                           "CollectiveReduce",
                           "CollectiveGatherV2",
                           "_Arg",
                           "_Retval",
                           "_Send",
                           "_HostRecv",
                           "RestoreV2",
                           "SaveV2",
                           "StatelessRandomUniformV2",
                           "RandomStandardNormal",
                           "PyFunc",
                           "MapDataset",
                           "IteratorGetNext",
                           "Einsum",
                           "RaggedRange",
                           "SparseTensorDenseMatMul"})
    EXPECT_NE(lookupOp(name), nullptr) << name;
  EXPECT_GT(allOps().size(), 1400u);
}

TEST(OpTable, SortedUniqueAndFound) {
  for (size_t i = 0; i < allOps().size(); ++i) {
    const OpDef &one = allOps()[i];
    EXPECT_EQ(lookupOp(one.name()), &one) << one.name();
    if (i > 0) {
      EXPECT_LT(allOps()[i - 1].name(), one.name());
    }
  }
}

void expectAttr(const OpDef &one, std::string_view name, std::string_view kind) {
  const AttrDef *found = one.findAttr(name);
  ASSERT_NE(found, nullptr) << one.name() << " has no attribute " << name;
  EXPECT_EQ(found->kindName(), kind) << one.name() << '.' << name;
}

TEST(OpTable, ArgumentsNameAttributesOfTheOp) {
  for (const OpDef &one : allOps())
    for (auto args : {one.inputs(), one.outputs()})
      for (const ArgDef &arg : args) {
        int sources =
            (arg.type() != DType::Invalid) + !arg.typeAttr().empty() + !arg.typeListAttr().empty();
        EXPECT_EQ(sources, 1) << one.name() << ": " << arg.name();
        EXPECT_TRUE(arg.numberAttr().empty() || arg.typeListAttr().empty()) << one.name();
        if (!arg.typeAttr().empty())
          expectAttr(one, arg.typeAttr(), "type");
        if (!arg.numberAttr().empty())
          expectAttr(one, arg.numberAttr(), "int");
        if (!arg.typeListAttr().empty())
          expectAttr(one, arg.typeListAttr(), "list(type)");
      }
}

TEST(OpTable, NamesAreUniqueWithinAnOp) {
  for (const OpDef &one : allOps()) {
    Names attrs = names(one.attrs()), outputs = names(one.outputs());
    EXPECT_EQ(std::set(attrs.begin(), attrs.end()).size(), attrs.size()) << one.name();
    EXPECT_EQ(std::set(outputs.begin(), outputs.end()).size(), outputs.size()) << one.name();
  }
}

TEST(OpFacts, KindsOfControlFlow) {
  EXPECT_EQ(opKind("RefSwitch"), OpKind::Switch);
  EXPECT_EQ(opKind("StatelessWhile"), OpKind::While);
  EXPECT_EQ(opKind("AddV2"), OpKind::Plain);
  EXPECT_EQ(opKind("no such op"), OpKind::Plain);
  EXPECT_TRUE(isV1ControlFlow(opKind("LoopCond")));
  EXPECT_FALSE(isV1ControlFlow(opKind("PartitionedCall")));
  EXPECT_TRUE(isFunctional(opKind("StatelessCase")));
  EXPECT_FALSE(isFunctional(opKind("For")));
  EXPECT_EQ(op("If").facts().firstArgument, 1);
  EXPECT_EQ(op("For").facts().firstArgument, -1);
  EXPECT_TRUE(op("For").facts().hasRegionForm);
}

TEST(OpFacts, FunctionalOpsHaveTwins) {
  for (OpKind kind : {OpKind::Call, OpKind::If, OpKind::Case, OpKind::While}) {
    const OpDef &stateful = op(functionalOp(kind, true)),
                &stateless = op(functionalOp(kind, false));
    EXPECT_EQ(stateful.kind(), kind);
    EXPECT_EQ(stateless.kind(), kind);
    EXPECT_TRUE(stateful.isStateful());
    EXPECT_FALSE(stateless.isStateful());
  }
}

// A functional op's functions are its attributes of type func.
TEST(OpFacts, FunctionalOpsNameFunctions) {
  for (const OpDef &one : allOps())
    if (isFunctional(one.kind()) || one.kind() == OpKind::For) {
      EXPECT_TRUE(std::ranges::any_of(one.attrs(), [](const AttrDef &attr) {
        return attr.kind() == AttrKind::Func;
      })) << one.name();
      EXPECT_EQ(one.facts().firstArgument >= 0, one.kind() != OpKind::For) << one.name();
    }
}

TEST(OpFacts, DeclaredEffects) {
  OpEffects read = lookupEffects("ReadVariableOp"), put = lookupEffects("QueueEnqueueV2");
  EXPECT_EQ(read.handles.kind, Access::Read);
  EXPECT_EQ(read.handles.part, ResourceEnd::Whole);
  EXPECT_EQ(read.reach, OpEffects::Reach::Nothing);
  EXPECT_EQ(put.handles.kind, Access::Write);
  EXPECT_EQ(put.handles.part, ResourceEnd::In);
  OpEffects staged = lookupEffects("Unstage");
  EXPECT_EQ(staged.reach, OpEffects::Reach::Named);
  EXPECT_EQ(staged.reached.part, ResourceEnd::Out);
  EXPECT_EQ(lookupEffects("RandomUniform").reach, OpEffects::Reach::Own);
  EXPECT_EQ(lookupEffects("ReadFile").reached.kind, Access::Read);
  EXPECT_TRUE(lookupEffects("MapDataset").isDeferred);
}

TEST(OpFacts, EffectsFromSignatures) {
  EXPECT_EQ(lookupEffects("AddV2").handles.kind, Access::None);
  EXPECT_EQ(lookupEffects("AssignVariableOp").handles.kind, Access::Write);
  EXPECT_EQ(lookupEffects("AssignVariableOp").reach, OpEffects::Reach::Nothing);
  EXPECT_EQ(lookupEffects("PrintV2").reach, OpEffects::Reach::World);
  EXPECT_EQ(lookupEffects("VarHandleOp").reach, OpEffects::Reach::Nothing);
  EXPECT_EQ(lookupEffects("no such op").reach, OpEffects::Reach::World);
  EXPECT_EQ(lookupEffects("no such op").handles.kind, Access::Write);
}

TEST(OpFacts, Resources) {
  EXPECT_EQ(resourceFamily("VariableV2"), "reference variable");
  EXPECT_EQ(resourceFamily("Iterator"), "iterator");
  EXPECT_EQ(resourceFamily("MutexV2"), "mutex");
  EXPECT_EQ(resourceFamily("ReadVariableOp"), "");
  EXPECT_EQ(resourceFamily("no such op"), "");
}

TEST(OpFacts, RareProperties) {
  EXPECT_TRUE(isBlockingOp("QueueDequeueV2"));
  EXPECT_FALSE(isBlockingOp("QueueSizeV2"));
  EXPECT_TRUE(op("PyFunc").facts().runsPython);
  EXPECT_TRUE(op("PrintV2").facts().forgets);
  EXPECT_FALSE(op("AssignVariableOp").facts().forgets);
  EXPECT_TRUE(op("VariableShape").facts().readsVariables);
  EXPECT_TRUE(op("AssignVariableOp").facts().updatesVariables);
  EXPECT_TRUE(op("ResourceApplyAdam").facts().updatesVariables);
  EXPECT_FALSE(op("ReadVariableOp").facts().updatesVariables);
  EXPECT_TRUE(op("Assert").facts().checks);
  EXPECT_TRUE(op("Transpose").facts().movesElements);
  EXPECT_TRUE(op("ArgMax").facts().hasNoGradient);
  EXPECT_EQ(op("Size").facts().totality, Totality::Always);
  EXPECT_EQ(op("Mul").facts().totality, Totality::Broadcast);
  EXPECT_EQ(op("MatMul").facts().totality, Totality::Product);
  EXPECT_EQ(op("MatMul").facts().native, NativeForm::None);
  EXPECT_EQ(op("AddV2").elementwise(), op("Add").elementwise());
  EXPECT_EQ(op("AddV2").facts().native, NativeForm::Computes);
  EXPECT_EQ(op("Reshape").facts().native, NativeForm::Passes);
  EXPECT_TRUE(op("FloorDiv").facts().isNativeForScalars);
  EXPECT_EQ(op("CollectiveReduceV2").facts().cost, OpCost::AllReduce);
  EXPECT_EQ(op("Const").facts().cost, OpCost::Free);
  EXPECT_EQ(op("PlaceholderV2").kind(), OpKind::Placeholder);
  EXPECT_TRUE(op("IdentityN").hasNoCost());
  EXPECT_FALSE(op("_Send").hasNoCost());
  EXPECT_EQ(fusionRole("Conv3D"), FusionRole::Contraction);
  EXPECT_EQ(fusionRole("FusedBatchNormV3"), FusionRole::Step);
  EXPECT_EQ(fusionRole("LeakyRelu"), FusionRole::Activation);
  EXPECT_EQ(fusionRole("Neg"), FusionRole::None);
}

TEST(OpFacts, Images) {
  ImageFacts plain = op("Conv2D").facts().images,
             filter = op("Conv2DBackpropFilter").facts().images,
             input = op("Conv2DBackpropInput").facts().images, bias = op("BiasAdd").facts().images;
  EXPECT_TRUE(plain.takesImage(0));
  EXPECT_FALSE(plain.takesImage(1));
  EXPECT_EQ(plain.sizes, -1);
  EXPECT_TRUE(plain.returnsImage);
  EXPECT_TRUE(filter.takesImage(0) && !filter.takesImage(1) && filter.takesImage(2));
  EXPECT_FALSE(filter.returnsImage);
  EXPECT_EQ(input.sizes, 0);
  EXPECT_EQ(input.firstInput(), 2u);
  EXPECT_EQ(input.endOfInputs(), 3u);
  EXPECT_TRUE(bias.isOfAnyRank);
  EXPECT_FALSE(op("MatMul").facts().images);
}

TEST(OpFacts, Wants) {
  EXPECT_EQ(op("ReadFile").facts().want.kind, OpPermission::Read);
  EXPECT_EQ(op("ReadFile").facts().want.input, 0);
  EXPECT_EQ(op("MergeV2Checkpoints").facts().want.input, 1);
  EXPECT_EQ(op("PrintV2").permissionAttr(), "output_stream");
  EXPECT_EQ(op("PrintV2").does(), "prints");
  EXPECT_EQ(op("Timestamp").facts().want.kind, OpPermission::Clock);
  EXPECT_EQ(op("AddV2").facts().want.kind, OpPermission::Nothing);
}

TEST(OpFacts, Exchanges) {
  EXPECT_EQ(op("CollectiveReduce").facts().keys, ExchangeKeys::Attributes);
  EXPECT_EQ(op("CollectiveBcastRecvV2").facts().keys, ExchangeKeys::Inputs);
  EXPECT_TRUE(op("CollectiveBcastRecvV2").facts().receives);
  EXPECT_FALSE(op("CollectiveBcastSendV2").facts().receives);
  EXPECT_EQ(op("CollectiveReduceV3").facts().keys, ExchangeKeys::Communicator);
  EXPECT_EQ(op("_Send").facts().keys, ExchangeKeys::None);
}

TEST(OpFacts, RelationsBetweenOps) {
  EXPECT_EQ(op("Less").negation(), "GreaterEqual");
  EXPECT_EQ(op("Dequantize").undoes(), "QuantizeV2");
  EXPECT_EQ(op("ResourceGather").onTensor(), "GatherV2");
  EXPECT_EQ(op("AssignAddVariableOp").onTensor(), "AddV2");
  EXPECT_EQ(op("Prod").reduction(), "product");
  // Negation is an involution.
  for (const OpDef &one : allOps())
    if (!one.negation().empty()) {
      EXPECT_EQ(op(one.negation()).negation(), one.name());
    }
}

TEST(OpFacts, Operators) {
  EXPECT_EQ(operatorOp("-", 2), "Sub");
  EXPECT_EQ(operatorOp("-", 1), "Neg");
  EXPECT_EQ(operatorOp("**", 2), "Pow");
  EXPECT_EQ(operatorOp("!", 1), "LogicalNot");
  EXPECT_EQ(operatorOp("=", 2), "AssignVariableOp");
  EXPECT_EQ(operatorOp("<=>", 2), "");
}

TEST(OpFacts, UnknownOpsHaveDefaults) {
  EXPECT_EQ(opFacts("no such op").kind, OpKind::Plain);
  EXPECT_FALSE(opFacts("no such op").rounds);
  EXPECT_TRUE(opFacts("FakeQuantWithMinMaxArgs").rounds);
}

TEST(OpFacts, OwnOpsHaveRecords) {
  EXPECT_EQ(names(op("_FusedLstmGates").outputs()), (Names{"next_cell", "output"}));
  EXPECT_EQ(op("StatefulWhile").kind(), OpKind::While);
}

// The values of some attribute types can be compared by one number.
int64_t key(AttrKind kind, AttrConstant c) {
  return kind == AttrKind::Type ? static_cast<int64_t>(c.asType()) : c.asInt();
}

TEST(OpTable, DefaultsAreAllowedAndLongEnough) {
  for (const OpDef &one : allOps())
    for (const AttrDef &a : one.attrs()) {
      std::string where = std::string(one.name()) + "." + std::string(a.name());
      auto values = a.defaultValues(), allowed = a.allowedValues();
      EXPECT_TRUE(a.hasDefault() || values.empty()) << where;
      if (!a.hasDefault())
        continue;
      if (!a.isList())
        EXPECT_EQ(values.size(), 1u) << where;
      for (AttrConstant value : values) {
        auto isValue = [&](AttrConstant c) {
          return a.kind() == AttrKind::String ? c.asString() == value.asString()
                                              : key(a.kind(), c) == key(a.kind(), value);
        };
        EXPECT_TRUE(allowed.empty() || std::ranges::any_of(allowed, isValue)) << where;
      }
      if (a.minimum() && a.isList())
        EXPECT_GE(static_cast<int64_t>(values.size()), *a.minimum()) << where;
      if (a.minimum() && !a.isList())
        EXPECT_GE(values[0].asInt(), *a.minimum()) << where;
    }
}

// Shared inputs have the same names in the same order. The further inputs describe the memory
// layout of the shared ones, as bytes.
TEST(OpTable, AliasesHaveEqualInputs) {
  size_t count = 0;
  for (const OpDef &op : allOps()) {
    const OpDef *same = aliasedOp(op);
    if (!same)
      continue;
    ++count;
    EXPECT_EQ(op.isStateful(), same->isStateful()) << op.name();
    EXPECT_GE(op.outputs().size(), same->outputs().size()) << op.name();
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      const ArgDef &input = op.inputs()[i];
      if (input.type() == DType::UInt8)
        break;
      ASSERT_LT(i, same->inputs().size()) << op.name();
      if (same->inputs().size() > 1) {
        EXPECT_EQ(input.name(), same->inputs()[i].name()) << op.name();
      }
    }
  }
  EXPECT_GT(count, 100u);
  EXPECT_EQ(aliasedOp(op("_MklNativeConv2D")), &op("Conv2D"));
  EXPECT_EQ(aliasedOp(op("Conv2D")), nullptr);
}

} // namespace
