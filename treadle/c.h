/* Treadle's C API, also for other languages. The ABI is stable: a program that was compiled with
   this header runs with all later versions of libtreadle.

       #include <treadle/c.h>

       treadle_model *model = NULL;
       treadle_array *x = NULL, *y = NULL;
       const int64_t dims[] = {3};
       float elements[] = {1, 2, 3};
       const char *in = "x", *out = "y";
       treadle_status *failed = treadle_model_load("folder", NULL, &model);
       if (!failed) failed = treadle_array_of(TREADLE_FLOAT32, 1, dims, elements, NULL, NULL, &x);
       if (!failed) failed = treadle_model_call(model, "serving_default", 1, &in, &x, 1, &out, &y);
       if (failed) fprintf(stderr, "%s\n", treadle_status_message(failed));
       treadle_status_free(failed);
       treadle_array_free(x);
       treadle_array_free(y);
       treadle_model_free(model);

   - Errors: functions that can fail return a status: null on success, otherwise an error that the
     caller frees; then no results are written.
   - Ownership: the caller owns results that are written through a pointer to a pointer, and frees
     them with the `treadle_..._free` function of their type. Pointers that are returned directly
     belong to the argument of the function and are valid as long as it is. Freeing null does
     nothing. For a null argument, functions that return a number or a pointer return 0 or null.
   - Strings are UTF-8 and end with a zero byte. Strings that may contain zeros also have a size.
   - Thread safety: graphs, sessions and models may be used by several threads at once. An array may
     be read by several threads; writing to it or freeing it requires exclusive access. */
#ifndef TREADLE_C_H
#define TREADLE_C_H

#include <stddef.h>
#include <stdint.h>

#define TREADLE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library, "0.1.0". */
TREADLE_API const char *treadle_version(void);

/* ---- errors ------------------------------------------------------------------------------------
 */

/* Error codes; the numbers are those of gRPC and TensorFlow. */
typedef enum treadle_code {
  TREADLE_OK = 0,
  TREADLE_CANCELLED = 1,
  TREADLE_UNKNOWN = 2,
  TREADLE_INVALID_ARGUMENT = 3,
  TREADLE_DEADLINE_EXCEEDED = 4,
  TREADLE_NOT_FOUND = 5,
  TREADLE_ALREADY_EXISTS = 6,
  TREADLE_PERMISSION_DENIED = 7,
  TREADLE_RESOURCE_EXHAUSTED = 8,
  TREADLE_FAILED_PRECONDITION = 9,
  TREADLE_ABORTED = 10,
  TREADLE_OUT_OF_RANGE = 11,
  TREADLE_UNIMPLEMENTED = 12,
  TREADLE_INTERNAL = 13,
  TREADLE_UNAVAILABLE = 14,
  TREADLE_DATA_LOSS = 15,
  TREADLE_UNAUTHENTICATED = 16
} treadle_code;

typedef struct treadle_status treadle_status;

/* For null they return TREADLE_OK and "". The message is valid as long as the status. */
TREADLE_API treadle_code treadle_status_code(const treadle_status *status);
TREADLE_API const char *treadle_status_message(const treadle_status *status);
TREADLE_API void treadle_status_free(treadle_status *status);

/* Frees a string that a function wrote. */
TREADLE_API void treadle_text_free(char *text);

/* ---- arrays ------------------------------------------------------------------------------------
 */

#ifndef TREADLE_DTYPE_DEFINED
#define TREADLE_DTYPE_DEFINED
/* Element types; the numbers are those of TensorFlow's DataType. */
enum treadle_dtype {
  TREADLE_FLOAT32 = 1,
  TREADLE_FLOAT64 = 2,
  TREADLE_INT32 = 3,
  TREADLE_UINT8 = 4,
  TREADLE_INT16 = 5,
  TREADLE_INT8 = 6,
  TREADLE_STRING = 7,
  TREADLE_COMPLEX64 = 8,
  TREADLE_INT64 = 9,
  TREADLE_BOOL = 10, /* a byte: 0 or 1 */
  TREADLE_BFLOAT16 = 14,
  TREADLE_UINT16 = 17,
  TREADLE_COMPLEX128 = 18,
  TREADLE_FLOAT16 = 19,
  TREADLE_RESOURCE = 20, /* handles, which are valid in their session only */
  TREADLE_VARIANT = 21,
  TREADLE_UINT32 = 22,
  TREADLE_UINT64 = 23
};
#endif

