#include "staging.h"

#include <string.h>

#include "error.h"

/* Alignment of the device buffers of host runs, as cuMemAlloc has. */
enum { STAGING_ALIGNMENT = 256 };

static size_t round_up(size_t bytes) { return (bytes + STAGING_ALIGNMENT - 1) / STAGING_ALIGNMENT * STAGING_ALIGNMENT; }

nautilus_status staging_allocate(nautilus_context *context, size_t bytes, cu_pointer *block) {
  TRY(model_allocate(context->model, bytes, "the input and output buffers of a context", block));
  TRY_DRIVER(&context->model->place.driver, cuMemsetD8Async(*block, 0, bytes, context->stream), "clearing the input buffers");
  return NAUTILUS_OK;
}

/* An output that lies in an input needs no room of its own. */
static size_t room_of(const nautilus_context *context, const struct shapes *shapes, size_t port) {
  const struct payload *payload = &context->model->payload;
  return payload->ports[port].shared != 0 && port >= payload->header->input_count ? 0 : round_up(shapes->port_bytes[port]);
}

size_t staging_bytes(const nautilus_context *context, const struct shapes *shapes) {
  size_t bytes = 0;
  for (size_t i = 0; i < context->model->port_count; i++)
    bytes += room_of(context, shapes, i);
  return bytes ? bytes : STAGING_ALIGNMENT;
}

void staging_place(nautilus_context *context) {
  size_t bytes = 0;
  for (size_t i = 0; i < context->model->port_count; i++) {
    const struct payload_port *port = &context->model->payload.ports[i];
    int is_inside = port->shared != 0 && i >= context->model->payload.header->input_count;
    context->staging[i] = is_inside ? context->staging[port->shared - 1] : context->staging_block + bytes;
    bytes += room_of(context, &context->shapes, i);
  }
}

void staging_bind(nautilus_context *context) {
  memcpy(context->bound, context->staging, context->model->port_count * sizeof *context->bound);
}
