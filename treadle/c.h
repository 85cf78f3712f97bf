/* Treadle for C and for all that can call C. The ABI is stable: a program that was compiled with
   this header runs with each later version of libtreadle.

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

   - What can fail returns a status: null if it succeeded, else what went wrong, which the caller
     frees. Then nothing is written to the places for results.
   - Whatever a function hands over by a pointer to a pointer belongs to the caller, who frees it by
     the function of its type, as does what `treadle_..._free` is named after. What a function
     returns directly belongs to its argument and lives as long. Freeing null does nothing. Of null
     there is nothing to tell: functions that return a number or a pointer give 0 or null.
   - Texts are UTF-8 and end with a zero. Where a text may hold zeros its size is given as well.
   - Graphs, sessions and models may be used by several threads at once. An array may be read by
     several; who writes to it or frees it is alone. */
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

/* The numbers are gRPC's. */
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

/* Of null: TREADLE_OK, and "". */
TREADLE_API treadle_code treadle_status_code(const treadle_status *status);
TREADLE_API const char *treadle_status_message(const treadle_status *status);
TREADLE_API void treadle_status_free(treadle_status *status);

/* Frees a text that a function handed over. */
TREADLE_API void treadle_text_free(char *text);

/* ---- arrays ------------------------------------------------------------------------------------
 */

#ifndef TREADLE_DTYPE_DEFINED
#define TREADLE_DTYPE_DEFINED
/* Types of elements; the numbers are those of TensorFlow's DataType. */
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
  TREADLE_RESOURCE = 20, /* handles, which only a session can use */
  TREADLE_VARIANT = 21,
  TREADLE_UINT32 = 22,
  TREADLE_UINT64 = 23
};
#endif

/* A tensor. Elements lie row by row, the last dimension closest together. */
typedef struct treadle_array treadle_array;

/* A new one, whose numbers are zero and whose strings are empty. `dims` has `rank` sizes. */
TREADLE_API treadle_status *treadle_array_make(int32_t dtype, int32_t rank, const int64_t *dims,
                                               treadle_array **array);
/* One of the caller's elements, without a copy: `data` stays where it is and as it is until
   `release(context)` is called, by any thread, when nobody needs it any more; a null `release`
   means that it outlives all uses. Not of strings. Elements that are aligned to 64 bytes are
   computed with fastest; they must be aligned to their own size at least. */
TREADLE_API treadle_status *treadle_array_of(int32_t dtype, int32_t rank, const int64_t *dims,
                                             void *data, void (*release)(void *context),
                                             void *context, treadle_array **array);
/* Another handle to the same elements. */
TREADLE_API treadle_array *treadle_array_share(const treadle_array *array);
TREADLE_API void treadle_array_free(treadle_array *array);

TREADLE_API int32_t treadle_array_dtype(const treadle_array *array);
TREADLE_API int32_t treadle_array_rank(const treadle_array *array);
TREADLE_API const int64_t *treadle_array_dims(const treadle_array *array);
/* How many elements. */
TREADLE_API int64_t treadle_array_count(const treadle_array *array);
/* The elements; null if they aren't plain bytes: of strings, handles and variants. */
TREADLE_API const void *treadle_array_data(const treadle_array *array);
/* The same to write to; null as well if somebody else has them. */
TREADLE_API void *treadle_array_mutable_data(treadle_array *array);
/* Bytes of all elements, 0 where `treadle_array_data` is null. */
TREADLE_API size_t treadle_array_bytes(const treadle_array *array);

/* Element `index` of strings: its bytes, which end with a zero that `size` doesn't count. Null if
   the array has no such string. `size` may be null. */
TREADLE_API const char *treadle_array_string(const treadle_array *array, int64_t index,
                                             size_t *size);
/* TREADLE_FAILED_PRECONDITION if somebody else has the elements. */
TREADLE_API treadle_status *treadle_array_set_string(treadle_array *array, int64_t index,
                                                     const char *bytes, size_t size);

