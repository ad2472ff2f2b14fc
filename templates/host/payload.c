#define _GNU_SOURCE /* dladdr, pipe2 */
#include "payload.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "values.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "payloads are little endian, and read in place"
#endif

/* Where the payload lies. nautilus_cli/artifact/elf.py finds this symbol in the file and sets offset and bytes.
 * Protected: another library of the same kind in the process must not lend us its own. */
struct payload_descriptor {
  char magic[8];
  int64_t offset; /* of the payload from this structure, in memory */
  uint64_t bytes;
};
extern struct payload_descriptor nautilus_payload_descriptor;
__attribute__((visibility("protected"), used)) struct payload_descriptor nautilus_payload_descriptor = {"NAUTDSC", 0, 0};

/* A note of our own, so that every linker makes the PT_NOTE header that elf.py turns into the payload's PT_LOAD. */
__attribute__((section(".note.nautilus"), used, aligned(4))) static const struct {
  uint32_t name_bytes, description_bytes, type;
  char name[12];
} note = {9, 0, 1, "Nautilus"};

static const char trailer[8] = "NAUTEND";

/* Reflected, polynomial 0xEDB88320. */
uint32_t payload_crc32(uint32_t crc, const void *data, size_t bytes) {
  uint32_t table[256];
  const uint8_t *byte = data;
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; bit++)
      value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0);
    table[i] = value;
  }
  crc = ~crc;
  for (size_t i = 0; i < bytes; i++)
    crc = crc >> 8 ^ table[(crc ^ byte[i]) & 255];
  return ~crc;
}

static uint32_t header_crc(const struct payload_header *header) {
  struct payload_header copy = *header;
  copy.header_crc = 0;
  return payload_crc32(0, &copy, sizeof copy);
}

/* Whether a byte can be read. Pages of a mapped file beyond its end raise SIGBUS when touched; the kernel answers EFAULT instead. */
static int is_readable(const char *address) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return 1;
  int readable = write(ends[1], address, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return readable;
}

static nautilus_status bad_library(const char *what) {
  Dl_info info;
  const char *path = dladdr(&nautilus_payload_descriptor, &info) && info.dli_fname ? info.dli_fname : "this library";
  return error_set(NAUTILUS_BAD_LIBRARY, "%s %s. Compile the model again, or copy the whole file again.", path, what);
}

static int is_inside(const struct payload_section *section, uint64_t end, size_t alignment) {
  return section->offset % alignment == 0 && section->offset <= end && section->bytes <= end - section->offset;
}

static nautilus_status check(const struct payload_header *header, uint64_t bytes) {
  const char *base = (const char *)header;
  const struct payload_section *tables = &header->variants;
  if (bytes < sizeof *header + sizeof trailer || !is_readable(base) || !is_readable(base + bytes - 1))
    return bad_library("is truncated: the end of its model is missing");
  if (memcmp(header->magic, "NAUTILUS", sizeof header->magic) != 0)
    return bad_library("is damaged: its model does not begin as one (tools such as strip remove it)");
  if (header->version != PAYLOAD_VERSION || header->header_bytes != sizeof *header)
    return bad_library("is damaged: its model is of a version that its host code does not know");
  if (header->header_crc != header_crc(header))
    return bad_library("is damaged: the checksum of its header is wrong");
  if (header->payload_bytes != bytes || memcmp(base + bytes - sizeof trailer, trailer, sizeof trailer) != 0)
    return bad_library("is truncated: the end of its model is missing");
  for (size_t i = 0; i < PAYLOAD_TABLES; i++)
    if (!is_inside(&tables[i], header->tables_end, 8))
      return bad_library("is damaged: a table lies outside its model");
  if (header->tables_end > bytes || header->tables_end < sizeof *header ||
      (!header->has_weights_file && !is_inside(&header->weights, bytes, 256)))
    return bad_library("is damaged: a section lies outside its model");
  if (header->tables_crc != payload_crc32(0, base + sizeof *header, header->tables_end - sizeof *header))
    return bad_library("is damaged: the checksum of its plan is wrong");
  return NAUTILUS_OK;
}

