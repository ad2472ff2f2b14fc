// Collective operations of a warp.

#include <cstdio>
#include <string>

#include "block.h"

namespace nautilus::emulated {
namespace {

std::string describe(const char *name, Site site) { return std::string(name) + " in " + to_string(site); }

// Returns the rendezvous of the lanes of MASK, or a free place for a new one.
Collective *find(Warp &warp, unsigned mask, const char *name, Site site) {
    Collective *free = nullptr;
    for (Collective &collective : warp.collectives) {
        if (collective.arrived == 0) {
            if (!free) free = &collective;
        } else if (collective.mask == mask) {
            return &collective;
        } else if ((collective.mask & mask) != 0) {
            fail(FailureKind::kMisuse, "lanes wait for each other in different groups: others at " + describe(collective.name, collective.site) +
                                           ", this one at " + name, site);
        }
    }
    if (!free) fail(FailureKind::kMisuse, "too many groups of lanes at once", site);
    return free;
}

void check_mask(const Thread &self, const Warp &warp, unsigned mask, const char *name, Site site) {
    if (((mask >> self.lane) & 1) == 0) fail(FailureKind::kMisuse, std::string(name) + " by a lane outside its own mask", site);
    if ((mask & ~warp.live) != 0) fail(FailureKind::kMisuse, std::string(name) + " names lanes that have finished or do not exist", site);
}

}  // namespace

void rendezvous(unsigned mask, const char *name, void *payload, Combine combine, Site site) {
    Thread &self = this_thread();
    Warp &warp = *self.warp;
    check_mask(self, warp, mask, name, site);
    Collective &collective = *find(warp, mask, name, site);
    if (collective.arrived == 0) {
        collective.mask = mask;
        collective.name = name;
        collective.combine = combine;
        collective.site = site;
    } else if (collective.combine != combine || collective.site.line != site.line || collective.site.file != site.file) {
        fail(FailureKind::kMisuse, "the lanes of a warp diverge: others wait at " + describe(collective.name, collective.site) + ", this one at " + name,
             site);
    }
    collective.payloads[self.lane] = payload;
    collective.arrived |= 1u << self.lane;
    Block &block = this_block();
    if (collective.arrived != mask) {
        block.wait(self, {Wait::Kind::kCollective, name, mask, site});
        return;
    }
    collective.arrived = 0;
    combine(collective.payloads, mask);
    for (unsigned rest = mask & ~(1u << self.lane); rest != 0; rest &= rest - 1) block.wake(warp.first_thread + __builtin_ctz(rest));
    block.after_rendezvous(self);
}

}  // namespace nautilus::emulated
