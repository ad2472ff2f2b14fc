/* The payload: a model as data, appended to this library by nautilus_cli/artifact (payload.py writes what this file describes).
 *
 *   header | tables: variants, images, ports, dimensions, kernels, launches, words, strings, maps, symbols, sizes, patches, checks, steps,
 *            carries, elements | code | weights | "NAUTEND\0"
 *
 * Little endian; offsets count from the start of the payload, which is page aligned; tables are 8-byte, code and weights 256-byte
 * aligned (weights may lie in a file of their own: weights.h); a string is an offset into the strings, NUL-terminated UTF-8. A variant is one target: its images (modules of code: any
 * number of cubins, or one emulated image), kernels, launches, and the steps that say which of these run, and when.
 */
#ifndef NAUTILUS_HOST_PAYLOAD_H
#define NAUTILUS_HOST_PAYLOAD_H

#include <nautilus/abi.h>

#define PAYLOAD_VERSION 10
#define PAYLOAD_TABLES 16
#define PAYLOAD_MAP_RANK 5

struct payload_section {
  uint64_t offset;
  uint64_t bytes;
};

struct payload_header {
  char magic[8];           /* "NAUTILUS" */
  uint32_t version;        /* PAYLOAD_VERSION */
  uint32_t header_bytes;   /* sizeof(struct payload_header) */
  uint64_t payload_bytes;  /* all of it */
  uint32_t header_crc;     /* CRC-32 of the header while this field is zero */
  uint32_t tables_crc;     /* CRC-32 from the end of the header to tables_end */
  uint64_t tables_end;
  struct payload_section variants, images, ports, dims, kernels, launches, words, strings, maps, symbols, sizes, patches, checks; /* PAYLOAD_TABLES */
  struct payload_section steps, carries, elements; /* of PAYLOAD_TABLES too */
  struct payload_section weights; /* in the payload, or in the file of weights */
  uint32_t input_count;    /* the first ports; the outputs follow */
  uint32_t output_count;
  uint32_t producer;       /* string: version of Nautilus */
  uint32_t weights_file;   /* string: name of the file of weights, which lies beside this library */
  uint32_t has_weights_file; /* 0: the weights lie in the payload */
  uint32_t weights_head_crc; /* CRC-32 of that file up to the weights; among what it covers is their SHA-256 */
  uint8_t model_digest[32]; /* SHA-256 of each */
  uint8_t manifest_digest[32];
  uint8_t plan_digest[32];  /* of the tables */
  uint8_t weights_digest[32];
};

enum payload_kind { PAYLOAD_CUBIN = 0, PAYLOAD_EMULATED = 1 };

struct payload_variant {
  uint32_t name; /* string */
  uint32_t kind; /* enum payload_kind */
  uint32_t major, minor;
  uint32_t exact;
  uint32_t slot_count; /* addresses that move while it runs */
  uint32_t image_first, image_count;
  uint32_t kernel_first, kernel_count;
  uint32_t launch_first, launch_count;
  uint32_t step_first, step_count; /* none: all launches, one after another */
  uint64_t arena_bytes;
};

struct payload_image {
  struct payload_section code;
  uint32_t crc; /* CRC-32 of the code */
  uint32_t reserved;
};

struct payload_port {
  uint32_t name; /* string */
  uint32_t dtype; /* nautilus_dtype */
  uint32_t rank;
  uint32_t dim_first;
  uint64_t bytes;
  uint32_t shared;  /* 1 + the port of the other kind that has the same memory; 0 where it has its own */
  uint32_t axis;    /* of a shared one: the dimension along which the output has more rows than the input */
  int64_t capacity; /* of a shared one: rows along it that the memory has room for */
};

struct payload_kernel {
  uint32_t symbol;       /* string */
  uint32_t shared_bytes; /* dynamic shared memory of a block */
  uint32_t image;        /* counted from the variant's first */
  uint32_t map_first, map_count; /* tensor maps, of 16 words each, that lie before the words of a launch */
  uint32_t reserved;
};