/* Whether a patch names a dimension of an output, and a word that lies in every arena. */
static int is_count(const struct payload *payload, const struct payload_patch *patch) {
  const struct payload_header *header = payload->header;
  for (size_t i = 0; i < payload->variant_count; i++)
    if (payload->variants[i].arena_bytes / sizeof(int64_t) <= patch->size)
      return 0;
  if (patch->kind == PATCH_LIMIT)
    return patch->target < header->strings.bytes;
  return patch->target >= header->input_count && patch->target < header->ports.bytes / sizeof *payload->ports &&
         patch->field < payload->ports[patch->target].rank;
}

/* Whether a patch names a place and a row that are there. */
static int is_patch(const struct payload *payload, const struct payload_patch *patch) {
  const struct payload_header *header = payload->header;
  uint32_t fields = patch->kind == PATCH_GRID ? 3 : 1;
  size_t targets = header->ports.bytes / sizeof *payload->ports;
  if (patch->kind == PATCH_GRID)
    targets = header->launches.bytes / sizeof *payload->launches;
  else if (patch->kind == PATCH_WORD)
    targets = payload->word_count;
  else if (patch->kind == PATCH_ARENA)
    targets = payload->variant_count;
  else if (patch->kind == PATCH_COUNT || patch->kind == PATCH_LIMIT)
    return is_count(payload, patch);
  else if (patch->kind == PATCH_MAP)
    targets = payload->map_count;
  else if (patch->kind >= PATCH_KINDS)
    return 0;
  if (patch->target >= targets || patch->size >= payload->size_count)
    return 0;
  if (patch->kind == PATCH_DIMENSION)
    fields = payload->ports[patch->target].rank;
  else if (patch->kind == PATCH_MAP)
    fields = PAYLOAD_MAP_FIELDS;
  return patch->field < fields;
}

/* Whether what a port says of the memory that it shares is what the other one says, an input on one side and an output on the other. */
static int is_port(const struct payload *payload, size_t number) {
  const struct payload_header *header = payload->header;
  const struct payload_port *port = &payload->ports[number];
  size_t other = (size_t)port->shared - 1;
  if (port->shared == 0)
    return 1;
  if (other >= (size_t)header->input_count + header->output_count || (other < header->input_count) == (number < header->input_count))
    return 0;
  const struct payload_port *partner = &payload->ports[other];
  return partner->shared == number + 1 && partner->axis == port->axis && partner->capacity == port->capacity && port->axis < port->rank &&
         partner->rank == port->rank && partner->dtype == port->dtype && partner->bytes == port->bytes && port->capacity > 0;
}

static nautilus_status check_ports(const struct payload *payload) {
  size_t count = payload->header->ports.bytes / sizeof *payload->ports;
  if ((uint64_t)payload->header->input_count + payload->header->output_count > count)
    return bad_library("is damaged: an input or output of it is missing");
  for (size_t i = 0; i < count; i++)
    if (!is_port(payload, i))
      return bad_library("is damaged: an input and an output of it do not share the same memory");
  return NAUTILUS_OK;
}

/* Whether an input has an element that the host can read: its own shape is fixed. */
static int is_element(const struct payload *payload, uint32_t input, uint64_t element) {
  if (input >= payload->header->input_count)
    return 0;
  const struct payload_port *port = &payload->ports[input];
  size_t bytes = values_element_bytes((nautilus_dtype)port->dtype);
  for (uint32_t i = 0; i < port->rank; i++)
    if (payload->dims[port->dim_first + i] < 0)
      return 0;
  return bytes > 0 && element < port->bytes / bytes;
}

static int is_symbol(const struct payload *payload, const struct payload_symbol *symbol) {
  if (symbol->divisor < 1 || symbol->low > symbol->high || symbol->name >= payload->header->strings.bytes || symbol->source >= SOURCES)
    return 0;
  if (symbol->source == SOURCE_READ)
    return symbol->low >= 0;
  return symbol->source == SOURCE_DIMENSION ? symbol->low >= 0 : is_element(payload, symbol->input, symbol->element);
}