/* ---- ops of one's own --------------------------------------------------------------------------
 */

/* Ops that graphs may have besides those that the library knows, as functions in C. */
typedef struct treadle_ops treadle_ops;
/* One execution of an op, for the time that its function is called. */
typedef struct treadle_op_call treadle_op_call;

typedef void (*treadle_op_function)(treadle_op_call *call, void *context);

/* What the order of an op's executions depends on. */
typedef struct treadle_op_traits {
  size_t size;         /* sizeof(treadle_op_traits) */
  int32_t has_effects; /* whether executions see or change anything besides inputs and outputs; if
                          so, they keep the order that the graph gives them */
  int32_t waits;       /* whether they may take long without keeping the processor busy */
} treadle_op_traits;

TREADLE_API treadle_status *treadle_ops_make(treadle_ops **ops);
/* Functions may be called by any thread, by several at once. `free_context`, which may be null, is
   called when the last session that could call the function is gone. Without traits an op has
   effects and waits. TREADLE_FAILED_PRECONDITION once a session was made with the ops. */
TREADLE_API treadle_status *treadle_ops_add(treadle_ops *ops, const char *name,
                                            treadle_op_function function, void *context,
                                            void (*free_context)(void *context),
                                            const treadle_op_traits *traits);
/* Sessions that were made with them keep what they need. */
TREADLE_API void treadle_ops_free(treadle_ops *ops);

TREADLE_API const char *treadle_op_node(const treadle_op_call *call); /* its name in the graph */
TREADLE_API int32_t treadle_op_num_inputs(const treadle_op_call *call);
/* Null if there is no such input. */
TREADLE_API const treadle_array *treadle_op_input(treadle_op_call *call, int32_t index);
/* Of an op that Treadle doesn't know: as many as are used. Setting more is no error. */
TREADLE_API int32_t treadle_op_num_outputs(const treadle_op_call *call);
/* "output:0": which output of such an op it is, where the node stands in a function, which calls
   outputs by name: there the index says nothing. Null elsewhere. */
TREADLE_API const char *treadle_op_output_name(const treadle_op_call *call, int32_t index);
/* 0 if the graph doesn't say. */
TREADLE_API int32_t treadle_op_output_dtype(const treadle_op_call *call, int32_t index);
/* The array stays the caller's, who may free it. An output that isn't set, or is of another dtype
   than it has to be, is an error of the op. */
TREADLE_API void treadle_op_set_output(treadle_op_call *call, int32_t index,
                                       const treadle_array *array);
/* Makes the execution an error; the first one counts. */
TREADLE_API void treadle_op_fail(treadle_op_call *call, treadle_code code, const char *message);
/* Attributes of the node. TREADLE_INVALID_ARGUMENT if there is none of that name and kind. */
TREADLE_API treadle_status *treadle_op_attr_int(const treadle_op_call *call, const char *name,
                                                int64_t *value);
TREADLE_API treadle_status *treadle_op_attr_float(const treadle_op_call *call, const char *name,
                                                  float *value);
TREADLE_API treadle_status *treadle_op_attr_bool(const treadle_op_call *call, const char *name,
                                                 int32_t *value);
/* Lives as long as the call does. `size` may be null. */
TREADLE_API treadle_status *treadle_op_attr_string(const treadle_op_call *call, const char *name,
                                                   const char **value, size_t *size);

/* ---- graphs ------------------------------------------------------------------------------------
 */

/* A graph that was read from a file or from memory. It never changes. */
typedef struct treadle_graph treadle_graph;

/* Reads a GraphDef (.pb, .pbtxt), MLIR text (.mlir: tfg, tf_executor, StableHLO or MHLO) or the
   folder of a SavedModel. */
