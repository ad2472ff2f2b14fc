/* Runs a compiled model once on ones and prints the first value of each output.
 * cc -std=c99 -pedantic -Wall -Werror -I templates/include example.c ./libmodel.so -o example */
#include <nautilus/abi.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(void) { return fprintf(stderr, "%s\n", nautilus_last_error()), EXIT_FAILURE; }

int main(void) {
  nautilus_model *model;
  nautilus_context *context;
  nautilus_model_info info = {.struct_bytes = sizeof info};
  nautilus_tensor tensor = {.struct_bytes = sizeof tensor};

  if (nautilus_abi_version() != NAUTILUS_ABI_VERSION)
    return fprintf(stderr, "the library and nautilus/abi.h do not match\n"), EXIT_FAILURE;
  if (nautilus_model_create(NULL, &model) || nautilus_model_describe(model, &info) || nautilus_context_create(model, NULL, &context))
    return failed();
  printf("target %s, device %s\n", info.target, info.device);

  void **inputs = calloc(info.input_count + 1, sizeof *inputs), **outputs = calloc(info.output_count + 1, sizeof *outputs);
  for (size_t i = 0; i < info.input_count; i++) {
    if (nautilus_input(model, i, &tensor))
      return failed();
    inputs[i] = calloc(tensor.bytes + 1, 1);
    for (size_t j = 0; tensor.dtype == NAUTILUS_F32 && j < tensor.bytes / sizeof(float); j++)
      ((float *)inputs[i])[j] = 1;
  }
  for (size_t i = 0; i < info.output_count; i++) {
    if (nautilus_output(model, i, &tensor))
      return failed();
    outputs[i] = calloc(tensor.bytes + 1, 1);
  }

  if (nautilus_run_host(context, (const void *const *)inputs, outputs))
    return failed();

  for (size_t i = 0; i < info.output_count; i++) {
    nautilus_output(model, i, &tensor);
    if (tensor.dtype == NAUTILUS_F32 && tensor.bytes > 0)
      printf("%s[0] = %g\n", tensor.name, *(float *)outputs[i]);
    free(outputs[i]);
  }
  for (size_t i = 0; i < info.input_count; i++)
    free(inputs[i]);
  free(inputs);
  free(outputs);
  nautilus_context_destroy(context);
  nautilus_model_destroy(model);
  return EXIT_SUCCESS;
}
