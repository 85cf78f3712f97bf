#include "treadle/pjrt/Executable.h"

#include "treadle/pjrt/Launch.h"
#include "treadle/tensor/Wire.h"

using namespace treadle;
using namespace treadle::pjrt;

namespace {

Expected<PJRT_LoadedExecutable *> load(PJRT_Client &client, std::string code, std::string options) {
  auto compiled = TREADLE_TRY(compile(client, std::move(code), std::move(options)));
  std::vector<PJRT_Device *> devices;
  for (int id : compiled->assignment.devices)
    devices.push_back(TREADLE_TRY(client.device(id)));
  return new PJRT_LoadedExecutable{std::move(compiled), &client, std::move(devices)};
}

Expected<void> compileProgram(PJRT_Client_Compile_Args &args) {
  std::string_view format(args.program->format, args.program->format_size);
  if (format != "mlir")
    return Unexpected(
        unimplemented("programs in the format '", format, "' aren't supported; expected 'mlir'"));
  args.executable = TREADLE_TRY(load(*args.client, {args.program->code, args.program->code_size},
                                     {args.compile_options, args.compile_options_size}));
  return {};
}

// --- properties --------------------------------------------------------------------------------

void destroy(PJRT_Executable_Destroy_Args &args) { delete args.executable; }

void destroyLoaded(PJRT_LoadedExecutable_Destroy_Args &args) { delete args.executable; }

void description(PJRT_LoadedExecutable_GetExecutable_Args &args) {
  args.executable = new PJRT_Executable{args.loaded_executable->compiled};
}

void programName(PJRT_Executable_Name_Args &args) {
  returnText(args.executable->compiled->program.name, args.executable_name,
             args.executable_name_size);
}

void replicas(PJRT_Executable_NumReplicas_Args &args) {
  args.num_replicas = static_cast<size_t>(args.executable->compiled->assignment.replicas);
}

void partitions(PJRT_Executable_NumPartitions_Args &args) {
  args.num_partitions = static_cast<size_t>(args.executable->compiled->assignment.partitions);
}

void numOutputs(PJRT_Executable_NumOutputs_Args &args) {
  args.num_outputs = args.executable->compiled->program.results.size();
}

void codeSize(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args &args) {
  args.size_in_bytes = -1; // code is generated on demand
}

void outputTypes(PJRT_Executable_OutputElementTypes_Args &args) {
  auto &types = args.executable->compiled->types;
  args.output_types = const_cast<PJRT_Buffer_Type *>(types.data());
  args.num_output_types = types.size();
}

void outputDimensions(PJRT_Executable_OutputDimensions_Args &args) {
  const CompiledProgram &compiled = *args.executable->compiled;
  args.num_outputs = compiled.ranks.size();
  args.dims = compiled.dims.data();
  args.dim_sizes = compiled.ranks.data();
}

void outputMemories(PJRT_Executable_OutputMemoryKinds_Args &args) {
  const CompiledProgram &compiled = *args.executable->compiled;
  args.num_outputs = compiled.memoryKinds.size();
  args.memory_kinds = compiled.memoryKinds.data();
  args.memory_kind_sizes = compiled.memoryKindSizes.data();
}

void fingerprint(PJRT_Executable_Fingerprint_Args &args) {
  returnText(args.executable->compiled->fingerprint, args.executable_fingerprint,
             args.executable_fingerprint_size);
}

void loadedFingerprint(PJRT_LoadedExecutable_Fingerprint_Args &args) {
  returnText(args.executable->compiled->fingerprint, args.executable_fingerprint,
             args.executable_fingerprint_size);
}

void costs(PJRT_Executable_GetCostAnalysis_Args &args) {
  args.num_properties = 0;
  args.properties = nullptr;
}

Expected<void> memoryStatistics(PJRT_Executable_GetCompiledMemoryStats_Args &args) {
  const ImportedProgram &program = args.executable->compiled->program;
  auto bytes = [](const auto &arrays) {
    int64_t sum = 0;
    for (const auto &array : arrays)
      sum +=
          countElements(array.shardDims).value_or(0) * static_cast<int64_t>(dtypeSize(array.dtype));
    return sum;
  };
  args.generated_code_size_in_bytes = 0;
  args.argument_size_in_bytes = bytes(program.arguments);
  args.output_size_in_bytes = bytes(program.results);
  args.alias_size_in_bytes = args.temp_size_in_bytes = 0;
  if (!hasField(args, args.host_temp_size_in_bytes))
    return {};
  args.host_generated_code_size_in_bytes = args.host_argument_size_in_bytes = 0;
  args.host_output_size_in_bytes = args.host_alias_size_in_bytes = 0;
  args.host_temp_size_in_bytes = 0;
  return {};
}

/// Returns the program as it was given, or the text with its shardings.
void program(PJRT_Executable_OptimizedProgram_Args &args) {
  const std::string &code = args.executable->compiled->description;
  returnText("mlir", args.program->format, args.program->format_size);
  if (args.program->code && args.program->code_size >= code.size())
    std::memcpy(args.program->code, code.data(), code.size());
  args.program->code_size = code.size();
}

void addressableDevices(PJRT_LoadedExecutable_AddressableDevices_Args &args) {
  args.addressable_devices = args.executable->devices.data();
  args.num_addressable_devices = args.executable->devices.size();
}

void deleteLoaded(PJRT_LoadedExecutable_Delete_Args &args) { args.executable->isDeleted = true; }

void isDeleted(PJRT_LoadedExecutable_IsDeleted_Args &args) {
  args.is_deleted = args.executable->isDeleted;
}

} // namespace

