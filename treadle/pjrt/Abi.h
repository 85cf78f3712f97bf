// The part of PJRT's C interface that this folder uses. Made by generate.py: don't edit.
#pragma once

#include <cstddef>
#include <cstdint>

// NOLINTBEGIN

extern "C" {
struct PJRT_Buffer;
struct PJRT_Client;
struct PJRT_CopyToDeviceStream;
struct PJRT_Device;
struct PJRT_DeviceAssignmentSerialized;
struct PJRT_DeviceDescription;
struct PJRT_Error;
struct PJRT_Event;
struct PJRT_Executable;
struct PJRT_ExecuteContext;
struct PJRT_LoadedExecutable;
struct PJRT_Memory;
struct PJRT_SerializedCompileOptions;
struct PJRT_SerializedExecutable;
struct PJRT_TopologyDescription;
enum PJRT_Extension_Type {
  PJRT_Extension_Type_Gpu_Custom_Call = 0,
  PJRT_Extension_Type_Profiler,
  PJRT_Extension_Type_Custom_Partitioner,
  PJRT_Extension_Type_Stream,
  PJRT_Extension_Type_Layouts,
  PJRT_Extension_Type_FFI,
  PJRT_Extension_Type_MemoryDescriptions,
  PJRT_Extension_Type_Triton,
  PJRT_Extension_Type_RawBuffer,
  PJRT_Extension_Type_PhaseCompile,
  PJRT_Extension_Type_Example,
  PJRT_Extension_Type_Unknown,
  PJRT_Extension_Type_CrossHostTransfers,
  PJRT_Extension_Type_ExecutableMetadata,
  PJRT_Extension_Type_Callback,
  PJRT_Extension_Type_HostAllocator,
  PJRT_Extension_Type_TpuTopology,
  PJRT_Extension_Type_TpuExecutable,
  PJRT_Extension_Type_Megascale,
};
struct PJRT_Extension_Base {
  size_t struct_size;
  PJRT_Extension_Type type;
  struct PJRT_Extension_Base *next;
};
// What all other structs begin with.
struct PJRT_Struct {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
};
struct PJRT_Api_Version : PJRT_Struct {
  int major_version;
  int minor_version;
};
struct PJRT_Error_Destroy_Args : PJRT_Struct {
  PJRT_Error *error;
};
struct PJRT_Error_Message_Args : PJRT_Struct {
  const PJRT_Error *error;
  const char *message;
  size_t message_size;
};
enum PJRT_Error_Code {
  PJRT_Error_Code_OK = 0,
  PJRT_Error_Code_CANCELLED = 1,
  PJRT_Error_Code_UNKNOWN = 2,
  PJRT_Error_Code_INVALID_ARGUMENT = 3,
  PJRT_Error_Code_DEADLINE_EXCEEDED = 4,
  PJRT_Error_Code_NOT_FOUND = 5,
  PJRT_Error_Code_ALREADY_EXISTS = 6,
  PJRT_Error_Code_PERMISSION_DENIED = 7,
  PJRT_Error_Code_RESOURCE_EXHAUSTED = 8,
  PJRT_Error_Code_FAILED_PRECONDITION = 9,
  PJRT_Error_Code_ABORTED = 10,
  PJRT_Error_Code_OUT_OF_RANGE = 11,
  PJRT_Error_Code_UNIMPLEMENTED = 12,
  PJRT_Error_Code_INTERNAL = 13,
  PJRT_Error_Code_UNAVAILABLE = 14,
  PJRT_Error_Code_DATA_LOSS = 15,
  PJRT_Error_Code_UNAUTHENTICATED = 16
};
struct PJRT_Error_GetCode_Args : PJRT_Struct {
  const PJRT_Error *error;
  PJRT_Error_Code code;
};
typedef PJRT_Error *(*PJRT_CallbackError)(PJRT_Error_Code code, const char *message,
                                          size_t message_size);
enum PJRT_NamedValue_Type {
  PJRT_NamedValue_kString = 0,
  PJRT_NamedValue_kInt64,
  PJRT_NamedValue_kInt64List,
  PJRT_NamedValue_kFloat,
  PJRT_NamedValue_kBool,
};
struct PJRT_NamedValue : PJRT_Struct {
  const char *name;
  size_t name_size;
  PJRT_NamedValue_Type type;
  union {
    const char *string_value;
    int64_t int64_value;
    const int64_t *int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size;
};
struct PJRT_Plugin_Initialize_Args : PJRT_Struct {};
struct PJRT_Plugin_Attributes_Args : PJRT_Struct {
  const PJRT_NamedValue *attributes;
  size_t num_attributes;
};
struct PJRT_Event_Destroy_Args : PJRT_Struct {
  PJRT_Event *event;
};
struct PJRT_Event_IsReady_Args : PJRT_Struct {
  PJRT_Event *event;
  bool is_ready;
};
struct PJRT_Event_Error_Args : PJRT_Struct {
  PJRT_Event *event;
};
struct PJRT_Event_Await_Args : PJRT_Struct {
  PJRT_Event *event;
};
typedef void (*PJRT_Event_OnReadyCallback)(PJRT_Error *error, void *user_arg);
struct PJRT_Event_OnReady_Args : PJRT_Struct {
  PJRT_Event *event;
  PJRT_Event_OnReadyCallback callback;
  void *user_arg;
};
struct PJRT_Event_Create_Args : PJRT_Struct {
  PJRT_Event *event;
};
struct PJRT_Event_Set_Args : PJRT_Struct {
  PJRT_Event *event;
  PJRT_Error_Code error_code;
  const char *error_message;
  size_t error_message_size;
};
typedef void (*PJRT_KeyValueGetCallback_ValueDeleter)(char *value);
struct PJRT_KeyValueGetCallback_Args : PJRT_Struct {
  const char *key;
  size_t key_size;
  int timeout_in_ms;
  PJRT_CallbackError *callback_error;
  void *user_arg;
  char *value;
  size_t value_size;
  PJRT_KeyValueGetCallback_ValueDeleter value_deleter_callback;
};
typedef PJRT_Error *(*PJRT_KeyValueGetCallback)(PJRT_KeyValueGetCallback_Args *args);
typedef void (*PJRT_KeyValueTryGetCallback_ValueDeleter)(char *value);
struct PJRT_KeyValueTryGetCallback_Args : PJRT_Struct {
  const char *key;
  size_t key_size;
  PJRT_CallbackError *callback_error;
  void *user_arg;
  char *value;
  size_t value_size;
  PJRT_KeyValueTryGetCallback_ValueDeleter value_deleter_callback;
};
typedef PJRT_Error *(*PJRT_KeyValueTryGetCallback)(PJRT_KeyValueTryGetCallback_Args *args);
struct PJRT_KeyValuePutCallback_Args : PJRT_Struct {
  const char *key;
  size_t key_size;
  const char *value;
  size_t value_size;
  PJRT_CallbackError *callback_error;
  void *user_arg;
};
typedef PJRT_Error *(*PJRT_KeyValuePutCallback)(PJRT_KeyValuePutCallback_Args *args);
struct PJRT_Client_Create_Args : PJRT_Struct {
  const PJRT_NamedValue *create_options;
  size_t num_options;
  PJRT_KeyValueGetCallback kv_get_callback;
  void *kv_get_user_arg;
  PJRT_KeyValuePutCallback kv_put_callback;
  void *kv_put_user_arg;
  PJRT_Client *client;
  PJRT_KeyValueTryGetCallback kv_try_get_callback;
  void *kv_try_get_user_arg;
};
struct PJRT_Client_Destroy_Args : PJRT_Struct {
  PJRT_Client *client;
};
struct PJRT_Client_PlatformName_Args : PJRT_Struct {
  PJRT_Client *client;
  const char *platform_name;
  size_t platform_name_size;
};
struct PJRT_Client_ProcessIndex_Args : PJRT_Struct {
  PJRT_Client *client;
  int process_index;
};
struct PJRT_Client_PlatformVersion_Args : PJRT_Struct {
  PJRT_Client *client;
  const char *platform_version;
  size_t platform_version_size;
};
struct PJRT_Client_TopologyDescription_Args : PJRT_Struct {
  PJRT_Client *client;
  PJRT_TopologyDescription *topology;
};
struct PJRT_Client_Devices_Args : PJRT_Struct {
  PJRT_Client *client;
  PJRT_Device *const *devices;
  size_t num_devices;
};
struct PJRT_Client_AddressableDevices_Args : PJRT_Struct {
  PJRT_Client *client;
  PJRT_Device *const *addressable_devices;
  size_t num_addressable_devices;
};
struct PJRT_Client_LookupDevice_Args : PJRT_Struct {
  PJRT_Client *client;
  int id;
  PJRT_Device *device;
};
struct PJRT_Client_LookupAddressableDevice_Args : PJRT_Struct {
  PJRT_Client *client;
  int local_hardware_id;
  PJRT_Device *addressable_device;
};
struct PJRT_Client_AddressableMemories_Args : PJRT_Struct {
  PJRT_Client *client;
  PJRT_Memory *const *addressable_memories;
  size_t num_addressable_memories;
};
struct PJRT_Program : PJRT_Struct {
  char *code;
  size_t code_size;
  const char *format;
  size_t format_size;
};
struct PJRT_Client_Compile_Args : PJRT_Struct {
  PJRT_Client *client;
  const PJRT_Program *program;
  const char *compile_options;
  size_t compile_options_size;
  PJRT_LoadedExecutable *executable;
};
struct PJRT_Client_DefaultDeviceAssignment_Args : PJRT_Struct {
  PJRT_Client *client;
  int num_replicas;
  int num_partitions;
  size_t default_assignment_size;
  int *default_assignment;
};
enum PJRT_Buffer_Type {
  PJRT_Buffer_Type_INVALID,
  PJRT_Buffer_Type_PRED,
  PJRT_Buffer_Type_S8,
  PJRT_Buffer_Type_S16,
  PJRT_Buffer_Type_S32,
  PJRT_Buffer_Type_S64,
  PJRT_Buffer_Type_U8,
  PJRT_Buffer_Type_U16,
  PJRT_Buffer_Type_U32,
  PJRT_Buffer_Type_U64,
  PJRT_Buffer_Type_F16,
  PJRT_Buffer_Type_F32,
  PJRT_Buffer_Type_F64,
  PJRT_Buffer_Type_BF16,
  PJRT_Buffer_Type_C64,
  PJRT_Buffer_Type_C128,
  PJRT_Buffer_Type_F8E5M2,
  PJRT_Buffer_Type_F8E4M3FN,
  PJRT_Buffer_Type_F8E4M3B11FNUZ,
  PJRT_Buffer_Type_F8E5M2FNUZ,
  PJRT_Buffer_Type_F8E4M3FNUZ,
  PJRT_Buffer_Type_S4,
  PJRT_Buffer_Type_U4,
  PJRT_Buffer_Type_TOKEN,
  PJRT_Buffer_Type_S2,
  PJRT_Buffer_Type_U2,
  PJRT_Buffer_Type_F8E4M3,
  PJRT_Buffer_Type_F8E3M4,
  PJRT_Buffer_Type_F8E8M0FNU,
  PJRT_Buffer_Type_F4E2M1FN,
};
enum PJRT_HostBufferSemantics {
  PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
  PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes,
  PJRT_HostBufferSemantics_kImmutableZeroCopy,
  PJRT_HostBufferSemantics_kMutableZeroCopy,
};
enum PJRT_Buffer_MemoryLayout_Type {
  PJRT_Buffer_MemoryLayout_Type_Tiled = 0,
  PJRT_Buffer_MemoryLayout_Type_Strides,
};
struct PJRT_Buffer_MemoryLayout_Tiled : PJRT_Struct {
  const int64_t *minor_to_major;
  size_t minor_to_major_size;
  const int64_t *tile_dims;
  const size_t *tile_dim_sizes;
  size_t num_tiles;
};
struct PJRT_Buffer_MemoryLayout_Strides : PJRT_Struct {
  const int64_t *byte_strides;
  size_t num_byte_strides;
};
struct PJRT_Buffer_MemoryLayout : PJRT_Struct {
  union {
    PJRT_Buffer_MemoryLayout_Tiled tiled;
    PJRT_Buffer_MemoryLayout_Strides strides;
  };
  PJRT_Buffer_MemoryLayout_Type type;
};
struct PJRT_Client_CreateUninitializedBuffer_Args : PJRT_Struct {
  PJRT_Client *client;
  const int64_t *shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout *shape_layout;
  PJRT_Device *device;
  PJRT_Memory *memory;
  PJRT_Buffer *buffer;
};
struct PJRT_Client_CreateErrorBuffer_Args : PJRT_Struct {
  PJRT_Client *client;
  PJRT_Error_Code error_code;
  const char *error_message;
  size_t error_message_size;
  const int64_t *shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout *shape_layout;
  PJRT_Memory *memory;
  PJRT_Buffer *buffer;
};
struct PJRT_Client_BufferFromHostBuffer_Args : PJRT_Struct {
  PJRT_Client *client;
  const void *data;
  PJRT_Buffer_Type type;
  const int64_t *dims;
  size_t num_dims;
  const int64_t *byte_strides;
  size_t num_byte_strides;
  PJRT_HostBufferSemantics host_buffer_semantics;
  PJRT_Device *device;
  PJRT_Memory *memory;
  PJRT_Buffer_MemoryLayout *device_layout;
  PJRT_Event *done_with_host_buffer;
  PJRT_Buffer *buffer;
};
struct PJRT_Client_CreateViewOfDeviceBuffer_Args : PJRT_Struct {
  PJRT_Client *client;
  void *device_buffer_ptr;
  const int64_t *dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
  PJRT_Buffer_MemoryLayout *layout;
  PJRT_Device *device;
  void (*on_delete_callback)(void *device_buffer_ptr, void *user_arg);
  void *on_delete_callback_arg;
  intptr_t stream;
  PJRT_Buffer *buffer;
  PJRT_Memory *memory;
};
struct PJRT_DeviceDescription_Id_Args : PJRT_Struct {
  PJRT_DeviceDescription *device_description;
  int id;
};
struct PJRT_DeviceDescription_ProcessIndex_Args : PJRT_Struct {
  PJRT_DeviceDescription *device_description;
  int process_index;
};
struct PJRT_DeviceDescription_Attributes_Args : PJRT_Struct {
  PJRT_DeviceDescription *device_description;
  size_t num_attributes;
  const PJRT_NamedValue *attributes;
};
struct PJRT_DeviceDescription_Kind_Args : PJRT_Struct {
  PJRT_DeviceDescription *device_description;
  const char *device_kind;
  size_t device_kind_size;
};
struct PJRT_DeviceDescription_DebugString_Args : PJRT_Struct {
  PJRT_DeviceDescription *device_description;
  const char *debug_string;
  size_t debug_string_size;
};
struct PJRT_DeviceDescription_ToString_Args : PJRT_Struct {
  PJRT_DeviceDescription *device_description;
  const char *to_string;
  size_t to_string_size;
};
struct PJRT_Device_GetDescription_Args : PJRT_Struct {
  PJRT_Device *device;
  PJRT_DeviceDescription *device_description;
};
struct PJRT_Device_IsAddressable_Args : PJRT_Struct {
  PJRT_Device *device;
  bool is_addressable;
};
struct PJRT_Device_LocalHardwareId_Args : PJRT_Struct {
  PJRT_Device *device;
  int local_hardware_id;
};
struct PJRT_Device_AddressableMemories_Args : PJRT_Struct {
  PJRT_Device *device;
  PJRT_Memory *const *memories;
  size_t num_memories;
};
struct PJRT_Device_DefaultMemory_Args : PJRT_Struct {
  PJRT_Device *device;
  PJRT_Memory *memory;
};
struct PJRT_Memory_Id_Args : PJRT_Struct {
  PJRT_Memory *memory;
  int id;
};
struct PJRT_Memory_Kind_Args : PJRT_Struct {
  PJRT_Memory *memory;
  const char *kind;
  size_t kind_size;
};
struct PJRT_Memory_Kind_Id_Args : PJRT_Struct {
  PJRT_Memory *memory;
  int kind_id;
};
struct PJRT_Memory_DebugString_Args : PJRT_Struct {
  PJRT_Memory *memory;
  const char *debug_string;
  size_t debug_string_size;
};
struct PJRT_Memory_ToString_Args : PJRT_Struct {
  PJRT_Memory *memory;
  const char *to_string;
  size_t to_string_size;
};
struct PJRT_Memory_AddressableByDevices_Args : PJRT_Struct {
  PJRT_Memory *memory;
  PJRT_Device *const *devices;
  size_t num_devices;
};
struct PJRT_Executable_Destroy_Args : PJRT_Struct {
  PJRT_Executable *executable;
};
struct PJRT_LoadedExecutable_Destroy_Args : PJRT_Struct {
  PJRT_LoadedExecutable *executable;
};
struct PJRT_LoadedExecutable_GetExecutable_Args : PJRT_Struct {
  PJRT_LoadedExecutable *loaded_executable;
  PJRT_Executable *executable;
};
struct PJRT_LoadedExecutable_GetDeviceAssignment_Args : PJRT_Struct {
  PJRT_LoadedExecutable *executable;
  const char *serialized_bytes;
  size_t serialized_bytes_size;
  PJRT_DeviceAssignmentSerialized *serialized_device_assignment;
  void (*serialized_device_assignment_deleter)(PJRT_DeviceAssignmentSerialized *da);
};
struct PJRT_Executable_Name_Args : PJRT_Struct {
  PJRT_Executable *executable;
  const char *executable_name;
  size_t executable_name_size;
};
struct PJRT_Executable_NumReplicas_Args : PJRT_Struct {
  PJRT_Executable *executable;
  size_t num_replicas;
};
struct PJRT_Executable_NumPartitions_Args : PJRT_Struct {
  PJRT_Executable *executable;
  size_t num_partitions;
};
struct PJRT_LoadedExecutable_AddressableDevices_Args : PJRT_Struct {
  PJRT_LoadedExecutable *executable;
  PJRT_Device *const *addressable_devices;
  size_t num_addressable_devices;
};
struct PJRT_Executable_OptimizedProgram_Args : PJRT_Struct {
  PJRT_Executable *executable;
  PJRT_Program *program;
};
struct PJRT_LoadedExecutable_Delete_Args : PJRT_Struct {
  PJRT_LoadedExecutable *executable;
};
struct PJRT_LoadedExecutable_IsDeleted_Args : PJRT_Struct {
  PJRT_LoadedExecutable *executable;
  bool is_deleted;
};
struct PJRT_Chunk {
  void *data;
  size_t size;
  void (*deleter)(void *data, void *deleter_arg);
  void *deleter_arg;
};
typedef PJRT_Error *(*PJRT_SendCallback)(PJRT_Chunk *chunk, PJRT_CallbackError *callback_error,
                                         size_t total_size_in_bytes, bool done, void *user_arg);
typedef void (*PJRT_RecvCallback)(PJRT_CopyToDeviceStream *stream, void *user_arg);
struct PJRT_SendCallbackInfo {
  int64_t channel_id;
  void *user_arg;
  PJRT_SendCallback send_callback;
};
struct PJRT_RecvCallbackInfo {
  int64_t channel_id;
  void *user_arg;
  PJRT_RecvCallback recv_callback;
};
struct PJRT_ExecuteOptions : PJRT_Struct {
  PJRT_SendCallbackInfo **send_callbacks;
  PJRT_RecvCallbackInfo **recv_callbacks;
  size_t num_send_ops;
  size_t num_recv_ops;
  int launch_id;
  const int64_t *non_donatable_input_indices;
  size_t num_non_donatable_input_indices;
  PJRT_ExecuteContext *context;
  const char *call_location;
  size_t num_tasks;
  int *task_ids;
  int64_t *incarnation_ids;
};
struct PJRT_LoadedExecutable_Execute_Args : PJRT_Struct {
  PJRT_LoadedExecutable *executable;
  PJRT_ExecuteOptions *options;
  PJRT_Buffer *const *const *argument_lists;
  size_t num_devices;
  size_t num_args;
  PJRT_Buffer **const *output_lists;
  PJRT_Event **device_complete_events;
  PJRT_Device *execute_device;
};
struct PJRT_Executable_NumOutputs_Args : PJRT_Struct {
  PJRT_Executable *executable;
  size_t num_outputs;
};
struct PJRT_Executable_SizeOfGeneratedCodeInBytes_Args : PJRT_Struct {
  PJRT_Executable *executable;
  int64_t size_in_bytes;
};
struct PJRT_Executable_Fingerprint_Args : PJRT_Struct {
  PJRT_Executable *executable;
  const char *executable_fingerprint;
  size_t executable_fingerprint_size;
};
struct PJRT_Executable_GetCostAnalysis_Args : PJRT_Struct {
  PJRT_Executable *executable;
  size_t num_properties;
  const PJRT_NamedValue *properties;
};
struct PJRT_Executable_GetCompiledMemoryStats_Args : PJRT_Struct {
  PJRT_Executable *executable;
  int64_t generated_code_size_in_bytes;
  int64_t argument_size_in_bytes;
  int64_t output_size_in_bytes;
  int64_t alias_size_in_bytes;
  int64_t temp_size_in_bytes;
  int64_t host_generated_code_size_in_bytes;
  int64_t host_argument_size_in_bytes;
  int64_t host_output_size_in_bytes;
  int64_t host_alias_size_in_bytes;
  int64_t host_temp_size_in_bytes;
  int64_t peak_memory_in_bytes;
  int64_t total_size_in_bytes;
};
struct PJRT_Executable_OutputElementTypes_Args : PJRT_Struct {
  PJRT_Executable *executable;
  PJRT_Buffer_Type *output_types;
  size_t num_output_types;
};
struct PJRT_Executable_OutputDimensions_Args : PJRT_Struct {
  PJRT_Executable *executable;
  size_t num_outputs;
  const int64_t *dims;
  const size_t *dim_sizes;
};
struct PJRT_Executable_OutputMemoryKinds_Args : PJRT_Struct {
  PJRT_Executable *executable;
  size_t num_outputs;
  const char *const *memory_kinds;
  const size_t *memory_kind_sizes;
};
struct PJRT_Executable_Serialize_Args : PJRT_Struct {
  const PJRT_Executable *executable;
  const char *serialized_bytes;
  size_t serialized_bytes_size;
  PJRT_SerializedExecutable *serialized_executable;
  void (*serialized_executable_deleter)(PJRT_SerializedExecutable *exec);
};
struct PJRT_Executable_GetCompileOptions_Args : PJRT_Struct {
  PJRT_Executable *executable;
  const char *serialized_bytes;
  size_t serialized_bytes_size;
  PJRT_SerializedCompileOptions *serialized_compile_options;
  void (*serialized_compile_options_deleter)(PJRT_SerializedCompileOptions *options);
};
struct PJRT_Executable_DeserializeAndLoad_Args : PJRT_Struct {
  PJRT_Client *client;
  const char *serialized_executable;
  size_t serialized_executable_size;
  PJRT_LoadedExecutable *loaded_executable;
  const char *overridden_serialized_compile_options;
  size_t overridden_serialized_compile_options_size;
};
struct PJRT_LoadedExecutable_Fingerprint_Args : PJRT_Struct {
  PJRT_LoadedExecutable *executable;
  const char *executable_fingerprint;
  size_t executable_fingerprint_size;
};
struct PJRT_Buffer_Destroy_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
};
struct PJRT_Buffer_ElementType_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
  PJRT_Buffer_Type type;
};
struct PJRT_Buffer_Dimensions_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
  const int64_t *dims;
  size_t num_dims;
};
struct PJRT_Buffer_UnpaddedDimensions_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
  const int64_t *unpadded_dims;
  size_t num_dims;
};
struct PJRT_Buffer_DynamicDimensionIndices_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
  const size_t *dynamic_dim_indices;
  size_t num_dynamic_dims;
};
struct PJRT_Buffer_GetMemoryLayout_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
  PJRT_Buffer_MemoryLayout layout;
};
struct PJRT_Buffer_ToHostBuffer_Args : PJRT_Struct {
  PJRT_Buffer *src;
  PJRT_Buffer_MemoryLayout *host_layout;
  void *dst;
  size_t dst_size;
  PJRT_Event *event;
};
struct PJRT_Buffer_OnDeviceSizeInBytes_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
  size_t on_device_size_in_bytes;
};
struct PJRT_Buffer_Delete_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
};
struct PJRT_Buffer_IsDeleted_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
  bool is_deleted;
};
struct PJRT_Buffer_CopyRawToHost_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
  void *dst;
  int64_t offset;
  int64_t transfer_size;
  PJRT_Event *event;
};
struct PJRT_Buffer_CopyToDevice_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
  PJRT_Device *dst_device;
  PJRT_Buffer *dst_buffer;
};
struct PJRT_Buffer_CopyToMemory_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
  PJRT_Memory *dst_memory;
  PJRT_Buffer *dst_buffer;
};
struct PJRT_Buffer_IsOnCpu_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
  bool is_on_cpu;
};
struct PJRT_Buffer_Device_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
  PJRT_Device *device;
};
struct PJRT_Buffer_Memory_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
  PJRT_Memory *memory;
};
struct PJRT_Buffer_ReadyEvent_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
  PJRT_Event *event;
};
struct PJRT_Buffer_UnsafePointer_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
  uintptr_t buffer_pointer;
};
struct PJRT_Buffer_IncreaseExternalReferenceCount_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
};
struct PJRT_Buffer_DecreaseExternalReferenceCount_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
};
struct PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args : PJRT_Struct {
  PJRT_Buffer *buffer;
  void *device_memory_ptr;
};
struct PJRT_TopologyDescription_PlatformVersion_Args : PJRT_Struct {
  PJRT_TopologyDescription *topology;
  const char *platform_version;
  size_t platform_version_size;
};
struct PJRT_TopologyDescription_PlatformName_Args : PJRT_Struct {
  const PJRT_TopologyDescription *topology;
  const char *platform_name;
  size_t platform_name_size;
};
struct PJRT_TopologyDescription_GetDeviceDescriptions_Args : PJRT_Struct {
  const PJRT_TopologyDescription *topology;
  PJRT_DeviceDescription *const *descriptions;
  size_t num_descriptions;
};
struct PJRT_TopologyDescription_Attributes_Args : PJRT_Struct {
  PJRT_TopologyDescription *topology;
  const PJRT_NamedValue *attributes;
  size_t num_attributes;
};
using Missing = PJRT_Error *(*)(void *);
struct PJRT_Api : PJRT_Struct {
  PJRT_Api_Version pjrt_api_version;
  void (*PJRT_Error_Destroy)(PJRT_Error_Destroy_Args *);
  void (*PJRT_Error_Message)(PJRT_Error_Message_Args *);
  PJRT_Error *(*PJRT_Error_GetCode)(PJRT_Error_GetCode_Args *);
  PJRT_Error *(*PJRT_Plugin_Initialize)(PJRT_Plugin_Initialize_Args *);
  PJRT_Error *(*PJRT_Plugin_Attributes)(PJRT_Plugin_Attributes_Args *);
  PJRT_Error *(*PJRT_Event_Destroy)(PJRT_Event_Destroy_Args *);
  PJRT_Error *(*PJRT_Event_IsReady)(PJRT_Event_IsReady_Args *);
  PJRT_Error *(*PJRT_Event_Error)(PJRT_Event_Error_Args *);
  PJRT_Error *(*PJRT_Event_Await)(PJRT_Event_Await_Args *);
  PJRT_Error *(*PJRT_Event_OnReady)(PJRT_Event_OnReady_Args *);
  PJRT_Error *(*PJRT_Client_Create)(PJRT_Client_Create_Args *);
  PJRT_Error *(*PJRT_Client_Destroy)(PJRT_Client_Destroy_Args *);
  PJRT_Error *(*PJRT_Client_PlatformName)(PJRT_Client_PlatformName_Args *);
  PJRT_Error *(*PJRT_Client_ProcessIndex)(PJRT_Client_ProcessIndex_Args *);
  PJRT_Error *(*PJRT_Client_PlatformVersion)(PJRT_Client_PlatformVersion_Args *);
  PJRT_Error *(*PJRT_Client_Devices)(PJRT_Client_Devices_Args *);
  PJRT_Error *(*PJRT_Client_AddressableDevices)(PJRT_Client_AddressableDevices_Args *);
  PJRT_Error *(*PJRT_Client_LookupDevice)(PJRT_Client_LookupDevice_Args *);
  PJRT_Error *(*PJRT_Client_LookupAddressableDevice)(PJRT_Client_LookupAddressableDevice_Args *);
  PJRT_Error *(*PJRT_Client_AddressableMemories)(PJRT_Client_AddressableMemories_Args *);
  PJRT_Error *(*PJRT_Client_Compile)(PJRT_Client_Compile_Args *);
  PJRT_Error *(*PJRT_Client_DefaultDeviceAssignment)(PJRT_Client_DefaultDeviceAssignment_Args *);
  PJRT_Error *(*PJRT_Client_BufferFromHostBuffer)(PJRT_Client_BufferFromHostBuffer_Args *);
  PJRT_Error *(*PJRT_DeviceDescription_Id)(PJRT_DeviceDescription_Id_Args *);
  PJRT_Error *(*PJRT_DeviceDescription_ProcessIndex)(PJRT_DeviceDescription_ProcessIndex_Args *);
  PJRT_Error *(*PJRT_DeviceDescription_Attributes)(PJRT_DeviceDescription_Attributes_Args *);
  PJRT_Error *(*PJRT_DeviceDescription_Kind)(PJRT_DeviceDescription_Kind_Args *);
  PJRT_Error *(*PJRT_DeviceDescription_DebugString)(PJRT_DeviceDescription_DebugString_Args *);
  PJRT_Error *(*PJRT_DeviceDescription_ToString)(PJRT_DeviceDescription_ToString_Args *);
  PJRT_Error *(*PJRT_Device_GetDescription)(PJRT_Device_GetDescription_Args *);
  PJRT_Error *(*PJRT_Device_IsAddressable)(PJRT_Device_IsAddressable_Args *);
  PJRT_Error *(*PJRT_Device_LocalHardwareId)(PJRT_Device_LocalHardwareId_Args *);
  PJRT_Error *(*PJRT_Device_AddressableMemories)(PJRT_Device_AddressableMemories_Args *);
  PJRT_Error *(*PJRT_Device_DefaultMemory)(PJRT_Device_DefaultMemory_Args *);
  Missing PJRT_Device_MemoryStats;
  PJRT_Error *(*PJRT_Memory_Id)(PJRT_Memory_Id_Args *);
  PJRT_Error *(*PJRT_Memory_Kind)(PJRT_Memory_Kind_Args *);
  PJRT_Error *(*PJRT_Memory_DebugString)(PJRT_Memory_DebugString_Args *);
  PJRT_Error *(*PJRT_Memory_ToString)(PJRT_Memory_ToString_Args *);
  PJRT_Error *(*PJRT_Memory_AddressableByDevices)(PJRT_Memory_AddressableByDevices_Args *);
  PJRT_Error *(*PJRT_Executable_Destroy)(PJRT_Executable_Destroy_Args *);
  PJRT_Error *(*PJRT_Executable_Name)(PJRT_Executable_Name_Args *);
  PJRT_Error *(*PJRT_Executable_NumReplicas)(PJRT_Executable_NumReplicas_Args *);
  PJRT_Error *(*PJRT_Executable_NumPartitions)(PJRT_Executable_NumPartitions_Args *);
  PJRT_Error *(*PJRT_Executable_NumOutputs)(PJRT_Executable_NumOutputs_Args *);
  PJRT_Error *(*PJRT_Executable_SizeOfGeneratedCodeInBytes)(
      PJRT_Executable_SizeOfGeneratedCodeInBytes_Args *);
  PJRT_Error *(*PJRT_Executable_GetCostAnalysis)(PJRT_Executable_GetCostAnalysis_Args *);
  PJRT_Error *(*PJRT_Executable_OutputMemoryKinds)(PJRT_Executable_OutputMemoryKinds_Args *);
  PJRT_Error *(*PJRT_Executable_OptimizedProgram)(PJRT_Executable_OptimizedProgram_Args *);
  PJRT_Error *(*PJRT_Executable_Serialize)(PJRT_Executable_Serialize_Args *);
  PJRT_Error *(*PJRT_LoadedExecutable_Destroy)(PJRT_LoadedExecutable_Destroy_Args *);
  PJRT_Error *(*PJRT_LoadedExecutable_GetExecutable)(PJRT_LoadedExecutable_GetExecutable_Args *);
  PJRT_Error *(*PJRT_LoadedExecutable_AddressableDevices)(
      PJRT_LoadedExecutable_AddressableDevices_Args *);
  PJRT_Error *(*PJRT_LoadedExecutable_Delete)(PJRT_LoadedExecutable_Delete_Args *);
  PJRT_Error *(*PJRT_LoadedExecutable_IsDeleted)(PJRT_LoadedExecutable_IsDeleted_Args *);
  PJRT_Error *(*PJRT_LoadedExecutable_Execute)(PJRT_LoadedExecutable_Execute_Args *);
  PJRT_Error *(*PJRT_Executable_DeserializeAndLoad)(PJRT_Executable_DeserializeAndLoad_Args *);
  PJRT_Error *(*PJRT_LoadedExecutable_Fingerprint)(PJRT_LoadedExecutable_Fingerprint_Args *);
  PJRT_Error *(*PJRT_Buffer_Destroy)(PJRT_Buffer_Destroy_Args *);
  PJRT_Error *(*PJRT_Buffer_ElementType)(PJRT_Buffer_ElementType_Args *);
  PJRT_Error *(*PJRT_Buffer_Dimensions)(PJRT_Buffer_Dimensions_Args *);
  PJRT_Error *(*PJRT_Buffer_UnpaddedDimensions)(PJRT_Buffer_UnpaddedDimensions_Args *);
  PJRT_Error *(*PJRT_Buffer_DynamicDimensionIndices)(PJRT_Buffer_DynamicDimensionIndices_Args *);
  PJRT_Error *(*PJRT_Buffer_GetMemoryLayout)(PJRT_Buffer_GetMemoryLayout_Args *);
  PJRT_Error *(*PJRT_Buffer_OnDeviceSizeInBytes)(PJRT_Buffer_OnDeviceSizeInBytes_Args *);
  PJRT_Error *(*PJRT_Buffer_Device)(PJRT_Buffer_Device_Args *);
  PJRT_Error *(*PJRT_Buffer_Memory)(PJRT_Buffer_Memory_Args *);
  PJRT_Error *(*PJRT_Buffer_Delete)(PJRT_Buffer_Delete_Args *);
  PJRT_Error *(*PJRT_Buffer_IsDeleted)(PJRT_Buffer_IsDeleted_Args *);
  PJRT_Error *(*PJRT_Buffer_CopyToDevice)(PJRT_Buffer_CopyToDevice_Args *);
  PJRT_Error *(*PJRT_Buffer_ToHostBuffer)(PJRT_Buffer_ToHostBuffer_Args *);
  PJRT_Error *(*PJRT_Buffer_IsOnCpu)(PJRT_Buffer_IsOnCpu_Args *);
  PJRT_Error *(*PJRT_Buffer_ReadyEvent)(PJRT_Buffer_ReadyEvent_Args *);
  PJRT_Error *(*PJRT_Buffer_UnsafePointer)(PJRT_Buffer_UnsafePointer_Args *);
  PJRT_Error *(*PJRT_Buffer_IncreaseExternalReferenceCount)(
      PJRT_Buffer_IncreaseExternalReferenceCount_Args *);
  PJRT_Error *(*PJRT_Buffer_DecreaseExternalReferenceCount)(
      PJRT_Buffer_DecreaseExternalReferenceCount_Args *);
  PJRT_Error *(*PJRT_Buffer_OpaqueDeviceMemoryDataPointer)(
      PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args *);
  Missing PJRT_CopyToDeviceStream_Destroy;
  Missing PJRT_CopyToDeviceStream_AddChunk;
  Missing PJRT_CopyToDeviceStream_TotalBytes;
  Missing PJRT_CopyToDeviceStream_GranuleSize;
  Missing PJRT_CopyToDeviceStream_CurrentBytes;
  Missing PJRT_TopologyDescription_Create;
  Missing PJRT_TopologyDescription_Destroy;
  PJRT_Error *(*PJRT_TopologyDescription_PlatformName)(
      PJRT_TopologyDescription_PlatformName_Args *);
  PJRT_Error *(*PJRT_TopologyDescription_PlatformVersion)(
      PJRT_TopologyDescription_PlatformVersion_Args *);
  PJRT_Error *(*PJRT_TopologyDescription_GetDeviceDescriptions)(
      PJRT_TopologyDescription_GetDeviceDescriptions_Args *);
  Missing PJRT_TopologyDescription_Serialize;
  PJRT_Error *(*PJRT_TopologyDescription_Attributes)(PJRT_TopologyDescription_Attributes_Args *);
  Missing PJRT_Compile;
  PJRT_Error *(*PJRT_Executable_OutputElementTypes)(PJRT_Executable_OutputElementTypes_Args *);
  PJRT_Error *(*PJRT_Executable_OutputDimensions)(PJRT_Executable_OutputDimensions_Args *);
  PJRT_Error *(*PJRT_Buffer_CopyToMemory)(PJRT_Buffer_CopyToMemory_Args *);
  PJRT_Error *(*PJRT_Client_CreateViewOfDeviceBuffer)(PJRT_Client_CreateViewOfDeviceBuffer_Args *);
  PJRT_Error *(*PJRT_Executable_Fingerprint)(PJRT_Executable_Fingerprint_Args *);
  PJRT_Error *(*PJRT_Client_TopologyDescription)(PJRT_Client_TopologyDescription_Args *);
  PJRT_Error *(*PJRT_Executable_GetCompiledMemoryStats)(
      PJRT_Executable_GetCompiledMemoryStats_Args *);
  PJRT_Error *(*PJRT_Memory_Kind_Id)(PJRT_Memory_Kind_Id_Args *);
  Missing PJRT_ExecuteContext_Create;
  Missing PJRT_ExecuteContext_Destroy;
  PJRT_Error *(*PJRT_Buffer_CopyRawToHost)(PJRT_Buffer_CopyRawToHost_Args *);
  Missing PJRT_AsyncHostToDeviceTransferManager_Destroy;
  Missing PJRT_AsyncHostToDeviceTransferManager_TransferData;
  Missing PJRT_Client_CreateBuffersForAsyncHostToDevice;
  Missing PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer;
  Missing PJRT_AsyncHostToDeviceTransferManager_Device;
  Missing PJRT_AsyncHostToDeviceTransferManager_BufferCount;
  Missing PJRT_AsyncHostToDeviceTransferManager_BufferSize;
  Missing PJRT_AsyncHostToDeviceTransferManager_SetBufferError;
  Missing PJRT_AsyncHostToDeviceTransferManager_AddMetadata;
  Missing PJRT_Client_DmaMap;
  Missing PJRT_Client_DmaUnmap;
  PJRT_Error *(*PJRT_Client_CreateUninitializedBuffer)(
      PJRT_Client_CreateUninitializedBuffer_Args *);
  Missing PJRT_Client_UpdateGlobalProcessInfo;
  Missing PJRT_TopologyDescription_Deserialize;
  Missing PJRT_Client_CreateAliasBuffer;
  Missing PJRT_Client_FulfillAliasBuffer;
  PJRT_Error *(*PJRT_LoadedExecutable_GetDeviceAssignment)(
      PJRT_LoadedExecutable_GetDeviceAssignment_Args *);
  PJRT_Error *(*PJRT_Client_CreateErrorBuffer)(PJRT_Client_CreateErrorBuffer_Args *);
  Missing PJRT_AsyncHostToDeviceTransferManager_TransferLiteral;
  Missing PJRT_Buffer_CopyRawToHostFuture;
  Missing PJRT_Device_PoisonExecution;
  Missing PJRT_Device_CreateAsyncTrackingEvent;
  Missing PJRT_AsyncTrackingEvent_Destroy;
  PJRT_Error *(*PJRT_Executable_GetCompileOptions)(PJRT_Executable_GetCompileOptions_Args *);
  Missing PJRT_Buffer_DonateWithControlDependency;
  PJRT_Error *(*PJRT_Event_Create)(PJRT_Event_Create_Args *);
  PJRT_Error *(*PJRT_Event_Set)(PJRT_Event_Set_Args *);
};
}
inline constexpr int pjrtMinorVersion = 90;
/// Calls `visit(name)` for each function that isn't done.
// clang-format off
#define TREADLE_PJRT_MISSING(visit) \
  visit(PJRT_Device_MemoryStats) \
  visit(PJRT_CopyToDeviceStream_Destroy) \
  visit(PJRT_CopyToDeviceStream_AddChunk) \
  visit(PJRT_CopyToDeviceStream_TotalBytes) \
  visit(PJRT_CopyToDeviceStream_GranuleSize) \
  visit(PJRT_CopyToDeviceStream_CurrentBytes) \
  visit(PJRT_TopologyDescription_Create) \
  visit(PJRT_TopologyDescription_Destroy) \
  visit(PJRT_TopologyDescription_Serialize) \
  visit(PJRT_Compile) \
  visit(PJRT_ExecuteContext_Create) \
  visit(PJRT_ExecuteContext_Destroy) \
  visit(PJRT_AsyncHostToDeviceTransferManager_Destroy) \
  visit(PJRT_AsyncHostToDeviceTransferManager_TransferData) \
  visit(PJRT_Client_CreateBuffersForAsyncHostToDevice) \
  visit(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer) \
  visit(PJRT_AsyncHostToDeviceTransferManager_Device) \
  visit(PJRT_AsyncHostToDeviceTransferManager_BufferCount) \
  visit(PJRT_AsyncHostToDeviceTransferManager_BufferSize) \
  visit(PJRT_AsyncHostToDeviceTransferManager_SetBufferError) \
  visit(PJRT_AsyncHostToDeviceTransferManager_AddMetadata) \
  visit(PJRT_Client_DmaMap) \
  visit(PJRT_Client_DmaUnmap) \
  visit(PJRT_Client_UpdateGlobalProcessInfo) \
  visit(PJRT_TopologyDescription_Deserialize) \
  visit(PJRT_Client_CreateAliasBuffer) \
  visit(PJRT_Client_FulfillAliasBuffer) \
  visit(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral) \
  visit(PJRT_Buffer_CopyRawToHostFuture) \
  visit(PJRT_Device_PoisonExecution) \
  visit(PJRT_Device_CreateAsyncTrackingEvent) \
  visit(PJRT_AsyncTrackingEvent_Destroy) \
  visit(PJRT_Buffer_DonateWithControlDependency)

// clang-format on
// NOLINTEND