/* Whether a row is made of what there is before it. */
static int is_size(const struct payload *payload, size_t row) {
  const struct payload_size *size = &payload->sizes[row];
  switch (size->operation) {
  case SIZE_CONSTANT:
    return 1;
  case SIZE_SYMBOL:
    return size->left < payload->symbol_count;
  case SIZE_ELEMENT:
    return size->right >= 0 && is_element(payload, size->left, (uint64_t)size->right);
  default:
    return size->operation < SIZE_OPERATIONS && size->left < row && size->right >= 0 && (uint64_t)size->right < row;
  }
}

static nautilus_status check_sizes(const struct payload *payload) {
  for (size_t i = 0; i < payload->header->ports.bytes / sizeof *payload->ports; i++)
    if (payload->ports[i].dim_first > payload->dim_count || payload->ports[i].rank > payload->dim_count - payload->ports[i].dim_first)
      return bad_library("is damaged: a shape lies outside its table");
  for (size_t i = 0; i < payload->symbol_count; i++)
    if (!is_symbol(payload, &payload->symbols[i]))
      return bad_library("is damaged: a dimension of it has no sizes");
  for (size_t i = 0; i < payload->size_count; i++)
    if (!is_size(payload, i))
      return bad_library("is damaged: a size that it works out is made of nothing");
  for (size_t i = 0; i < payload->check_count; i++) {
    const struct payload_check *check = &payload->checks[i];
    if (check->text >= payload->header->strings.bytes || check->value >= payload->size_count || check->low >= payload->size_count ||
        check->high >= payload->size_count)
      return bad_library("is damaged: a check that it makes is of nothing");
  }
  for (size_t i = 0; i < payload->patch_count; i++)
    if (!is_patch(payload, &payload->patches[i]))
      return bad_library("is damaged: a size that it works out has no place");
  return NAUTILUS_OK;
}

/* Whether a word is there: its table has it, and the ports or slots have what it names. */
static int is_word(const struct payload *payload, const struct payload_variant *variant, uint32_t index) {
  if (index >= payload->word_count)
    return 0;
  const struct payload_word *word = &payload->words[index];
  uint32_t known = word->kind == WORD_INPUT    ? payload->header->input_count
                   : word->kind == WORD_OUTPUT ? payload->header->output_count
                   : word->kind == WORD_SLOT   ? variant->slot_count
                                               : UINT32_MAX;
  return word->kind < WORD_KINDS && word->index < known && (word->kind != WORD_HOST || word->value <= PAYLOAD_HOST_BYTES - sizeof(uint64_t));
}

static int is_word_or_none(const struct payload *payload, const struct payload_variant *variant, uint32_t index) {
  return index == PAYLOAD_NONE || is_word(payload, variant, index);
}

static int is_loop(const struct payload *payload, const struct payload_variant *variant, const struct payload_step *step) {
  size_t carries = payload->header->carries.bytes / sizeof *payload->carries;
  size_t elements = payload->header->elements.bytes / sizeof *payload->elements;
  if (step->carry_first > carries || step->carry_count > carries - step->carry_first || step->element_first > elements ||
      step->element_count > elements - step->element_first || step->held[1] != 0 || step->most < 0)
    return 0;
  for (uint32_t i = 0; i < step->carry_count; i++) {
    const struct payload_carry *carry = &payload->carries[step->carry_first + i];
    if (carry->read >= variant->slot_count || carry->write >= variant->slot_count || !is_word(payload, variant, carry->initial) ||
        !is_word(payload, variant, carry->result) || !is_word(payload, variant, carry->spare) || !is_word(payload, variant, carry->bytes) ||
        !is_word(payload, variant, carry->initial_bytes))
      return 0;
  }
  for (uint32_t i = 0; i < step->element_count; i++) {
    const struct payload_element *element = &payload->elements[step->element_first + i];
    if (element->slot >= variant->slot_count || !is_word(payload, variant, element->base) || !is_word(payload, variant, element->stride))
      return 0;
  }
  return is_word_or_none(payload, variant, step->words[0]) && is_word_or_none(payload, variant, step->words[1]) &&
         is_word_or_none(payload, variant, step->words[2]);
}