// --- serialization -----------------------------------------------------------------------------

struct PJRT_DeviceAssignmentSerialized {
  std::string text;
};
struct PJRT_SerializedExecutable {
  std::string text;
};
struct PJRT_SerializedCompileOptions {
  std::string text;
};

namespace {

template <typename T> void removeText(T *text) { delete text; }

void deviceAssignment(PJRT_LoadedExecutable_GetDeviceAssignment_Args &args) {
  auto *made =
      new PJRT_DeviceAssignmentSerialized{args.executable->compiled->assignment.serialize()};
  args.serialized_device_assignment = made;
  args.serialized_device_assignment_deleter = removeText;
  returnText(made->text, args.serialized_bytes, args.serialized_bytes_size);
}

void compileOptions(PJRT_Executable_GetCompileOptions_Args &args) {
  auto *made = new PJRT_SerializedCompileOptions{args.executable->compiled->options};
  args.serialized_compile_options = made;
  args.serialized_compile_options_deleter = removeText;
  returnText(made->text, args.serialized_bytes, args.serialized_bytes_size);
}

/// A serialized executable is a message with two fields: program and options. It is recompiled when
/// loaded.
enum SerializedField : uint32_t { Code = 1, Options = 2 };

void serialize(PJRT_Executable_Serialize_Args &args) {
  auto *made = new PJRT_SerializedExecutable;
  putBytes(made->text, SerializedField::Code, args.executable->compiled->code);
  putBytes(made->text, SerializedField::Options, args.executable->compiled->options);
  args.serialized_executable = made;
  args.serialized_executable_deleter = removeText;
  returnText(made->text, args.serialized_bytes, args.serialized_bytes_size);
}

Expected<void> deserialize(PJRT_Executable_DeserializeAndLoad_Args &args) {
  std::string code, options;
  bool isGood = forEachField({args.serialized_executable, args.serialized_executable_size},
                             [&](const WireReader::Field &field) {
                               if (field.isBytes() && field.number == SerializedField::Code)
                                 code = field.bytes;
                               if (field.isBytes() && field.number == SerializedField::Options)
                                 options = field.bytes;
                               return true;
                             });
  if (!isGood)
    return Unexpected(invalidArgument("the serialized program is malformed"));
  if (hasField(args, args.overridden_serialized_compile_options_size) &&
      args.overridden_serialized_compile_options_size)
    options.assign(args.overridden_serialized_compile_options,
                   args.overridden_serialized_compile_options_size);
  args.loaded_executable = TREADLE_TRY(load(*args.client, std::move(code), std::move(options)));
  return {};
}

} // namespace

void pjrt::addExecutableFunctions(PJRT_Api &api) {
  TREADLE_PJRT_SET(api, PJRT_Client_Compile, compileProgram);
  TREADLE_PJRT_SET(api, PJRT_LoadedExecutable_Execute, pjrt::execute);
  TREADLE_PJRT_SET(api, PJRT_Executable_Destroy, destroy);
  TREADLE_PJRT_SET(api, PJRT_LoadedExecutable_Destroy, destroyLoaded);
  TREADLE_PJRT_SET(api, PJRT_LoadedExecutable_GetExecutable, description);
  TREADLE_PJRT_SET(api, PJRT_Executable_Name, programName);
  TREADLE_PJRT_SET(api, PJRT_Executable_NumReplicas, replicas);
  TREADLE_PJRT_SET(api, PJRT_Executable_NumPartitions, partitions);
  TREADLE_PJRT_SET(api, PJRT_Executable_NumOutputs, numOutputs);
  TREADLE_PJRT_SET(api, PJRT_Executable_SizeOfGeneratedCodeInBytes, codeSize);
  TREADLE_PJRT_SET(api, PJRT_Executable_OutputElementTypes, outputTypes);
  TREADLE_PJRT_SET(api, PJRT_Executable_OutputDimensions, outputDimensions);
  TREADLE_PJRT_SET(api, PJRT_Executable_OutputMemoryKinds, outputMemories);
  TREADLE_PJRT_SET(api, PJRT_Executable_Fingerprint, fingerprint);
  TREADLE_PJRT_SET(api, PJRT_LoadedExecutable_Fingerprint, loadedFingerprint);
  TREADLE_PJRT_SET(api, PJRT_Executable_GetCostAnalysis, costs);
  TREADLE_PJRT_SET(api, PJRT_Executable_GetCompiledMemoryStats, memoryStatistics);
  TREADLE_PJRT_SET(api, PJRT_Executable_OptimizedProgram, program);
  TREADLE_PJRT_SET(api, PJRT_LoadedExecutable_AddressableDevices, addressableDevices);
  TREADLE_PJRT_SET(api, PJRT_LoadedExecutable_Delete, deleteLoaded);
  TREADLE_PJRT_SET(api, PJRT_LoadedExecutable_IsDeleted, isDeleted);
  TREADLE_PJRT_SET(api, PJRT_LoadedExecutable_GetDeviceAssignment, deviceAssignment);
  TREADLE_PJRT_SET(api, PJRT_Executable_GetCompileOptions, compileOptions);
  TREADLE_PJRT_SET(api, PJRT_Executable_Serialize, serialize);
  TREADLE_PJRT_SET(api, PJRT_Executable_DeserializeAndLoad, deserialize);
}