/* A tensor with its elements in row-major order. */
typedef struct treadle_array treadle_array;

/* Makes an array of zeros or empty strings. `dims` has `rank` sizes.
   TREADLE_INVALID_ARGUMENT for an unknown dtype or a negative size. */
TREADLE_API treadle_status *treadle_array_make(int32_t dtype, int32_t rank, const int64_t *dims,
                                               treadle_array **array);
/* Makes an array that refers to the caller's elements without a copy: `data` must stay valid and
   unchanged until `release(context)` is called, on any thread, after the last use; a null `release`
   means that it outlives all uses. Not for strings. `data` must be aligned to the element size;
   alignment to 64 bytes is fastest. */
TREADLE_API treadle_status *treadle_array_of(int32_t dtype, int32_t rank, const int64_t *dims,
                                             void *data, void (*release)(void *context),
                                             void *context, treadle_array **array);
/* Returns another handle to the same elements, which the caller frees too. */
TREADLE_API treadle_array *treadle_array_share(const treadle_array *array);
TREADLE_API void treadle_array_free(treadle_array *array);

TREADLE_API int32_t treadle_array_dtype(const treadle_array *array);
TREADLE_API int32_t treadle_array_rank(const treadle_array *array);
TREADLE_API const int64_t *treadle_array_dims(const treadle_array *array);
/* The number of elements. */
TREADLE_API int64_t treadle_array_count(const treadle_array *array);
/* The elements in row-major order; null for strings, handles and variants. */
TREADLE_API const void *treadle_array_data(const treadle_array *array);
/* The elements for writing; also null if another handle or a run shares them. */
TREADLE_API void *treadle_array_mutable_data(treadle_array *array);
/* The size of all elements in bytes; 0 if `treadle_array_data` is null. */
TREADLE_API size_t treadle_array_bytes(const treadle_array *array);

/* Element `index` of an array of strings, followed by a zero byte that `size` doesn't count; null
   if there is no such string. `size` may be null. */
TREADLE_API const char *treadle_array_string(const treadle_array *array, int64_t index,
                                             size_t *size);
/* Sets an element to a copy of the bytes. TREADLE_INVALID_ARGUMENT if there is no such string,
   TREADLE_FAILED_PRECONDITION if the elements are shared. */
TREADLE_API treadle_status *treadle_array_set_string(treadle_array *array, int64_t index,
                                                     const char *bytes, size_t size);

/* ---- custom ops --------------------------------------------------------------------------------
 */

/* A set of custom ops, implemented by C functions. */
typedef struct treadle_ops treadle_ops;
/* One execution of an op; valid while its function runs. */
typedef struct treadle_op_call treadle_op_call;

typedef void (*treadle_op_function)(treadle_op_call *call, void *context);

/* Traits that determine the order of an op's executions. */
typedef struct treadle_op_traits {
  size_t size;         /* sizeof(treadle_op_traits) */
  int32_t has_effects; /* whether executions read or change state besides inputs and outputs; if so,
                          they run in the order of the graph */
  int32_t waits;       /* whether executions may block without using the processor */
} treadle_op_traits;

TREADLE_API treadle_status *treadle_ops_make(treadle_ops **ops);
/* Adds an op. Its function may be called on any thread, and on several at once. `free_context`,
   which may be null, is called after the last session that can call the function was freed. Without
   traits an op has effects and waits. TREADLE_FAILED_PRECONDITION if a session was already created
   with these ops. */
TREADLE_API treadle_status *treadle_ops_add(treadle_ops *ops, const char *name,
                                            treadle_op_function function, void *context,
                                            void (*free_context)(void *context),
                                            const treadle_op_traits *traits);