TREADLE_API treadle_status *treadle_graph_from_file(const char *path, treadle_graph **graph);
TREADLE_API treadle_status *treadle_graph_from_bytes(const void *bytes, size_t size,
                                                     treadle_graph **graph);
TREADLE_API void treadle_graph_free(treadle_graph *graph);
/* Writes it in the format that the extension names: .pb, .pbtxt, .mlir; a SavedModel without one.
 */
TREADLE_API treadle_status *treadle_graph_to_file(const treadle_graph *graph, const char *path);
/* A serialized GraphDef. */
TREADLE_API treadle_status *treadle_graph_to_bytes(const treadle_graph *graph, char **bytes,
                                                   size_t *size);
/* MLIR text. */
TREADLE_API treadle_status *treadle_graph_to_text(const treadle_graph *graph, char **text);
/* Another graph: after passes, in MLIR's syntax, "tfg-cse,tfg-toposort". */
TREADLE_API treadle_status *treadle_graph_run_passes(const treadle_graph *graph,
                                                     const char *pipeline, treadle_graph **changed);

/* Tensors by name, as a graph or a signature takes and gives them. */
typedef struct treadle_values treadle_values;

TREADLE_API int32_t treadle_values_count(const treadle_values *values);
/* What callers of a signature call it; of a graph's, the same as the name. Of an index that isn't
   there: null. */
TREADLE_API const char *treadle_values_key(const treadle_values *values, int32_t index);
TREADLE_API const char *treadle_values_name(const treadle_values *values,
                                            int32_t index); /* "x:0" */
TREADLE_API int32_t treadle_values_dtype(const treadle_values *values, int32_t index);
/* -1 if it isn't known; of sizes, too. */
TREADLE_API int32_t treadle_values_rank(const treadle_values *values, int32_t index);
TREADLE_API const int64_t *treadle_values_dims(const treadle_values *values, int32_t index);
TREADLE_API void treadle_values_free(treadle_values *values);

/* Placeholders; and what is computed if nothing is asked for. */
TREADLE_API treadle_status *treadle_graph_inputs(const treadle_graph *graph,
                                                 treadle_values **values);
TREADLE_API treadle_status *treadle_graph_outputs(const treadle_graph *graph,
                                                  treadle_values **values);

/* ---- sessions ----------------------------------------------------------------------------------
 */

typedef enum treadle_tier {
  TREADLE_TIER_AUTO = 0,      /* loops become machine code beside the runs */
  TREADLE_TIER_INTERPRET = 1, /* node by node */
  TREADLE_TIER_JIT = 2        /* runs wait for the machine code */
} treadle_tier;

typedef enum treadle_loop_overlap {
  TREADLE_LOOP_OVERLAP_AUTO = 0, /* loops with ops that wait */
  TREADLE_LOOP_OVERLAP_OFF = 1,
  TREADLE_LOOP_OVERLAP_ON = 2
} treadle_loop_overlap;

/* What is zero is as by default. Begin with `treadle_options options = TREADLE_OPTIONS;`. */
typedef struct treadle_options {
  size_t size;          /* sizeof(treadle_options) */
  int32_t threads;      /* that a run may use, its caller's included; 0: one for each core */
  int32_t tier;         /* treadle_tier */
  int32_t loop_overlap; /* treadle_loop_overlap */
  int32_t fast_math;    /* machine code may round otherwise */
  int32_t statistics;   /* counts for treadle_session_statistics */
  int32_t trace;        /* records for treadle_session_trace */
  double timeout;       /* seconds after which a run fails; 0: never */
  const int32_t *cores; /* for the session's own threads; null: all that the process may use */
  size_t num_cores;
  const treadle_ops *ops; /* looked in before the library's own; null: none */
  /* Where Print ops write instead of standard error; `stream` is the name of what they asked for.
   */
  void (*print)(const char *line, size_t size, const char *stream, void *context);
  void *print_context;
  /* What ops may reach beside their values, and beside the files of the folder that the graph was
     read from: folders and files that they may read, and that they may write; the time of day. */
  const char *const *allow_read;
  size_t num_allow_read;
  const char *const *allow_write;
  size_t num_allow_write;
  int32_t allow_clock;
  int64_t memory; /* bytes that tensors may take; 0: as many as the machine has */
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
   0}

