#include "warpgroup.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "block.h"
#include "matrix_product.h"
#include "tensor_map.h"

namespace nautilus::emulated {
namespace {

constexpr int kLanes = device::kWarpThreads;
constexpr int kMostColumns = 256;
constexpr int kChunksOfDepth = 2;  // 32 bytes
constexpr int kMostDepth = 16;
constexpr unsigned kChunkBytes = 16;

// ---- operands

// An operand's descriptor. Source: PTX ISA, "Matrix descriptor format" and "Strides" of wgmma.
class Descriptor {
public:
    Descriptor(std::uint64_t bits, bool is_transposed)
        : start_(field(bits, 0)),
          leading_(field(bits, 16)),
          stride_(field(bits, 32)),
          swizzle_(bits >> 62 == 0 ? 0 : 4 - static_cast<unsigned>(bits >> 62)),
          is_transposed_(is_transposed) {}

    // Why the emulator does not take it, or null.
    static const char *problem(std::uint64_t bits) {
        constexpr std::uint64_t kMeaningless = 0x3FF1C000C000C000;
        constexpr std::uint64_t kBaseOffset = std::uint64_t{7} << 49;
        if (bits & kBaseOffset) return "a wgmma descriptor with a base offset, which is not emulated,";
        return bits & kMeaningless ? "what is no wgmma descriptor" : nullptr;
    }

    // Where 16 bytes lie: of a row (or column) of the operand, the n'th along the depth.
    unsigned along_depth(unsigned row, unsigned chunk) const {
        const unsigned group = start_ + row / 8 * stride_;
        if (swizzle_ == 0) return group + row % 8 * kChunkBytes + chunk * leading_;
        return swizzled(group + row % 8 * span() + chunk * kChunkBytes, swizzle_);
    }
    // The n'th 16 bytes of rows at a depth.
    unsigned along_rows(unsigned depth, unsigned chunk) const {
        if (swizzle_ == 0) return start_ + chunk * stride_ + depth % 8 * kChunkBytes + depth / 8 * leading_;
        const unsigned chunks = span() / kChunkBytes;
        return swizzled(start_ + chunk / chunks * leading_ + chunk % chunks * kChunkBytes + depth % 8 * span() + depth / 8 * stride_,
                        swizzle_);
    }
    bool is_transposed() const { return is_transposed_; }

private:
    static unsigned field(std::uint64_t bits, int shift) { return static_cast<unsigned>(bits >> shift & 0x3FFF) << 4; }
    unsigned span() const { return kChunkBytes << swizzle_; }