/* Sessions that were created with the ops keep them alive. */
TREADLE_API void treadle_ops_free(treadle_ops *ops);

TREADLE_API const char *treadle_op_node(const treadle_op_call *call); /* node name */
TREADLE_API int32_t treadle_op_num_inputs(const treadle_op_call *call);
/* Returns null if there is no such input. */
TREADLE_API const treadle_array *treadle_op_input(treadle_op_call *call, int32_t index);
/* For an op that Treadle doesn't define, the number of outputs that are used; setting others is
   allowed. */
TREADLE_API int32_t treadle_op_num_outputs(const treadle_op_call *call);
/* The name of an output of such an op, "output:0", if the node is in a function: functions refer to
   outputs by name, so the index has no meaning there. Null otherwise. */
TREADLE_API const char *treadle_op_output_name(const treadle_op_call *call, int32_t index);
/* The dtype of an output; 0 if the graph doesn't state it. */
TREADLE_API int32_t treadle_op_output_dtype(const treadle_op_call *call, int32_t index);
/* Sets an output. The caller keeps its handle to the array and may free it. It is an error of the
   op if an output isn't set or has another dtype than required. */
TREADLE_API void treadle_op_set_output(treadle_op_call *call, int32_t index,
                                       const treadle_array *array);
/* Makes the execution fail; the first error counts. */
TREADLE_API void treadle_op_fail(treadle_op_call *call, treadle_code code, const char *message);
/* Read attributes of the node. TREADLE_INVALID_ARGUMENT if there is none with this name and kind.
 */
TREADLE_API treadle_status *treadle_op_attr_int(const treadle_op_call *call, const char *name,
                                                int64_t *value);
TREADLE_API treadle_status *treadle_op_attr_float(const treadle_op_call *call, const char *name,
                                                  float *value);
TREADLE_API treadle_status *treadle_op_attr_bool(const treadle_op_call *call, const char *name,
                                                 int32_t *value);
/* The value is valid as long as the call. `size` may be null. */
TREADLE_API treadle_status *treadle_op_attr_string(const treadle_op_call *call, const char *name,
                                                   const char **value, size_t *size);

/* ---- graphs ------------------------------------------------------------------------------------
 */

/* An immutable graph, read from a file or from memory. */
typedef struct treadle_graph treadle_graph;

/* Reads a GraphDef (.pb, .pbtxt), MLIR text (.mlir: tfg, tf_executor, StableHLO or MHLO) or the
   folder of a SavedModel. */
TREADLE_API treadle_status *treadle_graph_from_file(const char *path, treadle_graph **graph);
TREADLE_API treadle_status *treadle_graph_from_bytes(const void *bytes, size_t size,
                                                     treadle_graph **graph);
TREADLE_API void treadle_graph_free(treadle_graph *graph);
/* Writes the graph in the format that the extension selects: .pb, .pbtxt, .mlir; without an
   extension, a SavedModel. */
TREADLE_API treadle_status *treadle_graph_to_file(const treadle_graph *graph, const char *path);
/* Writes a serialized GraphDef, which is freed with treadle_text_free. */
TREADLE_API treadle_status *treadle_graph_to_bytes(const treadle_graph *graph, char **bytes,
                                                   size_t *size);
/* Writes MLIR text, which is freed with treadle_text_free. */
TREADLE_API treadle_status *treadle_graph_to_text(const treadle_graph *graph, char **text);
/* Runs passes on a copy of the graph, in MLIR's pipeline syntax: "tfg-cse,tfg-toposort". */
TREADLE_API treadle_status *treadle_graph_run_passes(const treadle_graph *graph,
                                                     const char *pipeline, treadle_graph **changed);

/* The inputs or outputs of a graph or a signature. */
typedef struct treadle_values treadle_values;

TREADLE_API int32_t treadle_values_count(const treadle_values *values);
/* The key in a signature; for a graph, the same as the name. Null if there is no such index. */
TREADLE_API const char *treadle_values_key(const treadle_values *values, int32_t index);
TREADLE_API const char *treadle_values_name(const treadle_values *values,
                                            int32_t index); /* "x:0" */
