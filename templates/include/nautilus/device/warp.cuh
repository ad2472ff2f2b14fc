// Exchange between the lanes of a warp. Every lane of MASK must make the same call.
#pragma once

#include <nautilus/device/execution.cuh>
#include <nautilus/device/platform.cuh>

namespace nautilus::device {

#ifdef NAUTILUS_EMULATED

namespace detail {

template <typename T>
struct ShufflePayload {
    T value;
    int source_lane;
    T result;
};

// What a lane reads from one that takes no part is undefined: make it a NaN rather than something plausible.
template <typename T>
NAUTILUS_DEVICE T shuffle_from(T value, int source_lane, uint32 mask, const char *name, Site site) {
    ShufflePayload<T> payload{value, source_lane, value};
    emulated::rendezvous(
        mask, name, &payload,
        [](void **lanes, unsigned mask) {
            for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
                auto &own = *static_cast<ShufflePayload<T> *>(lanes[__builtin_ctz(rest)]);
                if ((mask >> own.source_lane) & 1) {
                    own.result = static_cast<ShufflePayload<T> *>(lanes[own.source_lane])->value;
                } else {
                    __builtin_memset(&own.result, 0xFF, sizeof(T));
                }
            }
        },
        site);
    return payload.result;
}

struct VotePayload {
    bool predicate;
    uint32 result;
};

NAUTILUS_DEVICE uint32 vote(bool predicate, uint32 mask, const char *name, Site site) {
    VotePayload payload{predicate, 0};
    emulated::rendezvous(
        mask, name, &payload,
        [](void **lanes, unsigned mask) {
            uint32 votes = 0;
            for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
                const int lane = __builtin_ctz(rest);
                votes |= static_cast<uint32>(static_cast<VotePayload *>(lanes[lane])->predicate) << lane;
            }
            for (unsigned rest = mask; rest != 0; rest &= rest - 1) static_cast<VotePayload *>(lanes[__builtin_ctz(rest)])->result = votes;
        },
        site);
    return payload.result;
}

}  // namespace detail

// The value of lane LANE (modulo 32).
template <typename T>
NAUTILUS_DEVICE T shuffle(T value, int lane, uint32 mask = kFullMask, Site site = current_site()) {
    return detail::shuffle_from(value, lane & (kWarpThreads - 1), mask, "shuffle", site);
}

template <typename T>
NAUTILUS_DEVICE T shuffle_xor(T value, int lane_mask, uint32 mask = kFullMask, Site site = current_site()) {
    return detail::shuffle_from(value, (lane_index() ^ lane_mask) & (kWarpThreads - 1), mask, "shuffle_xor", site);
}

template <typename T>
NAUTILUS_DEVICE T shuffle_down(T value, int delta, uint32 mask = kFullMask, Site site = current_site()) {
    const int source = lane_index() + delta;
    return detail::shuffle_from(value, source < kWarpThreads ? source : lane_index(), mask, "shuffle_down", site);
}

template <typename T>
NAUTILUS_DEVICE T shuffle_up(T value, int delta, uint32 mask = kFullMask, Site site = current_site()) {
    const int source = lane_index() - delta;
    return detail::shuffle_from(value, source >= 0 ? source : lane_index(), mask, "shuffle_up", site);
}

NAUTILUS_DEVICE uint32 warp_ballot(bool predicate, uint32 mask = kFullMask, Site site = current_site()) {
    return detail::vote(predicate, mask, "warp_ballot", site);
}
NAUTILUS_DEVICE bool warp_any(bool predicate, uint32 mask = kFullMask, Site site = current_site()) {
    return detail::vote(predicate, mask, "warp_any", site) != 0;
}
NAUTILUS_DEVICE bool warp_all(bool predicate, uint32 mask = kFullMask, Site site = current_site()) {
    return detail::vote(predicate, mask, "warp_all", site) == mask;
}

