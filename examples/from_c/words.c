/* Calls a SavedModel from C.

       cc words.c $(pkg-config --cflags --libs treadle) -o words && ./words ../words */
#include <treadle/c.h>

#include <stdio.h>

static int report(treadle_status *status) {
  fprintf(stderr, "%s\n", treadle_status_message(status));
  treadle_status_free(status);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: words MODEL\n");
    return 2;
  }
  treadle_model *model = NULL;
  treadle_status *failed = treadle_model_load(argv[1], NULL, &model);
  if (failed)
    return report(failed);
  for (int32_t i = 0; i < treadle_model_num_signatures(model); ++i) {
    const char *signature = treadle_model_signature(model, i);
    treadle_values *inputs = NULL;
    if ((failed = treadle_model_inputs(model, signature, &inputs)))
      return report(failed);
    printf("%s(", signature);
    for (int32_t k = 0; k < treadle_values_count(inputs); ++k)
      printf("%s%s", k ? ", " : "", treadle_values_key(inputs, k));
    printf(")\n");
    treadle_values_free(inputs);
  }
  float elements[] = {1, 2, 3};
  const int64_t dims[] = {3};
  treadle_array *x = NULL, *y = NULL;
  const char *in = "x", *out = "scaled";
  failed = treadle_array_of(TREADLE_FLOAT32, 1, dims, elements, NULL, NULL, &x);
  if (!failed)
    failed = treadle_model_call(model, "serving_default", 1, &in, &x, 1, &out, &y);
  if (failed)
    return report(failed);
  const float *result = treadle_array_data(y);
  for (int64_t k = 0; k < treadle_array_count(y); ++k)
    printf("%g ", result[k]);
  printf("\n");
  treadle_array_free(x);
  treadle_array_free(y);
  treadle_model_free(model);
  return 0;
}