TREADLE_API int32_t treadle_values_dtype(const treadle_values *values, int32_t index);
/* The rank and the sizes; -1 for each that is unknown. */
TREADLE_API int32_t treadle_values_rank(const treadle_values *values, int32_t index);
TREADLE_API const int64_t *treadle_values_dims(const treadle_values *values, int32_t index);
TREADLE_API void treadle_values_free(treadle_values *values);

/* The placeholders; and the values of nodes without uses, which runs fetch by default. */
TREADLE_API treadle_status *treadle_graph_inputs(const treadle_graph *graph,
                                                 treadle_values **values);
TREADLE_API treadle_status *treadle_graph_outputs(const treadle_graph *graph,
                                                  treadle_values **values);

/* ---- sessions ----------------------------------------------------------------------------------
 */

typedef enum treadle_tier {
  TREADLE_TIER_AUTO = 0,      /* loops are compiled in the background */
  TREADLE_TIER_INTERPRET = 1, /* node by node */
  TREADLE_TIER_JIT = 2        /* runs wait for compilation */
} treadle_tier;

typedef enum treadle_denormals {
  TREADLE_DENORMALS_FLUSH = 0, /* zero for arithmetic */
  TREADLE_DENORMALS_KEEP = 1   /* as IEEE 754 has them */
} treadle_denormals;

typedef enum treadle_loop_overlap {
  TREADLE_LOOP_OVERLAP_AUTO = 0, /* loops with ops that wait */
  TREADLE_LOOP_OVERLAP_OFF = 1,
  TREADLE_LOOP_OVERLAP_ON = 2
} treadle_loop_overlap;

/* Zero means the default for each field. Initialize with
   `treadle_options options = TREADLE_OPTIONS;`. */
typedef struct treadle_options {
  size_t size;          /* sizeof(treadle_options) */
  int32_t threads;      /* threads of a run, including its caller; 0: one for each core */
  int32_t tier;         /* treadle_tier */
  int32_t loop_overlap; /* treadle_loop_overlap */
  int32_t fast_math;    /* allows compiled code to round differently */
  int32_t statistics;   /* collects counters for treadle_session_statistics */
  int32_t trace;        /* records a timeline for treadle_session_trace */
  double timeout;       /* time limit of a run in seconds; 0: none */
  const int32_t *cores; /* for the session's own threads; null: all that the process may use */
  size_t num_cores;
  const treadle_ops *ops; /* take precedence over built-in ops; null: none */
  /* Receives the output of Print ops instead of standard error; `stream` is the name of their
     output stream. */
  void (*print)(const char *line, size_t size, const char *stream, void *context);
  void *print_context;
  /* Permissions of ops, in addition to reading files in the folder that the graph was read from:
     folders and files that they may read, and that they may write; the time of day. */
  const char *const *allow_read;
  size_t num_allow_read;
  const char *const *allow_write;
  size_t num_allow_write;
  int32_t allow_clock;
  int64_t memory;    /* memory limit for tensors in bytes; 0: none */
  int32_t denormals; /* treadle_denormals */
} treadle_options;

#define TREADLE_OPTIONS                                                                            \
  {sizeof(treadle_options),                                                                        \
   0,                                                                                              \
   TREADLE_TIER_AUTO,                                                                              \
   TREADLE_LOOP_OVERLAP_AUTO,                                                                      \
   0,                                                                                              \
   0,                                                                                              \
   0,                                                                                              \
   0,                                                                                              \
   NULL,                                                                                           \
   0,                                                                                              \
   NULL,                                                                                           \
   NULL,                                                                                           \
   NULL,                                                                                           \
   NULL,                                                                                           \
   0,                                                                                              \
   NULL,                                                                                           \
   0,                                                                                              \
   0,                                                                                              \
   0,                                                                                              \
   TREADLE_DENORMALS_FLUSH}

/* A graph in use: its variables, queues and tables. */
typedef struct treadle_session treadle_session;

/* Null options mean the defaults, here and for models. */
TREADLE_API treadle_status *treadle_session_make(const treadle_graph *graph,
                                                 const treadle_options *options,
                                                 treadle_session **session);
