// Bulk copies: boxes of tensors and runs of bytes.

#include "tensor_copy.h"

#include <nautilus/device/emulated/tensor_copy.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "block.h"
#include "tensor_map.h"

namespace nautilus::emulated {
namespace {

constexpr unsigned kChunkBytes = 16;
constexpr unsigned kBoxAlignment = 128;

// One copy of a box between shared and global memory.
struct BoxCopy {
    EncodedTensorMap map;
    unsigned shared;  // offset
    int at[kMostTensorRank];
};

unsigned elements_along(const EncodedTensorMap &map, int dimension) {
    return (map.box[dimension] + map.steps[dimension] - 1u) / map.steps[dimension];
}

unsigned bytes_of_row(const EncodedTensorMap &map) { return map.box[0] * bytes_of(map.type); }

unsigned bytes_of_box(const EncodedTensorMap &map) {
    unsigned bytes = bytes_of_row(map);
    for (int i = 1; i < map.rank; ++i) bytes *= elements_along(map, i);
    return bytes;
}

// Calls MOVE(offset in shared memory, global address, bytes inside) for every 16 bytes of a box; the bytes inside of the tensor are the first
// ones of the chunk, since boxes begin at multiples of 16 bytes.
template <typename Move>
void for_each_chunk(const BoxCopy &copy, Move move) {
    const EncodedTensorMap &map = copy.map;
    const unsigned element_bytes = bytes_of(map.type), row_bytes = bytes_of_row(map);
    unsigned counts[kMostTensorRank] = {1, 1, 1, 1, 1};
    for (int i = 1; i < map.rank; ++i) counts[i] = elements_along(map, i);
    unsigned row = 0;
    unsigned index[kMostTensorRank] = {};
    for (index[4] = 0; index[4] < counts[4]; ++index[4]) {
        for (index[3] = 0; index[3] < counts[3]; ++index[3]) {
            for (index[2] = 0; index[2] < counts[2]; ++index[2]) {
                for (index[1] = 0; index[1] < counts[1]; ++index[1], ++row) {
                    bool is_inside = true;
                    std::uint64_t address = map.address;
                    for (int i = 1; i < map.rank; ++i) {
                        const std::int64_t place = std::int64_t{copy.at[i]} + std::int64_t{index[i]} * map.steps[i];
                        is_inside = is_inside && place >= 0 && place <= std::int64_t{map.last[i]};
                        address += static_cast<std::uint64_t>(place) * map.strides[i - 1];
                    }
                    for (unsigned byte = 0; byte < row_bytes; byte += kChunkBytes) {
                        const std::int64_t first = std::int64_t{copy.at[0]} + byte / element_bytes;
                        const std::int64_t count = kChunkBytes / element_bytes;
                        const bool is_row_inside = is_inside && first >= 0;
                        const std::int64_t kept = is_row_inside ? std::clamp<std::int64_t>(std::int64_t{map.last[0]} + 1 - first, 0, count) : 0;
                        move(swizzled(copy.shared + row * row_bytes + byte, map.swizzle),
                             reinterpret_cast<char *>(address + static_cast<std::uint64_t>(first * element_bytes)),
                             static_cast<unsigned>(kept * element_bytes));
                    }
                }
            }
        }
    }
}

// What a load makes of single-precision elements: tensor floats are rounded to nearest even, and of NaNs there is one. Measured on an H200,
// where the types that flush subnormals do not flush them on the way in.
void convert_loaded(TensorElement type, unsigned char *chunk) {
    if (type != TensorElement::kTfloat32 && type != TensorElement::kTfloat32Ftz) return;
    for (unsigned byte = 0; byte < kChunkBytes; byte += 4) {
        std::uint32_t bits;
        std::memcpy(&bits, chunk + byte, 4);
        const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
        if (magnitude > 0x7F800000u) {
            bits = 0x7FFFE000u;
        } else if (magnitude < 0x7F800000u) {
            bits = (bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFFu;
        }
        std::memcpy(chunk + byte, &bits, 4);
    }
}

void read_box(Block &block, const BoxCopy &copy) {
    for_each_chunk(copy, [&](unsigned offset, const char *global, unsigned inside) {
        unsigned char chunk[kChunkBytes] = {};
        if (inside > 0) std::memcpy(chunk, global, inside);
        convert_loaded(copy.map.type, chunk);
        std::memcpy(block.shared + offset, chunk, kChunkBytes);
    });
}

// Takes what a store is to write out of shared memory, chunk by chunk.
std::vector<unsigned char> take_box(Block &block, const BoxCopy &copy) {
    std::vector<unsigned char> bytes;
    bytes.reserve(bytes_of_box(copy.map));
    for_each_chunk(copy, [&](unsigned offset, char *, unsigned) {
        bytes.insert(bytes.end(), block.shared + offset, block.shared + offset + kChunkBytes);
    });
    return bytes;
}

// Of a chunk that is partly inside of the tensor the whole is written: a row that ends within 16 bytes takes what lies behind it with it.
void write_box(const BoxCopy &copy, const std::vector<unsigned char> &bytes) {
    const unsigned char *chunk = bytes.data();
    for_each_chunk(copy, [&](unsigned, char *global, unsigned inside) {
        if (inside > 0) std::memcpy(global, chunk, kChunkBytes);
        chunk += kChunkBytes;
    });
}

BoxCopy box_copy(const void *map, const void *shared, const int *at, int rank, const char *operation, Site site) {
    check_tensor_map(map, rank, site);
    BoxCopy copy = {};
    std::memcpy(&copy.map, map, sizeof copy.map);
    check_alignment(operation, shared, kBoxAlignment, site);
    check_shared(shared, bytes_of_box(copy.map), operation, site);
    copy.shared = shared_offset(shared, site);
    std::copy(at, at + rank, copy.at);
    // To a GPU such a copy is an illegal instruction.
    const std::int64_t begin = std::int64_t{at[0]} * bytes_of(copy.map.type);
    if (begin % kChunkBytes != 0) {
        const std::string place = std::to_string(begin) + " bytes into a row, no multiple of 16";
        fail(FailureKind::kMisuse, std::string(operation) + " of a box that begins " + place, site);
    }
    return copy;
}

void check_run(const void *shared, const void *global, int bytes, const char *operation, Site site) {
    if (bytes < 0 || bytes % kChunkBytes != 0)
        fail(FailureKind::kMisuse, std::string(operation) + " of bytes that are no multiple of 16", site);
    check_alignment(operation, shared, kChunkBytes, site);
    check_alignment(operation, global, kChunkBytes, site);
    check_shared(shared, static_cast<unsigned>(bytes), operation, site);
}

void poison_destination(void *shared, unsigned bytes) {
    const Options &options = this_block().options();
    if (options.lazy && options.poison) std::memset(shared, kPoison, bytes);
}

struct LoadOfBox {
    BoxCopy copy;
    unsigned barrier;
    Site site;
};

struct LoadOfRun {
    unsigned shared;
    const void *global;
    int bytes;
    unsigned barrier;
    Site site;
};

struct StoreOfValues {
    unsigned shared;
    unsigned char values[kChunkBytes];
    unsigned bytes;
    unsigned barrier;
    Site site;
};

template <typename Payload>
void start(const Payload &payload, void (*run)(void *), const char *name, Site site) {
    static_assert(sizeof(Payload) <= sizeof(DeferredOperation::payload), "the operation holds what it needs");
    DeferredOperation operation = {};
    operation.run = run;
    operation.name = name;
    operation.site = site;
    std::memcpy(operation.payload, &payload, sizeof payload);
    defer(operation);
}

void carry_out(const PendingStore &store) {
    if (store.is_box) {
        BoxCopy copy;
        std::memcpy(&copy, store.copy, sizeof copy);
        write_box(copy, store.data);
    } else {
        std::memcpy(store.global, store.data.data(), store.data.size());
    }
}

void take(Block &block, PendingStore &store) {
    if (store.is_read) return;
    store.is_read = true;
    if (store.is_box) {
        BoxCopy copy;
        std::memcpy(&copy, store.copy, sizeof copy);
        store.data = take_box(block, copy);
    } else {
        store.data.assign(block.shared + store.shared, block.shared + store.shared + store.bytes);
    }
}

void start_store(PendingStore &&store) {
    Thread &self = this_thread();
    store.group = self.bulk_groups;
    if (this_block().options().lazy) {
        self.stores.push_back(std::move(store));
    } else {
        take(this_block(), store);
        carry_out(store);
    }
}

}  // namespace

void write_taken_stores(Thread &thread) {
    for (const PendingStore &store : thread.stores) carry_out(store);
    thread.stores.clear();
}

// ---- what kernel text calls

void check_tensor_map(const void *map, int rank, Site site) {
    check_alignment("a tensor map", map, 64, site);
    EncodedTensorMap encoded;
    std::memcpy(&encoded, map, sizeof encoded);
    if (encoded.magic != EncodedTensorMap::kMagic) fail("what is no tensor map is used as one", site);
    if (rank != 0 && rank != encoded.rank) {
        fail(FailureKind::kMisuse, std::to_string(rank) + " coordinates for a tensor map of rank " + std::to_string(encoded.rank), site);
    }
}

void tensor_load(void *shared, const void *map, void *barrier, const int *at, int rank, Site site) {
    const sanitizer::Ignore runtime;
    LoadOfBox load = {box_copy(map, shared, at, rank, "tensor_load", site), check_mbarrier(barrier, "tensor_load", site), site};
    poison_destination(shared, bytes_of_box(load.copy.map));
    start(
        load,
        [](void *payload) {
            LoadOfBox load;
            std::memcpy(&load, payload, sizeof load);
            Block &block = this_block();
            read_box(block, load.copy);
            complete_bytes(block, load.barrier, static_cast<int>(bytes_of_box(load.copy.map)), load.site);
        },
        "tensor_load", site);
}

void bulk_load(void *shared, const void *global, int bytes, void *barrier, Site site) {
    const sanitizer::Ignore runtime;
    check_run(shared, global, bytes, "bulk_load", site);
    const LoadOfRun load = {shared_offset(shared, site), global, bytes, check_mbarrier(barrier, "bulk_load", site), site};
    poison_destination(shared, static_cast<unsigned>(bytes));
    start(
        load,
        [](void *payload) {
            LoadOfRun load;
            std::memcpy(&load, payload, sizeof load);
            Block &block = this_block();
            std::memcpy(block.shared + load.shared, load.global, static_cast<std::size_t>(load.bytes));
            complete_bytes(block, load.barrier, load.bytes, load.site);
        },
        "bulk_load", site);
}

void store_async(void *shared, const void *values, unsigned bytes, void *barrier, Site site) {
    const sanitizer::Ignore runtime;
    check_alignment("store_shared_async", shared, bytes, site);
    check_shared(shared, bytes, "store_shared_async", site);
    StoreOfValues store = {shared_offset(shared, site), {}, bytes, check_mbarrier(barrier, "store_shared_async", site), site};
    std::memcpy(store.values, values, bytes);
    poison_destination(shared, bytes);
    start(
        store,
        [](void *payload) {
            StoreOfValues store;
            std::memcpy(&store, payload, sizeof store);
            Block &block = this_block();
            std::memcpy(block.shared + store.shared, store.values, store.bytes);
            complete_bytes(block, store.barrier, static_cast<int>(store.bytes), store.site);
        },
        "store_shared_async", site);
}

void tensor_store(const void *map, const void *shared, const int *at, int rank, Site site) {
    const sanitizer::Ignore runtime;
    const BoxCopy copy = box_copy(map, shared, at, rank, "tensor_store", site);
    for (int i = 0; i < rank; ++i) {  // To a GPU such a store is an illegal instruction, where a load is none: measured on an H200.
        if (at[i] >= 0) continue;
        const std::string place = std::to_string(at[i]) + " of dimension " + std::to_string(i);
        fail(FailureKind::kMisuse, "tensor_store of a box that begins before the tensor, at " + place, site);
    }
    PendingStore store = {};
    static_assert(sizeof copy <= sizeof store.copy, "a pending store holds a copy");
    store.is_box = true;
    std::memcpy(store.copy, &copy, sizeof copy);
    store.site = site;
    start_store(std::move(store));
}

void bulk_store(void *global, const void *shared, int bytes, Site site) {
    const sanitizer::Ignore runtime;
    check_run(shared, global, bytes, "bulk_store", site);
    PendingStore store = {};
    store.global = global;
    store.shared = shared_offset(shared, site);
    store.bytes = static_cast<unsigned>(bytes);
    store.site = site;
    start_store(std::move(store));
}

void bulk_commit() { ++this_thread().bulk_groups; }

void bulk_wait(int groups_in_flight, bool is_read_enough) {
    const sanitizer::Ignore runtime;
    Thread &self = this_thread();
    if (self.stores.empty()) return;
    this_block().let_others_run(self);
    std::size_t kept = 0;
    for (PendingStore &store : self.stores) {
        const bool is_waited_for = store.group + static_cast<unsigned>(groups_in_flight) < self.bulk_groups;
        if (is_waited_for) take(this_block(), store);
        if (is_waited_for && !is_read_enough) {
            carry_out(store);
        } else if (&store != &self.stores[kept]) {
            self.stores[kept++] = std::move(store);
        } else {
            ++kept;
        }
    }
    self.stores.erase(self.stores.begin() + static_cast<std::ptrdiff_t>(kept), self.stores.end());
}

}  // namespace nautilus::emulated
