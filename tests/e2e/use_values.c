/* Inputs whose values decide sizes, from C: the library of tests/unit/runtime/test_values.py. Prints what does not hold. */
#include <nautilus/abi.h>
#include <stdint.h>
#include <stdio.h>
#include "check.h"

enum { ROWS = 2, COLUMNS = 3, MOST_PICKS = 21 };

/* Aligned, so that they can be device pointers of the emulator. */
static struct {
  float x[8], y[8], scale[4], sum[8], picked[24];
  int64_t index[MOST_PICKS + 3], many[2], counters[4], options[4];
} __attribute__((aligned(64))) buffers;

static void check_result(nautilus_context *context, int64_t picks) {
  int64_t sum[2], picked[1];
  int64_t *shapes[4] = {sum, picked, NULL, NULL};
  CHECK_OK(nautilus_output_shapes(context, shapes, NULL));
  CHECK(sum[0] == ROWS && sum[1] == COLUMNS && picked[0] == picks);
  for (int64_t i = 0; i < picks; i++)
    CHECK(buffers.picked[i] == buffers.sum[i % (ROWS * COLUMNS)]);
  for (int64_t i = picks; i < MOST_PICKS; i++)
    CHECK(buffers.picked[i] == -1);
}

static void clear(void) {
  for (int i = 0; i < 24; i++)
    buffers.picked[i] = -1;
}

int main(void) {
  const void *inputs[5] = {buffers.x, buffers.y, buffers.index, buffers.many, buffers.scale};
  const void *values[5] = {NULL, NULL, NULL, buffers.many, buffers.scale};
  void *outputs[4] = {buffers.sum, buffers.picked, buffers.counters, buffers.options};
  const int64_t matrix[2] = {ROWS, COLUMNS}, indices[1] = {MOST_PICKS}, two[1] = {2};
  const int64_t *shapes[5] = {matrix, matrix, indices, two, NULL};
  int64_t picked[1];
  int64_t *found[4] = {NULL, picked, NULL, NULL};
  size_t workspace = 0;
  nautilus_model *model;
  nautilus_context *context;
  nautilus_tensor tensor;
  buffers.scale[0] = 1;
  for (int i = 0; i < MOST_PICKS; i++)
    buffers.index[i] = i % (ROWS * COLUMNS);
  for (int i = 0; i < ROWS * COLUMNS; i++)
    buffers.x[i] = (float)i;
  CHECK_OK(nautilus_model_create(NULL, &model));
  for (size_t i = 0; i < 5; i++) {
    memset(&tensor, 0, sizeof tensor);
    tensor.struct_bytes = sizeof tensor;
    CHECK_OK(nautilus_input(model, i, &tensor));
    CHECK(tensor.read_elements == (i == 3 ? 2u : i == 4 ? 1u : 0u));
  }

  /* What the outputs will be, without a context. */
  buffers.many[0] = 7;
  buffers.many[1] = -1;
  CHECK_OK(nautilus_shapes_of_values(model, shapes, values, found, &workspace));
  CHECK(picked[0] == 8 && workspace == 256 + 2 * 256);
  CHECK_FAILS(nautilus_shapes(model, shapes, found, NULL), NAUTILUS_INVALID_ARGUMENT, "input 3, 'many', decides shapes by its values");

  /* A context reads the values of each run. */
  CHECK_OK(nautilus_context_create(model, NULL, &context));
  CHECK_OK(nautilus_context_reshape(context, shapes));
  for (int64_t many = 2; many <= 20; many += 6)
    for (int run = 0; run < 3; run++) {
      buffers.many[0] = many;
      clear();
      CHECK_OK(run == 1 ? nautilus_run_host(context, inputs, outputs) : nautilus_run(context, inputs, outputs, NULL));
      check_result(context, many + 1);
    }
  buffers.many[0] = 21;
  CHECK_FAILS(nautilus_run(context, inputs, outputs, NULL), NAUTILUS_INVALID_ARGUMENT, "input 'many' holds 21 in element 0");
  CHECK_FAILS(nautilus_run_host(context, inputs, outputs), NAUTILUS_INVALID_ARGUMENT, "input 'many' holds 21 in element 0");

  /* The caller gives them, and changes them while they hold. */
  buffers.many[0] = 4;
  CHECK_OK(nautilus_context_reshape_values(context, shapes, values));
  buffers.many[0] = 21;
  clear();
  CHECK_OK(nautilus_run(context, inputs, outputs, NULL));
  check_result(context, 5);
  CHECK_FAILS(nautilus_context_reshape_values(context, shapes, values), NAUTILUS_INVALID_ARGUMENT, "input 'many' holds 21 in element 0");
  clear();
  CHECK_OK(nautilus_run_host(context, inputs, outputs));
  check_result(context, 5);

  /* And each run reads its own again. */
  CHECK_OK(nautilus_context_reshape_values(context, shapes, NULL));
  buffers.many[0] = 6;
  clear();
  CHECK_OK(nautilus_run(context, inputs, outputs, NULL));
  check_result(context, 7);
  CHECK_OK(nautilus_context_destroy(context));
  CHECK_OK(nautilus_model_destroy(model));
  return failures != 0;
}