/* Whether COUNT steps from FIRST on, with what they hold, are there and name what is there. */
static int are_steps(const struct payload *payload, const struct payload_variant *variant, uint32_t first, uint32_t count, int depth) {
  if (depth > PAYLOAD_DEPTH)
    return 0;
  for (uint32_t i = 0; i < count; i++) {
    const struct payload_step *step = &payload->steps[first + i];
    uint32_t left = count - i - 1;
    if (step->kind >= STEP_KINDS || step->name >= payload->header->strings.bytes || step->held[0] > left ||
        step->held[1] > left - step->held[0])
      return 0;
    if (step->kind < STEP_IF && step->held[0] + step->held[1] > 0)
      return 0;
    if (step->kind == STEP_LAUNCHES && (step->first > variant->launch_count || step->count > variant->launch_count - step->first))
      return 0;
    if (step->kind == STEP_COPY && !(is_word(payload, variant, step->words[0]) && is_word(payload, variant, step->words[1]) &&
                                     is_word(payload, variant, step->words[2])))
      return 0;
    if (step->kind == STEP_READ && !(is_word(payload, variant, step->words[0]) && step->first < payload->symbol_count &&
                                     payload->symbols[step->first].source == SOURCE_READ))
      return 0;
    if (step->kind == STEP_IF && !is_word(payload, variant, step->words[0]))
      return 0;
    if (step->kind == STEP_LOOP && !is_loop(payload, variant, step))
      return 0;
    if (!are_steps(payload, variant, first + i + 1, step->held[0], depth + 1) ||
        !are_steps(payload, variant, first + i + 1 + step->held[0], step->held[1], depth + 1))
      return 0;
    i += step->held[0] + step->held[1];
  }
  return 1;
}

/* Whether a launch, or what is launched in its place, names what is there. */
static int is_launch(const struct payload *payload, const struct payload_variant *variant, const struct payload_launch *launch) {
  if (launch->kernel >= variant->kernel_count || launch->word_first > payload->word_count ||
      launch->word_count > payload->word_count - launch->word_first)
    return 0;
  for (uint32_t i = 0; i < launch->word_count; i++)
    if (!is_word(payload, variant, launch->word_first + i))
      return 0;
  return 1;
}

static int are_alternatives(const struct payload *payload, const struct payload_variant *variant, const struct payload_launch *launch) {
  size_t rows = payload->header->launches.bytes / sizeof *payload->launches - variant->launch_first;
  if (launch->alternative_count > 0 && launch->alternative_first < variant->launch_count)
    return 0;
  if (launch->alternative_first > rows || launch->alternative_count > rows - launch->alternative_first)
    return 0;
  for (uint32_t i = 0; i < launch->alternative_count; i++) {
    const struct payload_launch *alternative = &payload->launches[variant->launch_first + launch->alternative_first + i];
    if (alternative->condition >= payload->size_count || !is_launch(payload, variant, alternative))
      return 0;
  }
  return 1;
}

static nautilus_status check_steps(const struct payload *payload) {
  size_t steps = payload->header->steps.bytes / sizeof *payload->steps;
  size_t launches = payload->header->launches.bytes / sizeof *payload->launches;
  for (size_t i = 0; i < payload->variant_count; i++) {
    const struct payload_variant *variant = &payload->variants[i];
    if (variant->step_first > steps || variant->step_count > steps - variant->step_first || variant->launch_first > launches ||
        variant->launch_count > launches - variant->launch_first || variant->slot_count > payload->word_count ||
        !are_steps(payload, variant, variant->step_first, variant->step_count, 0))
      return bad_library("is damaged: a step of its plan is made of nothing");
    for (uint32_t j = 0; j < variant->launch_count; j++) {
      const struct payload_launch *launch = &payload->launches[variant->launch_first + j];
      if (!is_launch(payload, variant, launch) || !are_alternatives(payload, variant, launch))
        return bad_library("is damaged: a launch of its plan names what is not there");
    }
  }
  return NAUTILUS_OK;
}

