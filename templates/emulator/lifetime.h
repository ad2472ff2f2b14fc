// Objects that live from their first use until the image is unloaded.
#pragma once

namespace nautilus::emulated {

// Has FUNCTION(object) called when the image is unloaded, or the process ends.
void at_unload(void (*function)(void *), void *object);

// Returns the one object of this type. An ordinary static object would not do: its destructor is run through start-up code that not every
// toolchain links into a shared library (zig's does not), and then by a process that ends after the library has gone.
template <typename T>
T &lasting() {
    static T &object = []() -> T & {
        T *made = new T;
        at_unload([](void *pointer) { delete static_cast<T *>(pointer); }, made);
        return *made;
    }();
    return object;
}

}  // namespace nautilus::emulated