    unsigned start_, leading_, stride_;
    unsigned swizzle_;  // as in a tensor map: none, within 32, 64, 128 bytes
    bool is_transposed_;
};

const unsigned char *chunk_at(Block &block, unsigned offset, Site site) {
    const unsigned char *chunk = block.shared + offset;
    check_shared(chunk, kChunkBytes, "an operand of wgmma", site);
    return chunk;
}

// Reads ROWS rows, a multiple of 8 from FIRST_ROW on, as [depth][row].
void read_by_depth(Block &block, const Descriptor &operand, TensorType type, int first_row, int rows, float *out, int pitch, Site site) {
    const int in_chunk = elements_of_chunk(type), depth = kChunksOfDepth * in_chunk;
    if (operand.is_transposed()) {
        for (int k = 0; k < depth; ++k) {
            for (int row = 0; row < rows; row += in_chunk) {
                const unsigned place = operand.along_rows(static_cast<unsigned>(k), static_cast<unsigned>((first_row + row) / in_chunk));
                write_chunk(type, out + k * pitch + row, read_chunk(type, chunk_at(block, place, site)));
            }
        }
        return;
    }
    const auto along_depth = [&](int row, int chunk) {
        const unsigned place = operand.along_depth(static_cast<unsigned>(first_row + row), static_cast<unsigned>(chunk));
        return read_chunk(type, chunk_at(block, place, site));
    };
    for (int row = 0; row < rows; row += 8) {
        for (int first = 0; first < depth; first += 8) {
            __m256 elements[8];
            for (int i = 0; i < 8; ++i) {
                elements[i] = along_depth(row + i, first / in_chunk);
                if (in_chunk == 4)
                    elements[i] = _mm256_insertf128_ps(elements[i], _mm256_castps256_ps128(along_depth(row + i, first / 4 + 1)), 1);
            }
            transpose(elements);
            for (int i = 0; i < 8; ++i) _mm256_storeu_ps(out + (first + i) * pitch + row, elements[i]);
        }
    }
}

struct Workspace {
    float a_by_depth[kMostDepth][kRowsOfWarp];
    float a[kRowsOfWarp][kMostDepth];
    float b[kMostDepth][kMostColumns];
};

void read_a_from_registers(const StartedProduct &product, int warp, Workspace &work) {
    const TensorType type = product.what.type;
    for (int group = 0; group < 8; ++group) {
        for (int i = 0; i < 4; ++i) {
            const auto register_of = [&](int lane) {
                return product.a_registers[static_cast<std::size_t>((warp * kLanes + lane) * 4 + i)];
            };
            write_chunk(type, &work.a[group + 8 * (i % 2)][i / 2 * elements_of_chunk(type)], read_group(type, group, register_of));
        }
    }
}

// Computes the rows of the warps from FIRST to LAST that have not been.
void carry_out(Block &block, StartedProduct &product, int first, int last) {
    const WarpgroupProduct &what = product.what;
    Workspace &work = block.workspace<Workspace>();
    const int depth = kChunksOfDepth * elements_of_chunk(what.type);
    bool is_b_read = false;
    for (int warp = first; warp <= last; ++warp) {
        if (product.is_done[warp]) continue;
        product.is_done[warp] = true;
        if (!is_b_read) {
            read_by_depth(block, Descriptor(what.b, what.is_b_transposed), what.type, 0, what.columns, work.b[0], kMostColumns,
                          product.site);
            is_b_read = true;
        }
        if (what.a_registers) {
            read_a_from_registers(product, warp, work);
        } else {
            read_by_depth(block, Descriptor(what.a, what.is_a_transposed), what.type, warp * kRowsOfWarp, kRowsOfWarp, work.a_by_depth[0],
                          kRowsOfWarp, product.site);
            for (int row = 0; row < kRowsOfWarp; ++row) {
                for (int k = 0; k < depth; ++k) work.a[row][k] = work.a_by_depth[k][row];
            }
        }
        Sums &sums = *product.sums[warp];
        if (!what.accumulates) std::fill(sums.values.begin(), sums.values.end(), 0.0f);
        add_product(sums.values.data(), what.columns, work.a[0], kMostDepth, work.b[0], kMostColumns, kRowsOfWarp, what.columns, depth);
    }
}

// ---- sums

// Calls MOVE(place in the values, place in the lane's registers) for each pair of neighbours that a lane holds.
template <typename Move>
void for_each_pair(const Sums &sums, int lane, Move move) {
    for (int column = 0; column < sums.columns; column += 8) {
        for (int half = 0; half < 2; ++half) move((lane / 4 + 8 * half) * sums.columns + column + lane % 4 * 2, column / 2 + 2 * half);
    }
}

void take_registers(Sums &sums, int lane, float *registers, bool is_kept, bool poisons) {
    sums.registers[lane] = registers;
    if (is_kept) {
        for_each_pair(sums, lane,
                      [&](int value, int place) { std::memcpy(&sums.values[static_cast<std::size_t>(value)], registers + place, 8); });
    }
    if (poisons) std::memset(registers, kPoison, static_cast<std::size_t>(sums.columns) / 2 * sizeof(float));
}

void give_back_registers(const Sums &sums) {
    for (int lane = 0; lane < kLanes; ++lane) {
        for_each_pair(sums, lane, [&](int value, int place) {
            std::memcpy(sums.registers[lane] + place, &sums.values[static_cast<std::size_t>(value)], 8);
        });
    }
}

// The sums in flight that a lane's registers are, or null.
Sums *in_flight(const Warp &warp, unsigned lane, const float *registers) {
    for (const auto &sums : warp.sums) {
        if (sums->registers[lane] == registers) return sums.get();
    }
    return nullptr;
}

// The sums of the caller's warp that PRODUCT, the NUMBER'th, adds to.
Sums &sums_for(StartedProduct &product, std::uint64_t number, float *registers, Thread &self, Site site) {
    Warp &warp = *self.warp;
    Sums *known = in_flight(warp, self.lane, registers);
    Sums *&shared = product.sums[warp.number % kWarpsOfWarpgroup];
    if (!shared && known) {
        shared = known;
        ++shared->products;
    } else if (!shared) {
        auto &idle = warp.warpgroup->idle;
        if (idle.empty()) idle.push_back(std::make_unique<Sums>());
        warp.sums.push_back(std::move(idle.back()));
        idle.pop_back();
        shared = warp.sums.back().get();
        *shared = {{}, product.what.columns, number, 1, std::move(shared->values)};
        shared->values.resize(static_cast<std::size_t>(kRowsOfWarp * product.what.columns));
    }
    if (shared->columns != product.what.columns) fail("wgmma of another number of columns with sums that are in flight", site);
    if (known != shared) {
        if (known || shared->first_product != number) fail("the lanes of a warp differ in the sums of a wgmma", site);
        if (!self.has_product_fence) fail("wgmma with new sums and without a wgmma_fence since the last wait", site);
        take_registers(*shared, static_cast<int>(self.lane), registers, product.what.accumulates, this_block().options().poison);
    }
    return *shared;
}

// ---- products

bool is_same(const WarpgroupProduct &a, const WarpgroupProduct &b) {
    return a.a == b.a && a.b == b.b && !a.a_registers == !b.a_registers && a.columns == b.columns && a.type == b.type &&
           a.is_a_transposed == b.is_a_transposed && a.is_b_transposed == b.is_b_transposed && a.accumulates == b.accumulates;
}

bool is_started_by_all(const StartedProduct &product) {
    return std::all_of(std::begin(product.lanes), std::end(product.lanes), [](unsigned lanes) { return lanes == device::kFullMask; });
}

struct WaitPayload {
    int groups_in_flight;
    std::uint64_t products;  // that the lane has started
    Site site;
};

// Turns that others get before a warp's products are done. Warps are not done at one time: the difference lets one go on, and free what
// another still reads.
unsigned turns_of_others(Block &block, unsigned warp) {
    if (!block.options().lazy) return 1;
    return block.options().order == Order::kRandom ? 1 + block.random_below(8) : 1 + 2 * warp;
}

// Carries out what the caller's warp waits for, as late as may be. Runs while its lanes wait for each other.
void finish(void **lanes, unsigned) {
    const WaitPayload wait = *static_cast<WaitPayload *>(lanes[0]);
    Block &block = this_block();
    Thread &self = this_thread();
    Warp &warp = *self.warp;
    for (int lane = 1; lane < kLanes; ++lane) {
        if (static_cast<WaitPayload *>(lanes[lane])->products != wait.products)
            fail("wgmma by some lanes of a warp alone, waited for", wait.site);
    }
    if (warp.sums.empty()) return;
    Warpgroup &group = *warp.warpgroup;
    const int own = static_cast<int>(warp.number % kWarpsOfWarpgroup);
    const auto is_waited_for = [&](const StartedProduct &product) {
        return product.group + static_cast<unsigned>(wait.groups_in_flight) < self.product_groups;
    };
    // Lazy, others may do what they wrongly think they may; eager, they may start the same products, which then are done at once.
    for (unsigned turns = turns_of_others(block, warp.number % kWarpsOfWarpgroup); turns > 0; --turns) block.let_others_run(self);
    for (StartedProduct &product : group.products) {
        if (!is_waited_for(product)) break;
        carry_out(block, product, own, own);
        if (!product.is_waited_for[own]) --product.sums[own]->products;
        product.is_waited_for[own] = true;
    }
    for (std::size_t i = 0; i < warp.sums.size();) {
        if (warp.sums[i]->products > 0) {
            ++i;
            continue;
        }
        give_back_registers(*warp.sums[i]);
        group.idle.push_back(std::move(warp.sums[i]));
        warp.sums.erase(warp.sums.begin() + static_cast<std::ptrdiff_t>(i));
    }
    while (!group.products.empty()) {
        const auto &is_waited = group.products.front().is_waited_for;
        if (!std::all_of(std::begin(is_waited), std::end(is_waited), [](bool b) { return b; })) break;
        group.products.pop_front();
        ++group.first;
    }
}

}  // namespace

// ---- what kernel text calls

void warpgroup_fence() { this_thread().has_product_fence = true; }

void warpgroup_product(float *registers, const WarpgroupProduct &what, Site site) {
    const sanitizer::Ignore runtime;
    Block &block = this_block();
    Thread &self = this_thread();
    Warp &warp = *self.warp;
    if ((warp.number / kWarpsOfWarpgroup + 1) * kWarpsOfWarpgroup * kLanes > block.thread_count()) {
        fail("wgmma by a warp that is not of a whole warpgroup", site);
    }
    for (const std::uint64_t descriptor : {std::uint64_t{what.a}, std::uint64_t{what.b}}) {
        if (const char *problem = Descriptor::problem(descriptor)) fail(problem, site);
    }
    Warpgroup &group = *warp.warpgroup;
    const std::uint64_t number = self.products++;
    const std::size_t place = static_cast<std::size_t>(number - group.first);
    if (place == group.products.size()) {
        group.products.emplace_back();
        group.products.back().what = what;
        group.products.back().group = self.product_groups;
        group.products.back().site = site;
        if (what.a_registers) group.products.back().a_registers.resize(4 * kWarpsOfWarpgroup * kLanes);
    }
    StartedProduct &product = group.products[place];
    if (!is_same(product.what, what) || product.group != self.product_groups) {
        fail(FailureKind::kMisuse,
             "the threads of a warpgroup differ in a wgmma: another has started one in " + to_string(product.site) + ", this one", site);
    }
    const std::size_t own = warp.number % kWarpsOfWarpgroup;
    sums_for(product, number, registers, self, site);
    if (what.a_registers) std::memcpy(&product.a_registers[(own * kLanes + self.lane) * 4], what.a_registers, 4 * sizeof(unsigned));
    product.lanes[own] |= 1u << self.lane;
    if (!block.options().lazy && is_started_by_all(product)) {
        // In order: those before it that some warp has not come to wait for.
        for (std::size_t i = 0; i <= place; ++i) carry_out(block, group.products[i], 0, kWarpsOfWarpgroup - 1);
    }
}

void warpgroup_commit() { ++this_thread().product_groups; }

void warpgroup_wait(int groups_in_flight, Site site) {
    WaitPayload payload{groups_in_flight, this_thread().products, site};
    rendezvous(device::kFullMask, "wgmma_wait", &payload, finish, site);
    const Thread &self = this_thread();
    bool has_sums = false;
    for (const auto &sums : self.warp->sums) has_sums = has_sums || sums->registers[self.lane] != nullptr;
    if (!has_sums) this_thread().has_product_fence = false;
}

}  // namespace nautilus::emulated