/* A tensor that a kernel's bulk copies move boxes of, innermost dimension first: what cuTensorMapEncodeTiled is given. */
struct payload_map {
  uint32_t word;    /* of a launch: the address behind which it lies */
  uint32_t element; /* CU_TENSOR_* element type */
  uint32_t rank;    /* up to PAYLOAD_MAP_RANK */
  uint32_t swizzle; /* CU_TENSOR_SWIZZLE_* */
  uint64_t offset;  /* bytes from the address */
  uint64_t extents[PAYLOAD_MAP_RANK];
  uint64_t strides[PAYLOAD_MAP_RANK - 1]; /* bytes, of all dimensions but the first */
  uint32_t box[PAYLOAD_MAP_RANK];
  uint32_t reserved;
};

/* The kernel waits for the one before it by itself: it may start when that one lets it (programmatic dependent launch). */
enum { LAUNCH_DEPENDENT = 1 };

struct payload_launch {
  uint32_t kernel; /* counted from the variant's first */
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  uint32_t word_first, word_count;
  uint32_t flags; /* LAUNCH_* */
  /* What is launched in its place: the first row of these, counted from the variant's first, whose condition is at most 0. They lie behind
   * the launches that a variant counts. */
  uint32_t alternative_first, alternative_count;
  uint32_t condition; /* of an alternative: row of the sizes */
};

enum payload_word_kind { WORD_INPUT, WORD_OUTPUT, WORD_ARENA, WORD_WEIGHTS, WORD_STATUS, WORD_INTEGER, WORD_SLOT, WORD_HOST, WORD_KINDS };

struct payload_word {
  uint32_t kind;  /* enum payload_word_kind */
  uint32_t index; /* which input, output or slot */
  uint64_t value; /* byte offset, or the integer */
};

/* Where the value of a symbol comes from: a dimension of an input that is nothing but the symbol; an element of an input, of which a
 * value outside the range is an error; such an element that stands for the nearest value in the range; a step of the run that reads it. */
enum payload_source { SOURCE_DIMENSION, SOURCE_ELEMENT, SOURCE_SATURATING, SOURCE_READ, SOURCES };

/* An integer that is known only when the model runs. */
struct payload_symbol {
  uint32_t name;   /* string */
  uint32_t source; /* enum payload_source */
  uint32_t input;  /* of an element: the input */
  uint32_t element;
  int64_t low, high; /* its values */
  int64_t divisor;   /* of all of them */
};

enum payload_operation { SIZE_CONSTANT, SIZE_SYMBOL, SIZE_ADD, SIZE_MULTIPLY, SIZE_DIVIDE, SIZE_MAXIMUM, SIZE_FACTOR,
                         SIZE_IS_ZERO, SIZE_IS_POSITIVE, SIZE_ELEMENT, SIZE_DOUBLE, SIZE_FLOAT_ADD, SIZE_FLOAT_SUBTRACT, SIZE_FLOAT_MULTIPLY,
                         SIZE_FLOAT_DIVIDE, SIZE_SINGLE, SIZE_FLOOR, SIZE_CEIL, SIZE_EVEN, SIZE_OPERATIONS };

/* A number worked out from rows before it. From SIZE_ELEMENT to SIZE_SINGLE it is one of double precision, by its bits: an element of an
 * input (`left`) of floats, a row as one, a function of such rows, one rounded to single precision. SIZE_FLOOR to SIZE_EVEN round one. */
struct payload_size {
  uint32_t operation; /* enum payload_operation; a quotient is rounded down; a factor is that of nautilus_cli/ir/functions.py, of `left` */
  uint32_t left;      /* row, symbol, or input */
  int64_t right;      /* row, the constant, or the element */
};

enum payload_patch_kind { PATCH_DIMENSION, PATCH_BYTES, PATCH_GRID, PATCH_WORD, PATCH_ARENA, PATCH_COUNT, PATCH_MAP, PATCH_LIMIT, PATCH_KINDS };

/* Where such a number goes: in the tables above stands the greatest that it can be; -1 for a dimension, 0 for a word. A count is a
 * dimension of an output that a kernel gives; the patches before it set what it is at most. A limit is a number that a kernel gives, which is
 * to be no greater, or the run fails. */