/* A graph being used: its variables, queues and tables. */
typedef struct treadle_session treadle_session;

/* Null options are the default ones, here and for models. */
TREADLE_API treadle_status *treadle_session_make(const treadle_graph *graph,
                                                 const treadle_options *options,
                                                 treadle_session **session);
/* Not while a run is in progress. */
TREADLE_API void treadle_session_free(treadle_session *session);
/* Computes the fetches ("x:0"; in a loop "x:0@3", "x:0@last", "x:0@*") and runs the targets (names
   of nodes), with `feed_values` in the place of the tensors `feeds`. Writes an array for each
   fetch. */
TREADLE_API treadle_status *treadle_session_run(treadle_session *session, size_t num_feeds,
                                                const char *const *feeds,
                                                treadle_array *const *feed_values,
                                                size_t num_fetches, const char *const *fetches,
                                                treadle_array **results, size_t num_targets,
                                                const char *const *targets);
/* Ends runs in progress with TREADLE_CANCELLED. */
TREADLE_API void treadle_session_cancel(treadle_session *session);
/* A variable's value; TREADLE_NOT_FOUND if there is none of that name that has one. */
TREADLE_API treadle_status *treadle_session_variable(treadle_session *session, const char *name,
                                                     treadle_array **value);
TREADLE_API treadle_status *treadle_session_set_variable(treadle_session *session, const char *name,
                                                         const treadle_array *value);
/* Whether machine code for later runs is being made. */
TREADLE_API int32_t treadle_session_is_compiling(const treadle_session *session);
/* What ran when, in the Trace Event Format, which Perfetto shows. */
TREADLE_API treadle_status *treadle_session_trace(const treadle_session *session, char **json);
/* What took the time, as a table of text. Needs the option `trace`. */
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

/* Needs the option `statistics`. */
TREADLE_API treadle_status *treadle_session_statistics(const treadle_session *session,
                                                       treadle_statistics *statistics);

/* ---- models ------------------------------------------------------------------------------------
 */

/* A SavedModel, or a program in StableHLO, ready to be called: its variables restored, its tables
   filled. */
typedef struct treadle_model treadle_model;

TREADLE_API treadle_status *treadle_model_load(const char *path, const treadle_options *options,
                                               treadle_model **model);
TREADLE_API void treadle_model_free(treadle_model *model);
/* Null for an index that isn't there. */
TREADLE_API int32_t treadle_model_num_signatures(const treadle_model *model);
TREADLE_API const char *treadle_model_signature(const treadle_model *model, int32_t index);
TREADLE_API treadle_status *treadle_model_inputs(const treadle_model *model, const char *signature,
                                                 treadle_values **values);
TREADLE_API treadle_status *treadle_model_outputs(const treadle_model *model, const char *signature,
                                                  treadle_values **values);
/* Calls a signature with all of its inputs, by key. Writes an array for each of the outputs that
   are asked for. */
TREADLE_API treadle_status *treadle_model_call(treadle_model *model, const char *signature,
                                               size_t num_inputs, const char *const *inputs,
                                               treadle_array *const *input_values,
                                               size_t num_outputs, const char *const *outputs,
                                               treadle_array **results);
/* Writes the model with its variables as they are now to a folder that is empty or not there yet;
   null: to the checkpoint that they were restored from. */
TREADLE_API treadle_status *treadle_model_save(const treadle_model *model, const char *folder);
/* The session that holds the model's state. */
TREADLE_API treadle_status *treadle_model_session(const treadle_model *model,
                                                  treadle_session **session);

#ifdef __cplusplus
}
#endif

#endif
