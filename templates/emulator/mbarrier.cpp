#include "mbarrier.h"

#include <nautilus/device/emulated/mbarrier.h>

#include <cstring>
#include <string>
#include <utility>

#include "block.h"

namespace nautilus::emulated {
namespace {

// Source: PTX ISA, "mbarrier": ranges of the counts.
constexpr int kMostArrivals = (1 << 20) - 1;
constexpr int kMostBytes = (1 << 20) - 1;

// In random order one try in so many that would have waited says no instead, as it may.
constexpr unsigned kEarlyNoOdds = 8;

unsigned char *place_of(Block &block, unsigned offset) { return block.shared + offset; }

void write_seal(Block &block, const Mbarrier &barrier) {
    const std::uint64_t seal = barrier.seal();
    std::memcpy(place_of(block, barrier.offset), &seal, sizeof seal);
}

bool is_intact(Block &block, const Mbarrier &barrier) {
    std::uint64_t seal;
    std::memcpy(&seal, place_of(block, barrier.offset), sizeof seal);
    return seal == barrier.seal();
}

std::string name_of(unsigned offset) { return "the mbarrier at byte " + std::to_string(offset) + " of shared memory"; }

Mbarrier &find(const void *pointer, const char *operation, Site site) {
    check_shared(pointer, sizeof(std::uint64_t), operation, site);
    check_alignment(operation, pointer, sizeof(std::uint64_t), site);
    const unsigned offset = shared_offset(pointer, site);
    Mbarrier *barrier = this_block().mbarriers().find(offset);
    if (!barrier) fail(FailureKind::kMisuse, std::string(operation) + " where no mbarrier is initialised,", site);
    if (!is_intact(this_block(), *barrier))
        fail(FailureKind::kMisuse, name_of(offset) + " has been overwritten, as " + operation + " finds", site);
    return *barrier;
}

// The same for a unit, which is no thread.
Mbarrier &find_for_unit(Block &block, unsigned offset, Site site) {
    Mbarrier *barrier = block.mbarriers().find(offset);
    if (!barrier || !is_intact(block, *barrier)) {
        block.stop(block_failure(FailureKind::kMisuse, block,
                                 name_of(offset) + (barrier ? " has been overwritten" : " has been invalidated") +
                                     " while work for it was in flight, started in " + to_string(site)));
    }
    return *barrier;
}

void end_phase_if_complete(Block &block, Mbarrier &barrier) {
    if (barrier.pending == 0 && barrier.bytes == 0) {
        ++barrier.phase;
        barrier.pending = barrier.expected;
        barrier.meeting.complete();
        block.wake_all(barrier.waiting);
    }
    write_seal(block, barrier);
}

void add_bytes(Mbarrier &barrier, int bytes, Site site) {
    if (bytes < 0) fail("an mbarrier expects a negative number of bytes", site);
    if (barrier.bytes + bytes > kMostBytes) fail(FailureKind::kMisuse, name_of(barrier.offset) + " waits for 2^20 bytes or more", site);
    barrier.bytes += bytes;
}

}  // namespace

std::uint64_t Mbarrier::seal() const {
    return std::uint64_t{0x6D62} << 48 | std::uint64_t{pending} << 28 | static_cast<std::uint64_t>(bytes & kMostBytes) << 8 |
           (phase & 0xFF);
}

Mbarrier *Mbarriers::find(unsigned offset) {
    for (Mbarrier &barrier : barriers_) {
        if (barrier.offset == offset) return &barrier;
    }
    return nullptr;
}

Mbarrier &Mbarriers::add(unsigned offset) {
    barriers_.emplace_back();
    barriers_.back().offset = offset;
    return barriers_.back();
}

void Mbarriers::remove(unsigned offset) {
    for (Mbarrier &barrier : barriers_) {
        if (barrier.offset != offset) continue;
        barrier = barriers_.back();
        barriers_.pop_back();
        return;
    }
}

void complete_bytes(Block &block, unsigned offset, int bytes, Site site) {
    Mbarrier &barrier = find_for_unit(block, offset, site);
    barrier.bytes -= bytes;
    end_phase_if_complete(block, barrier);
}

void complete_arrival(Block &block, unsigned offset, Site site) {
    Mbarrier &barrier = find_for_unit(block, offset, site);
    if (barrier.pending == 0) {
        block.stop(block_failure(FailureKind::kMisuse, block,
                                 "more arrivals than " + name_of(offset) + " expects, by copies for it in " + to_string(site)));
    }
    --barrier.pending;
    end_phase_if_complete(block, barrier);
}

unsigned check_mbarrier(const void *pointer, const char *operation, Site site) { return find(pointer, operation, site).offset; }

// ---- what kernel text calls

void mbarrier_init(void *pointer, int arrivals, Site site) {
    const sanitizer::Ignore runtime;
    check_shared(pointer, sizeof(std::uint64_t), "mbarrier_init", site);
    check_alignment("mbarrier_init", pointer, sizeof(std::uint64_t), site);
    if (arrivals < 1 || arrivals > kMostArrivals) fail("an mbarrier expects from 1 to 2^20 - 1 arrivals", site);
    Block &block = this_block();
    const unsigned offset = shared_offset(pointer, site);
    if (block.mbarriers().find(offset)) fail(FailureKind::kMisuse, name_of(offset) + " is initialised a second time", site);
    Mbarrier &barrier = block.mbarriers().add(offset);
    barrier.expected = barrier.pending = static_cast<unsigned>(arrivals);
    write_seal(block, barrier);
}

void mbarrier_invalidate(void *pointer, Site site) {
    const sanitizer::Ignore runtime;
    const Mbarrier &barrier = find(pointer, "mbarrier_invalidate", site);
    if (barrier.waiting.first) fail(FailureKind::kMisuse, name_of(barrier.offset) + " is invalidated while threads wait at it", site);
    this_block().mbarriers().remove(barrier.offset);
}

void mbarrier_expect(void *pointer, int bytes, Site site) {
    const sanitizer::Ignore runtime;
    Mbarrier &barrier = find(pointer, "mbarrier_expect", site);
    add_bytes(barrier, bytes, site);
    write_seal(this_block(), barrier);
}

void mbarrier_arrive(void *pointer, int bytes, Site site) {
    const sanitizer::Ignore runtime;
    Mbarrier &barrier = find(pointer, "mbarrier_arrive", site);
    add_bytes(barrier, bytes, site);
    if (barrier.pending == 0) {
        fail(FailureKind::kMisuse,
             "more arrivals than the " + std::to_string(barrier.expected) + " that " + name_of(barrier.offset) + " expects", site);
    }
    barrier.meeting.arrive();
    --barrier.pending;
    end_phase_if_complete(this_block(), barrier);
}

bool mbarrier_try_wait(void *pointer, int parity, Site site) {
    const sanitizer::Ignore runtime;
    if (parity != 0 && parity != 1) fail("the parity of a phase is 0 or 1", site);
    Block &block = this_block();
    Thread &self = this_thread();
    const auto has_ended = [&] {
        Mbarrier &barrier = find(pointer, "mbarrier_try_wait", site);
        if ((barrier.phase & 1) == static_cast<unsigned>(parity)) return false;
        if (barrier.phase > 0) barrier.meeting.leave(barrier.phase - 1);
        return true;
    };
    if (has_ended()) return true;
    if (block.options().order == Order::kRandom && block.random_below(kEarlyNoOdds) == 0) {
        block.let_others_run(self);
        return false;
    }
    Mbarrier &barrier = find(pointer, "mbarrier_try_wait", site);
    barrier.waiting.push(&self);
    Wait wait{Wait::Kind::kMbarrier, "mbarrier_try_wait", barrier.offset, site};
    wait.parity = static_cast<unsigned>(parity);
    block.wait(self, wait);
    return has_ended();
}

}  // namespace nautilus::emulated
