// What must go when the image is unloaded, beside what destructors free.

namespace __gnu_cxx {
// Source: libsupc++/eh_alloc.cc of GCC: frees the pool that lets exceptions be thrown without memory. Weak: other libraries have none.
__attribute__((weak)) void __freeres();
}  // namespace __gnu_cxx

namespace {

// The image holds a C++ library of its own, and that one never frees its pool of 73 KB: each load would leave one behind.
__attribute__((destructor)) void free_exception_pool() {
    if (&__gnu_cxx::__freeres != nullptr) __gnu_cxx::__freeres();
}

}  // namespace