struct payload_patch {
  uint32_t kind;   /* enum payload_patch_kind */
  uint32_t target; /* port, launch, word, variant or map; of a limit, a string: what the number is called */
  uint32_t field;  /* dimension of the port or of the grid; of a map: its extents, its strides, its offset, one after another; of a limit: it */
  uint32_t size;   /* row; of a count or limit, the int64 word of the arena that holds it once a run has ended */
};

/* That a row lies in a range, or the run is refused. */
struct payload_check {
  uint32_t text; /* string: what the row's value is */
  uint32_t value, low, high; /* rows */
};

/* Steps that a step holds lie behind it. */
enum payload_step_kind { STEP_LAUNCHES, STEP_COPY, STEP_REFUSE, STEP_READ, STEP_IF, STEP_LOOP, STEP_KINDS };

/* In place of a word: there is none. */
#define PAYLOAD_NONE UINT32_MAX

/* Steps within steps, at most. */
#define PAYLOAD_DEPTH 32

/* Bytes of the host's memory that kernels write what decides steps to, at most. */
#define PAYLOAD_HOST_BYTES (1 << 20)

/* Part of a run. Its words are of the table of words, and of no launch. */
struct payload_step {
  uint32_t kind; /* enum payload_step_kind */
  uint32_t name; /* string: the node, where it is an If or a Loop; what there is to say, where a run that gets here is refused */
  uint32_t first, count; /* launches, counted from the variant's first; of a Read, the symbol and 0 */
  uint32_t held[2];      /* steps behind this one that it holds: of the two branches of an If; of the body of a Loop, and 0 */
  /* A copy: where to, where from, how many bytes. A Read: where the number lies, an int64. An If: its condition, or where that lies, a byte. A Loop: how many iterations there are, an integer
   * or where one of 8 bytes lies; where the condition lies that is read before the first iteration; where that which each gives. */
  uint32_t words[3];
  uint32_t carry_first, carry_count;     /* of a Loop */
  uint32_t element_first, element_count; /* of a Loop */
  uint32_t reserved;
  int64_t most; /* iterations of a Loop, which is an error if it would go on */
};

/* What an iteration leaves to the next one: each writes where the last one did not. After the loop it lies at `result`. */
struct payload_carry {
  uint32_t read, write;            /* slots */
  uint32_t initial, result, spare; /* words: where the first iteration reads, and where iterations write by turns */
  uint32_t bytes, initial_bytes;   /* words: of what iterations write, and of what the first one reads */
  uint32_t reserved;
};

/* What each iteration reads or writes a piece of, one after another. */
struct payload_element {
  uint32_t slot;
  uint32_t base, stride; /* words: the first piece's place, and how many bytes it is to the next one's */
  uint32_t reserved;
};

/* Numbers of a map that a patch can give: PAYLOAD_MAP_RANK extents, a stride less, and the offset. */
#define PAYLOAD_MAP_FIELDS (2 * PAYLOAD_MAP_RANK)

/* The payload, checked. */
struct payload {
  const struct payload_header *header;
  const struct payload_variant *variants;
  size_t variant_count;
  const struct payload_image *images;
  const struct payload_port *ports;
  const int64_t *dims;
  const struct payload_kernel *kernels;
  const struct payload_launch *launches;
  const struct payload_word *words;
  const struct payload_map *maps;
  const struct payload_symbol *symbols;
  const struct payload_size *sizes;
  const struct payload_patch *patches;
  const struct payload_check *checks;
  const struct payload_step *steps;
  const struct payload_carry *carries;
  const struct payload_element *elements;
  size_t dim_count, word_count, map_count, symbol_count, size_count, patch_count, check_count;
  const char *strings;
  const char *base;
};

/* Finds the payload of this library; checks that all of it is there and that header and tables are as they were written. */
nautilus_status payload_open(struct payload *payload);

/* CRC-32 of IEEE 802.3, as zlib's crc32; CRC is that of the bytes before, 0 at first. */
uint32_t payload_crc32(uint32_t crc, const void *data, size_t bytes);

/* Checks the code of a variant; the weights are too large to read twice at every load. */
nautilus_status payload_check_code(const struct payload *payload, const struct payload_variant *variant);

/* Writes "This library holds code for A, B." */
void payload_needed(const struct payload *payload, char *text, size_t bytes);

#endif
