// The emulated driver: tensor maps. The checks are those that cuda.h asks of arguments; what they allow beyond that and the emulator does
// not do is refused as not supported.

#include <cstdint>
#include <cstring>
#include <string>

#include "driver_state.h"
#include "tensor_map.h"

namespace nautilus::emulated::driver {
namespace {

constexpr unsigned kMostBox = 256;
constexpr unsigned kMostStep = 8;
constexpr std::uint64_t kMostExtent = std::uint64_t{1} << 32;
constexpr std::uint64_t kStrideEnd = std::uint64_t{1} << 40;
constexpr unsigned kAlignment = 16;
constexpr int kLastType = CU_TENSOR_TFLOAT32_FTZ;

cu_result invalid(const std::string &what) { return error(CU_ERROR_INVALID_VALUE, "cuTensorMapEncodeTiled: " + what); }
cu_result not_emulated(const std::string &what) {
    return error(CU_ERROR_NOT_SUPPORTED, "cuTensorMapEncodeTiled: " + what + " is not emulated");
}

bool is_float(int type) { return type >= CU_TENSOR_FLOAT16; }

cu_result check_kinds(int type, int interleave, int swizzle, int promotion, int fill, unsigned rank) {
    if (type < 0 || type > CU_TENSOR_16U6_ALIGN16B) return invalid("no such element type");
    if (interleave < 0 || interleave > CU_TENSOR_INTERLEAVE_32B) return invalid("no such interleaving");
    if (swizzle < 0 || swizzle > CU_TENSOR_SWIZZLE_128B_ATOM_64B) return invalid("no such swizzle");
    if (promotion < 0 || promotion > CU_TENSOR_L2_PROMOTION_256B) return invalid("no such promotion");
    if (fill < 0 || fill > CU_TENSOR_FILL_NAN) return invalid("no such filling");
    if (rank == 0 || rank > kMostTensorRank) return invalid("a rank of " + std::to_string(rank));
    if (fill == CU_TENSOR_FILL_NAN && (!is_float(type) || type > kLastType)) return invalid("NaN as filling for what is no float");
    if (type > kLastType) return not_emulated("this element type");
    if (interleave != CU_TENSOR_INTERLEAVE_NONE) return not_emulated("interleaving");
    if (swizzle > CU_TENSOR_SWIZZLE_128B) return not_emulated("this swizzle");
    if (fill != CU_TENSOR_FILL_ZERO) return not_emulated("filling with NaN");
    return CU_OK;
}

// CUtensorMap is aligned to 64 bytes; on a GPU the result of anything else is undefined.
cu_result encode_tiled(cu_tensor_map *map, int type, unsigned rank, void *address, const unsigned long long *extents,
                       const unsigned long long *strides, const unsigned *box, const unsigned *steps, int interleave, int swizzle,
                       int promotion, int fill) {
    if (reinterpret_cast<std::uintptr_t>(map) % 64 != 0) return invalid("the map is not aligned to 64 bytes");
    if (const cu_result result = check_kinds(type, interleave, swizzle, promotion, fill, rank)) return result;
    if (!address || reinterpret_cast<std::uintptr_t>(address) % kAlignment != 0) return invalid("the tensor is not aligned to 16 bytes");
    EncodedTensorMap encoded = {};
    encoded.magic = EncodedTensorMap::kMagic;
    encoded.type = static_cast<TensorElement>(type);
    encoded.rank = static_cast<std::uint8_t>(rank);
    encoded.swizzle = static_cast<std::uint8_t>(swizzle);
    encoded.address = reinterpret_cast<std::uintptr_t>(address);
    for (unsigned i = 0; i < rank; ++i) {
        const std::string where = " of dimension " + std::to_string(i);
        if (extents[i] == 0 || extents[i] > kMostExtent) return invalid("an extent of " + std::to_string(extents[i]) + where);
        if (box[i] == 0 || box[i] > kMostBox) return invalid("a box of " + std::to_string(box[i]) + where);
        if (steps[i] == 0 || steps[i] > kMostStep) return invalid("a step of " + std::to_string(steps[i]) + where);
        encoded.last[i] = static_cast<std::uint32_t>(extents[i] - 1);
        encoded.box[i] = static_cast<std::uint16_t>(box[i]);
        encoded.steps[i] = i == 0 ? 1 : static_cast<std::uint8_t>(steps[i]);  // that of dimension 0 is ignored
        if (i + 1 == rank) break;
        if (strides[i] % kAlignment != 0 || strides[i] >= kStrideEnd)
            return invalid("a stride of " + std::to_string(strides[i]) + " bytes" + where);
        encoded.strides[i] = strides[i];
    }
    const unsigned row_bytes = box[0] * bytes_of(encoded.type), span = 16u << swizzle;
    if (row_bytes % kAlignment != 0) return invalid("rows of a box of " + std::to_string(row_bytes) + " bytes, no multiple of 16");
    if (swizzle != CU_TENSOR_SWIZZLE_NONE && row_bytes > span) {
        return invalid("rows of a box of " + std::to_string(row_bytes) + " bytes, longer than the " + std::to_string(span) +
                       " of the swizzle");
    }
    if (swizzle != CU_TENSOR_SWIZZLE_NONE && row_bytes < span) return not_emulated("a box that is narrower than its swizzle");
    std::memset(map, 0, sizeof *map);
    std::memcpy(map, &encoded, sizeof encoded);
    return CU_OK;
}

}  // namespace

void fill_tensor_map(nautilus_driver &table) { table.cuTensorMapEncodeTiled = encode_tiled; }

}  // namespace nautilus::emulated::driver