nautilus_status payload_open(struct payload *payload) {
  /* Volatile: the payload lies beyond every object that the compiler knows of. */
  volatile uintptr_t address = (uintptr_t)&nautilus_payload_descriptor + (uintptr_t)nautilus_payload_descriptor.offset;
  const char *base = (const char *)address;
  const struct payload_header *header = (const struct payload_header *)base;
  if (nautilus_payload_descriptor.bytes == 0)
    return bad_library("holds no model: it is the bare host code");
  TRY(check(header, nautilus_payload_descriptor.bytes));
  payload->header = header;
  payload->base = base;
  payload->variants = (const struct payload_variant *)(base + header->variants.offset);
  payload->variant_count = header->variants.bytes / sizeof *payload->variants;
  payload->images = (const struct payload_image *)(base + header->images.offset);
  payload->ports = (const struct payload_port *)(base + header->ports.offset);
  payload->dims = (const int64_t *)(base + header->dims.offset);
  payload->kernels = (const struct payload_kernel *)(base + header->kernels.offset);
  payload->launches = (const struct payload_launch *)(base + header->launches.offset);
  payload->words = (const struct payload_word *)(base + header->words.offset);
  payload->strings = base + header->strings.offset;
  payload->symbols = (const struct payload_symbol *)(base + header->symbols.offset);
  payload->sizes = (const struct payload_size *)(base + header->sizes.offset);
  payload->patches = (const struct payload_patch *)(base + header->patches.offset);
  payload->maps = (const struct payload_map *)(base + header->maps.offset);
  payload->map_count = header->maps.bytes / sizeof *payload->maps;
  payload->dim_count = header->dims.bytes / sizeof *payload->dims;
  payload->word_count = header->words.bytes / sizeof *payload->words;
  payload->symbol_count = header->symbols.bytes / sizeof *payload->symbols;
  payload->size_count = header->sizes.bytes / sizeof *payload->sizes;
  payload->patch_count = header->patches.bytes / sizeof *payload->patches;
  payload->checks = (const struct payload_check *)(base + header->checks.offset);
  payload->check_count = header->checks.bytes / sizeof *payload->checks;
  payload->steps = (const struct payload_step *)(base + header->steps.offset);
  payload->carries = (const struct payload_carry *)(base + header->carries.offset);
  payload->elements = (const struct payload_element *)(base + header->elements.offset);
  TRY(check_ports(payload));
  TRY(check_sizes(payload));
  return check_steps(payload);
}

nautilus_status payload_check_code(const struct payload *payload, const struct payload_variant *variant) {
  for (uint32_t i = 0; i < variant->image_count; i++) {
    const struct payload_image *image = &payload->images[variant->image_first + i];
    if (!is_inside(&image->code, payload->header->payload_bytes, 256) ||
        image->crc != payload_crc32(0, payload->base + image->code.offset, image->code.bytes))
      return bad_library("is damaged: the checksum of its code is wrong");
  }
  return NAUTILUS_OK;
}

void payload_needed(const struct payload *payload, char *text, size_t bytes) {
  size_t length = (size_t)snprintf(text, bytes, "This library holds code for"), emulated = 0;
  for (size_t i = 0; i < payload->variant_count && length < bytes; i++) {
    length += (size_t)snprintf(text + length, bytes - length, "%s %s", i ? "," : "", payload->strings + payload->variants[i].name);
    emulated += payload->variants[i].kind == PAYLOAD_EMULATED;
  }
  /* Beside a GPU's code it runs only where it is asked for. */
  if (length < bytes)
    snprintf(text + length, bytes - length, "%s.", emulated > 0 && emulated < payload->variant_count ? " (which runs with --emulated)" : "");
}