/* Must not be called while a run is in progress. */
TREADLE_API void treadle_session_free(treadle_session *session);
/* Computes the fetches ("x:0"; in a loop "x:0@3", "x:0@last", "x:0@*") and runs the targets (node
   names), with `feed_values` instead of the tensors `feeds`. Writes an array for each fetch, which
   the caller frees. */
TREADLE_API treadle_status *treadle_session_run(treadle_session *session, size_t num_feeds,
                                                const char *const *feeds,
                                                treadle_array *const *feed_values,
                                                size_t num_fetches, const char *const *fetches,
                                                treadle_array **results, size_t num_targets,
                                                const char *const *targets);
/* Ends runs in progress with TREADLE_CANCELLED. */
TREADLE_API void treadle_session_cancel(treadle_session *session);
/* The value of a variable; TREADLE_NOT_FOUND if there is no such variable, or it has no value. */
TREADLE_API treadle_status *treadle_session_variable(treadle_session *session, const char *name,
                                                     treadle_array **value);
TREADLE_API treadle_status *treadle_session_set_variable(treadle_session *session, const char *name,
                                                         const treadle_array *value);
/* Whether code for later runs is being compiled. */
TREADLE_API int32_t treadle_session_is_compiling(const treadle_session *session);
/* The timeline of all runs in the Trace Event Format, for Perfetto. Requires the option `trace`. */
TREADLE_API treadle_status *treadle_session_trace(const treadle_session *session, char **json);
/* The time of each op as a text table. Requires the option `trace`. */
TREADLE_API treadle_status *treadle_session_profile(const treadle_session *session, char **text);

typedef struct treadle_statistics {
  size_t size; /* sizeof(treadle_statistics), written by the caller */
  int64_t runs;
  int64_t compiled_calls, bails, interpreted_calls; /* of parts that may be compiled */
  int64_t compilations, memory_hits, disk_hits;
  int64_t pending_compilations, failed_compilations;
  double compile_seconds;
  int64_t allocations, allocated_bytes, copies, reuses; /* of tensors, by compiled code */
  int64_t live_bytes; /* of all tensors above 1 MiB in the process */
} treadle_statistics;

/* Requires the option `statistics`. */
TREADLE_API treadle_status *treadle_session_statistics(const treadle_session *session,
                                                       treadle_statistics *statistics);

/* ---- models ------------------------------------------------------------------------------------
 */

/* A SavedModel or a StableHLO program that is ready to be called: its variables are restored and
   its tables initialized. */
typedef struct treadle_model treadle_model;

TREADLE_API treadle_status *treadle_model_load(const char *path, const treadle_options *options,
                                               treadle_model **model);
TREADLE_API void treadle_model_free(treadle_model *model);
/* The signatures by index; null if there is no such index. */
TREADLE_API int32_t treadle_model_num_signatures(const treadle_model *model);
TREADLE_API const char *treadle_model_signature(const treadle_model *model, int32_t index);
TREADLE_API treadle_status *treadle_model_inputs(const treadle_model *model, const char *signature,
                                                 treadle_values **values);
TREADLE_API treadle_status *treadle_model_outputs(const treadle_model *model, const char *signature,
                                                  treadle_values **values);
/* Calls a signature with all of its inputs, by key. Writes an array for each requested output,
   which the caller frees. */
TREADLE_API treadle_status *treadle_model_call(treadle_model *model, const char *signature,
                                               size_t num_inputs, const char *const *inputs,
                                               treadle_array *const *input_values,
                                               size_t num_outputs, const char *const *outputs,
                                               treadle_array **results);
/* Writes the model with the current values of its variables to a new or an empty folder; null:
   writes the variables to the checkpoint that they were restored from. */
TREADLE_API treadle_status *treadle_model_save(const treadle_model *model, const char *folder);
/* The session that holds the model's state. */
TREADLE_API treadle_status *treadle_model_session(const treadle_model *model,
                                                  treadle_session **session);

#ifdef __cplusplus
}
#endif

#endif
