#include "failure.h"

#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "block.h"

namespace nautilus::emulated {
namespace {

std::string index_text(const Index3 &index) {
    char text[48];
    std::snprintf(text, sizeof text, "(%u, %u, %u)", index.x, index.y, index.z);
    return text;
}

// Thread numbers as ranges: "0-31, 64".
class Ranges {
public:
    void add(unsigned number) {
        if (!ranges_.empty() && ranges_.back().second + 1 == number) {
            ranges_.back().second = number;
        } else {
            ranges_.emplace_back(number, number);
        }
    }

    std::string text() const {
        constexpr std::size_t kMostShown = 8;
        std::string text = count() == 1 ? "thread " : "threads ";
        for (std::size_t i = 0; i < ranges_.size() && i < kMostShown; ++i) {
            const auto [first, last] = ranges_[i];
            text += (i ? ", " : "") + std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
        }
        return text + (ranges_.size() > kMostShown ? ", ..." : "");
    }

    unsigned count() const {
        unsigned count = 0;
        for (const auto &[first, last] : ranges_) count += last - first + 1;
        return count;
    }

private:
    std::vector<std::pair<unsigned, unsigned>> ranges_;
};

std::string describe(const Thread &thread, Block &block) {
    char text[128];
    const Wait &wait = thread.wait;
    switch (wait.kind) {
        case Wait::Kind::kNothing:
            return thread.finished ? "finished" : "can run";
        case Wait::Kind::kBarrier: {
            const Barrier &barrier = block.barrier(wait.id_or_mask);
            std::snprintf(text, sizeof text, "at %s %u (%u of %u threads have arrived)", wait.name, wait.id_or_mask, barrier.arrived,
                          barrier.expected);
            break;
        }
        case Wait::Kind::kMbarrier: {
            const Mbarrier *barrier = block.mbarriers().find(wait.id_or_mask);
            if (!barrier) return "wait at an mbarrier that is no more in " + to_string(wait.site);
            std::snprintf(text, sizeof text, "at mbarrier %u for parity %u (%u of %u arrivals, %d bytes outstanding)", wait.id_or_mask,
                          wait.parity, barrier->expected - barrier->pending, barrier->expected, barrier->bytes);
            break;
        }
        case Wait::Kind::kCollective:
            std::snprintf(text, sizeof text, "at %s of lanes 0x%08x", wait.name, wait.id_or_mask);
            break;
        case Wait::Kind::kPause:
            return "spin in " + to_string(wait.site);
    }
    return "wait " + std::string(text) + " in " + to_string(wait.site);
}

}  // namespace

std::string to_string(Site site) {
    // Headers are named as kernel text includes them, wherever the include folder lies.
    const char *in_include_folder = std::strstr(site.file, "include/nautilus/");
    return std::string(in_include_folder ? in_include_folder + std::strlen("include/") : site.file) + ":" + std::to_string(site.line);
}

Failure block_failure(FailureKind kind, const Block &block, const std::string &message) {
    return {kind, "block " + index_text(block.index) + ": " + message};
}

Failure thread_failure(FailureKind kind, const Block &block, const Thread &thread, const std::string &message, Site site) {
    return {kind, "block " + index_text(block.index) + ", thread " + index_text(thread.index) + ": " + message + " in " + to_string(site)};
}

Failure deadlock_failure(Block &block) {
    std::vector<std::pair<std::string, Ranges>> groups;
    for (unsigned i = 0; i < block.thread_count(); ++i) {
        const std::string doing = describe(block.threads()[i], block);
        std::size_t group = 0;
        while (group < groups.size() && groups[group].first != doing) ++group;
        if (group == groups.size()) groups.emplace_back(doing, Ranges());
        groups[group].second.add(i);
    }
    std::string text = "block " + index_text(block.index) + ": deadlock";
    for (std::size_t i = 0; i < groups.size(); ++i) text += (i ? "; " : ": ") + groups[i].second.text() + " " + groups[i].first;
    return {FailureKind::kDeadlock, text};
}

void fail(FailureKind kind, const std::string &message, Site site) {
    Block &block = this_block();
    block.stop(thread_failure(kind, block, this_thread(), message, site));
}

// ---- what kernel text calls

void fail(const char *message, Site site) { fail(FailureKind::kMisuse, message, site); }

void fail_misaligned(const char *operation, const void *address, unsigned bytes, Site site) {
    char text[128];
    std::snprintf(text, sizeof text, "%s of %u bytes at %p, which is not a multiple of that,", operation, bytes, address);
    fail(FailureKind::kMisaligned, text, site);
}

}  // namespace nautilus::emulated
