// Barriers in shared memory that count arrivals and bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "sanitizer.h"
#include "thread.h"

namespace nautilus::emulated {

class Block;

// The truth about a barrier; its eight bytes of shared memory hold a seal, so that what overwrites them is noticed.
struct Mbarrier {
    unsigned offset = 0;  // in shared memory
    unsigned expected = 0;
    unsigned pending = 0;
    int bytes = 0;  // outstanding; negative where they came before they were expected
    unsigned phase = 0;
    ThreadQueue waiting;
    sanitizer::Meeting meeting;

    std::uint64_t seal() const;
};

// The barriers of a block.
class Mbarriers {
public:
    void clear() { barriers_.clear(); }
    Mbarrier *find(unsigned offset);
    Mbarrier &add(unsigned offset);
    void remove(unsigned offset);

private:
    std::vector<Mbarrier> barriers_;  // a handful
};

// Takes BYTES that have come off what the barrier at OFFSET waits for, in the name of a unit; SITE is where its work was started.
void complete_bytes(Block &block, unsigned offset, int bytes, Site site);

// Counts an arrival in the name of a unit.
void complete_arrival(Block &block, unsigned offset, Site site);

// Fails where POINTER is not an initialised barrier; returns its offset.
unsigned check_mbarrier(const void *pointer, const char *operation, Site site);

}  // namespace nautilus::emulated
