// Numbers for random orders: fast, and the same on every machine.
#pragma once

#include <cstdint>

namespace nautilus::emulated {

// The finaliser of SplitMix64: neighbouring inputs give unrelated outputs.
inline std::uint64_t mix(std::uint64_t value) {
    value += 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

class Random {
public:
    explicit Random(std::uint64_t seed = 0) : state_(mix(seed) | 1) {}

    std::uint64_t next() {  // xorshift64
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }

    // Below BOUND; the bias does not matter here.
    unsigned below(unsigned bound) { return static_cast<unsigned>((next() >> 32) * bound >> 32); }

private:
    std::uint64_t state_;
};

}  // namespace nautilus::emulated