// Combines VALUE over groups of WIDTH lanes (a power of two) by a butterfly; every lane gets the result. Op is called as Op()(a, b).
template <typename Op, typename T>
NAUTILUS_DEVICE T warp_reduce(T value, int width = kWarpThreads, uint32 mask = kFullMask, Site site = current_site()) {
    struct Payload {
        T value;
        int width;
    } payload{value, width};
    // One rendezvous for the whole butterfly: switches between threads are what costs.
    emulated::rendezvous(
        mask, "warp_reduce", &payload,
        [](void **lanes, unsigned mask) {
            T values[kWarpThreads], combined[kWarpThreads];
            for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
                const int lane = __builtin_ctz(rest);
                values[lane] = static_cast<Payload *>(lanes[lane])->value;
            }
            const int width = static_cast<Payload *>(lanes[__builtin_ctz(mask)])->width;
            for (int lane_mask = width / 2; lane_mask > 0; lane_mask /= 2) {
                for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
                    const int lane = __builtin_ctz(rest), other = lane ^ lane_mask;
                    combined[lane] = (mask >> other) & 1 ? Op()(values[lane], values[other]) : values[lane];
                }
                __builtin_memcpy(values, combined, sizeof(values));
            }
            for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
                const int lane = __builtin_ctz(rest);
                static_cast<Payload *>(lanes[lane])->value = values[lane];
            }
        },
        site);
    return payload.value;
}

#else

namespace detail {

// Applies a 32-bit shuffle to each word of a value of any size.
template <typename T, typename Shuffle32>
NAUTILUS_DEVICE T shuffle_words(T value, Shuffle32 shuffle32) {
    if constexpr (sizeof(T) % 4 == 0) {
        struct Words {
            uint32 word[sizeof(T) / 4];
        } words = bit_cast<Words>(value);
        NAUTILUS_UNROLL
        for (int i = 0; i < static_cast<int>(sizeof(T) / 4); ++i) words.word[i] = shuffle32(words.word[i]);
        return bit_cast<T>(words);
    } else if constexpr (sizeof(T) == 2) {
        return bit_cast<T>(static_cast<uint16>(shuffle32(bit_cast<uint16>(value))));
    } else {
        static_assert(sizeof(T) == 1, "shuffle of a type of 1, 2 or 4n bytes");
        return bit_cast<T>(static_cast<uint8>(shuffle32(bit_cast<uint8>(value))));
    }
}

}  // namespace detail

template <typename T>
NAUTILUS_DEVICE T shuffle(T value, int lane, uint32 mask = kFullMask, Site = {}) {
    return detail::shuffle_words(value, [=](uint32 word) { return __shfl_sync(mask, word, lane); });
}

template <typename T>
NAUTILUS_DEVICE T shuffle_xor(T value, int lane_mask, uint32 mask = kFullMask, Site = {}) {
    return detail::shuffle_words(value, [=](uint32 word) { return __shfl_xor_sync(mask, word, lane_mask); });
}

template <typename T>
NAUTILUS_DEVICE T shuffle_down(T value, int delta, uint32 mask = kFullMask, Site = {}) {
    return detail::shuffle_words(value, [=](uint32 word) { return __shfl_down_sync(mask, word, delta); });
}

template <typename T>
NAUTILUS_DEVICE T shuffle_up(T value, int delta, uint32 mask = kFullMask, Site = {}) {
    return detail::shuffle_words(value, [=](uint32 word) { return __shfl_up_sync(mask, word, delta); });
}

NAUTILUS_DEVICE uint32 warp_ballot(bool predicate, uint32 mask = kFullMask, Site = {}) { return __ballot_sync(mask, predicate); }
NAUTILUS_DEVICE bool warp_any(bool predicate, uint32 mask = kFullMask, Site = {}) { return __any_sync(mask, predicate) != 0; }
NAUTILUS_DEVICE bool warp_all(bool predicate, uint32 mask = kFullMask, Site = {}) { return __all_sync(mask, predicate) != 0; }

template <typename Op, typename T>
NAUTILUS_DEVICE T warp_reduce(T value, int width = kWarpThreads, uint32 mask = kFullMask, Site = {}) {
    NAUTILUS_UNROLL
    for (int lane_mask = kWarpThreads / 2; lane_mask > 0; lane_mask /= 2) {
        if (lane_mask < width) value = Op()(value, shuffle_xor(value, lane_mask, mask));
    }
    return value;
}

#endif

}  // namespace nautilus::device
