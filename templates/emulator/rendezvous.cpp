// Collective operations of a warp.

#include <cstdio>
#include <string>

#include "block.h"

namespace nautilus::emulated {
namespace {

std::string describe(const char *name, Site site) { return std::string(name) + " in " + to_string(site); }

// Returns the rendezvous of the lanes of MASK, or a free place for a new one. Others may be in progress, of any lanes: those of MASK
// that wait elsewhere may come here next.
Collective &find(Warp &warp, unsigned mask) {
    if (warp.collectives_in_progress == 0) return warp.collectives[0];
    Collective *free = nullptr;
    for (Collective &collective : warp.collectives) {
        if (collective.arrived == 0) {
            ++warp.collectives_in_progress;
            if (!free) free = &collective;
        } else if (collective.mask == mask) {
            return collective;
        }
    }
    return *free;
}

void check_mask(const Thread &self, const Warp &warp, unsigned mask, const char *name, Site site) {
    if (((mask >> self.lane) & 1) == 0) fail(FailureKind::kMisuse, std::string(name) + " by a lane outside its own mask", site);
    if ((mask & ~warp.live) != 0) fail(FailureKind::kMisuse, std::string(name) + " names lanes that have finished or do not exist", site);
}

}  // namespace

void rendezvous(unsigned mask, const char *name, void *payload, Combine combine, Site site) {
    const sanitizer::Ignore runtime;
    Thread &self = this_thread();
    Warp &warp = *self.warp;
    check_mask(self, warp, mask, name, site);
    Collective &collective = find(warp, mask);
    if (collective.arrived == 0) {
        ++warp.collectives_in_progress;
        collective.mask = mask;
        collective.name = name;
        collective.combine = combine;
        collective.site = site;
    } else if (collective.combine != combine || collective.site.line != site.line || collective.site.file != site.file) {
        fail(FailureKind::kMisuse,
             "the lanes of a warp diverge: others wait at " + describe(collective.name, collective.site) + ", this one at " + name, site);
    }
    warp.payloads[self.lane] = payload;
    collective.arrived |= 1u << self.lane;
    // Exchanging values orders no memory; a rendezvous without them is there for nothing else.
    const bool orders_memory = payload == nullptr;
    const unsigned round = orders_memory ? collective.meeting.arrive() : 0;
    Block &block = this_block();
    if (collective.arrived != mask) {
        block.wait(self, {Wait::Kind::kCollective, name, mask, site});
    } else {
        collective.arrived = 0;
        --warp.collectives_in_progress;
        if (orders_memory) collective.meeting.complete();
        combine(warp.payloads, mask);
        for (unsigned rest = mask & ~(1u << self.lane); rest != 0; rest &= rest - 1) block.wake(warp.first_thread + __builtin_ctz(rest));
        block.after_rendezvous(self);
    }
    if (orders_memory) collective.meeting.leave(round);
}

}  // namespace nautilus::emulated
