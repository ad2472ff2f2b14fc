#include "lifetime.h"

#include <atomic>

namespace nautilus::emulated {
namespace {

struct Entry {
    void (*function)(void *);
    void *object;
    Entry *next;
};

std::atomic<Entry *> latest{nullptr};

__attribute__((destructor)) void unload() {
    for (Entry *entry = latest.exchange(nullptr); entry;) {
        Entry *next = entry->next;
        entry->function(entry->object);
        delete entry;
        entry = next;
    }
}

}  // namespace

void at_unload(void (*function)(void *), void *object) {
    Entry *entry = new Entry{function, object, latest.load()};
    while (!latest.compare_exchange_weak(entry->next, entry)) {
    }
}

}  // namespace nautilus::emulated
