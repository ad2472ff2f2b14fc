// The wgmma instructions, one struct for each number of columns. Device only; see wgmma.cuh.
//
// An instruction names every register of its sums, so each number of columns has a text of its own. Lists of registers grow by four from
// one number of columns to the next; types and majors are texts that the asm statement takes as constants ("C").
#pragma once

#include <nautilus/device/platform.cuh>
#include <nautilus/device/types.cuh>

#if NAUTILUS_HAS_WGMMA && !defined(NAUTILUS_EMULATED)

namespace nautilus::device::detail {

// What differs between types: depth and types, and whether operands are transposed (which is A's first, for B alone last).
template <typename T, bool kIsATransposed, bool kIsBTransposed>
struct WgmmaText;

#define NAUTILUS_DEFINE_WGMMA_TEXT(type, types, a, b)                \
    template <>                                                      \
    struct WgmmaText<type, a, b> {                                   \
        static constexpr const char kTypes[] = types;                \
        static constexpr const char kTransposed[] = ", " #a ", " #b; \
        static constexpr const char kTransposedB[] = ", " #b;        \
    };
NAUTILUS_DEFINE_WGMMA_TEXT(half, "16.f32.f16.f16", 0, 0)
NAUTILUS_DEFINE_WGMMA_TEXT(half, "16.f32.f16.f16", 0, 1)
NAUTILUS_DEFINE_WGMMA_TEXT(half, "16.f32.f16.f16", 1, 0)
NAUTILUS_DEFINE_WGMMA_TEXT(half, "16.f32.f16.f16", 1, 1)
NAUTILUS_DEFINE_WGMMA_TEXT(bfloat16, "16.f32.bf16.bf16", 0, 0)
NAUTILUS_DEFINE_WGMMA_TEXT(bfloat16, "16.f32.bf16.bf16", 0, 1)
NAUTILUS_DEFINE_WGMMA_TEXT(bfloat16, "16.f32.bf16.bf16", 1, 0)
NAUTILUS_DEFINE_WGMMA_TEXT(bfloat16, "16.f32.bf16.bf16", 1, 1)
#undef NAUTILUS_DEFINE_WGMMA_TEXT

template <>
struct WgmmaText<float, false, false> {
    static constexpr const char kTypes[] = "8.f32.tf32.tf32";
    static constexpr const char kTransposed[] = "";
    static constexpr const char kTransposedB[] = "";
};

template <int kColumns>
struct Wgmma;
#define NAUTILUS_WGMMA_NAMES_8 "%0, %1, %2, %3"
#define NAUTILUS_WGMMA_SUMS_8 "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
#define NAUTILUS_WGMMA_NAMES_16 NAUTILUS_WGMMA_NAMES_8 ", %4, %5, %6, %7"
#define NAUTILUS_WGMMA_SUMS_16 NAUTILUS_WGMMA_SUMS_8, "+f"(sums[4]), "+f"(sums[5]), "+f"(sums[6]), "+f"(sums[7])
#define NAUTILUS_WGMMA_NAMES_24 NAUTILUS_WGMMA_NAMES_16 ", %8, %9, %10, %11"
#define NAUTILUS_WGMMA_SUMS_24 NAUTILUS_WGMMA_SUMS_16, "+f"(sums[8]), "+f"(sums[9]), "+f"(sums[10]), "+f"(sums[11])
#define NAUTILUS_WGMMA_NAMES_32 NAUTILUS_WGMMA_NAMES_24 ", %12, %13, %14, %15"
#define NAUTILUS_WGMMA_SUMS_32 NAUTILUS_WGMMA_SUMS_24, "+f"(sums[12]), "+f"(sums[13]), "+f"(sums[14]), "+f"(sums[15])
#define NAUTILUS_WGMMA_NAMES_40 NAUTILUS_WGMMA_NAMES_32 ", %16, %17, %18, %19"
#define NAUTILUS_WGMMA_SUMS_40 NAUTILUS_WGMMA_SUMS_32, "+f"(sums[16]), "+f"(sums[17]), "+f"(sums[18]), "+f"(sums[19])
#define NAUTILUS_WGMMA_NAMES_48 NAUTILUS_WGMMA_NAMES_40 ", %20, %21, %22, %23"
#define NAUTILUS_WGMMA_SUMS_48 NAUTILUS_WGMMA_SUMS_40, "+f"(sums[20]), "+f"(sums[21]), "+f"(sums[22]), "+f"(sums[23])
#define NAUTILUS_WGMMA_NAMES_56 NAUTILUS_WGMMA_NAMES_48 ", %24, %25, %26, %27"
#define NAUTILUS_WGMMA_SUMS_56 NAUTILUS_WGMMA_SUMS_48, "+f"(sums[24]), "+f"(sums[25]), "+f"(sums[26]), "+f"(sums[27])
#define NAUTILUS_WGMMA_NAMES_64 NAUTILUS_WGMMA_NAMES_56 ", %28, %29, %30, %31"
#define NAUTILUS_WGMMA_SUMS_64 NAUTILUS_WGMMA_SUMS_56, "+f"(sums[28]), "+f"(sums[29]), "+f"(sums[30]), "+f"(sums[31])
#define NAUTILUS_WGMMA_NAMES_72 NAUTILUS_WGMMA_NAMES_64 ", %32, %33, %34, %35"
#define NAUTILUS_WGMMA_SUMS_72 NAUTILUS_WGMMA_SUMS_64, "+f"(sums[32]), "+f"(sums[33]), "+f"(sums[34]), "+f"(sums[35])
#define NAUTILUS_WGMMA_NAMES_80 NAUTILUS_WGMMA_NAMES_72 ", %36, %37, %38, %39"
#define NAUTILUS_WGMMA_SUMS_80 NAUTILUS_WGMMA_SUMS_72, "+f"(sums[36]), "+f"(sums[37]), "+f"(sums[38]), "+f"(sums[39])
#define NAUTILUS_WGMMA_NAMES_88 NAUTILUS_WGMMA_NAMES_80 ", %40, %41, %42, %43"
#define NAUTILUS_WGMMA_SUMS_88 NAUTILUS_WGMMA_SUMS_80, "+f"(sums[40]), "+f"(sums[41]), "+f"(sums[42]), "+f"(sums[43])
#define NAUTILUS_WGMMA_NAMES_96 NAUTILUS_WGMMA_NAMES_88 ", %44, %45, %46, %47"
#define NAUTILUS_WGMMA_SUMS_96 NAUTILUS_WGMMA_SUMS_88, "+f"(sums[44]), "+f"(sums[45]), "+f"(sums[46]), "+f"(sums[47])
#define NAUTILUS_WGMMA_NAMES_104 NAUTILUS_WGMMA_NAMES_96 ", %48, %49, %50, %51"
#define NAUTILUS_WGMMA_SUMS_104 NAUTILUS_WGMMA_SUMS_96, "+f"(sums[48]), "+f"(sums[49]), "+f"(sums[50]), "+f"(sums[51])
#define NAUTILUS_WGMMA_NAMES_112 NAUTILUS_WGMMA_NAMES_104 ", %52, %53, %54, %55"
#define NAUTILUS_WGMMA_SUMS_112 NAUTILUS_WGMMA_SUMS_104, "+f"(sums[52]), "+f"(sums[53]), "+f"(sums[54]), "+f"(sums[55])
#define NAUTILUS_WGMMA_NAMES_120 NAUTILUS_WGMMA_NAMES_112 ", %56, %57, %58, %59"
#define NAUTILUS_WGMMA_SUMS_120 NAUTILUS_WGMMA_SUMS_112, "+f"(sums[56]), "+f"(sums[57]), "+f"(sums[58]), "+f"(sums[59])
#define NAUTILUS_WGMMA_NAMES_128 NAUTILUS_WGMMA_NAMES_120 ", %60, %61, %62, %63"
#define NAUTILUS_WGMMA_SUMS_128 NAUTILUS_WGMMA_SUMS_120, "+f"(sums[60]), "+f"(sums[61]), "+f"(sums[62]), "+f"(sums[63])
#define NAUTILUS_WGMMA_NAMES_136 NAUTILUS_WGMMA_NAMES_128 ", %64, %65, %66, %67"
#define NAUTILUS_WGMMA_SUMS_136 NAUTILUS_WGMMA_SUMS_128, "+f"(sums[64]), "+f"(sums[65]), "+f"(sums[66]), "+f"(sums[67])
#define NAUTILUS_WGMMA_NAMES_144 NAUTILUS_WGMMA_NAMES_136 ", %68, %69, %70, %71"
#define NAUTILUS_WGMMA_SUMS_144 NAUTILUS_WGMMA_SUMS_136, "+f"(sums[68]), "+f"(sums[69]), "+f"(sums[70]), "+f"(sums[71])
#define NAUTILUS_WGMMA_NAMES_152 NAUTILUS_WGMMA_NAMES_144 ", %72, %73, %74, %75"
#define NAUTILUS_WGMMA_SUMS_152 NAUTILUS_WGMMA_SUMS_144, "+f"(sums[72]), "+f"(sums[73]), "+f"(sums[74]), "+f"(sums[75])
#define NAUTILUS_WGMMA_NAMES_160 NAUTILUS_WGMMA_NAMES_152 ", %76, %77, %78, %79"
#define NAUTILUS_WGMMA_SUMS_160 NAUTILUS_WGMMA_SUMS_152, "+f"(sums[76]), "+f"(sums[77]), "+f"(sums[78]), "+f"(sums[79])
#define NAUTILUS_WGMMA_NAMES_168 NAUTILUS_WGMMA_NAMES_160 ", %80, %81, %82, %83"
#define NAUTILUS_WGMMA_SUMS_168 NAUTILUS_WGMMA_SUMS_160, "+f"(sums[80]), "+f"(sums[81]), "+f"(sums[82]), "+f"(sums[83])
#define NAUTILUS_WGMMA_NAMES_176 NAUTILUS_WGMMA_NAMES_168 ", %84, %85, %86, %87"
#define NAUTILUS_WGMMA_SUMS_176 NAUTILUS_WGMMA_SUMS_168, "+f"(sums[84]), "+f"(sums[85]), "+f"(sums[86]), "+f"(sums[87])
#define NAUTILUS_WGMMA_NAMES_184 NAUTILUS_WGMMA_NAMES_176 ", %88, %89, %90, %91"
#define NAUTILUS_WGMMA_SUMS_184 NAUTILUS_WGMMA_SUMS_176, "+f"(sums[88]), "+f"(sums[89]), "+f"(sums[90]), "+f"(sums[91])
#define NAUTILUS_WGMMA_NAMES_192 NAUTILUS_WGMMA_NAMES_184 ", %92, %93, %94, %95"
#define NAUTILUS_WGMMA_SUMS_192 NAUTILUS_WGMMA_SUMS_184, "+f"(sums[92]), "+f"(sums[93]), "+f"(sums[94]), "+f"(sums[95])
#define NAUTILUS_WGMMA_NAMES_200 NAUTILUS_WGMMA_NAMES_192 ", %96, %97, %98, %99"
#define NAUTILUS_WGMMA_SUMS_200 NAUTILUS_WGMMA_SUMS_192, "+f"(sums[96]), "+f"(sums[97]), "+f"(sums[98]), "+f"(sums[99])
#define NAUTILUS_WGMMA_NAMES_208 NAUTILUS_WGMMA_NAMES_200 ", %100, %101, %102, %103"
#define NAUTILUS_WGMMA_SUMS_208 NAUTILUS_WGMMA_SUMS_200, "+f"(sums[100]), "+f"(sums[101]), "+f"(sums[102]), "+f"(sums[103])
#define NAUTILUS_WGMMA_NAMES_216 NAUTILUS_WGMMA_NAMES_208 ", %104, %105, %106, %107"
#define NAUTILUS_WGMMA_SUMS_216 NAUTILUS_WGMMA_SUMS_208, "+f"(sums[104]), "+f"(sums[105]), "+f"(sums[106]), "+f"(sums[107])
#define NAUTILUS_WGMMA_NAMES_224 NAUTILUS_WGMMA_NAMES_216 ", %108, %109, %110, %111"
#define NAUTILUS_WGMMA_SUMS_224 NAUTILUS_WGMMA_SUMS_216, "+f"(sums[108]), "+f"(sums[109]), "+f"(sums[110]), "+f"(sums[111])
#define NAUTILUS_WGMMA_NAMES_232 NAUTILUS_WGMMA_NAMES_224 ", %112, %113, %114, %115"
#define NAUTILUS_WGMMA_SUMS_232 NAUTILUS_WGMMA_SUMS_224, "+f"(sums[112]), "+f"(sums[113]), "+f"(sums[114]), "+f"(sums[115])
#define NAUTILUS_WGMMA_NAMES_240 NAUTILUS_WGMMA_NAMES_232 ", %116, %117, %118, %119"
#define NAUTILUS_WGMMA_SUMS_240 NAUTILUS_WGMMA_SUMS_232, "+f"(sums[116]), "+f"(sums[117]), "+f"(sums[118]), "+f"(sums[119])
#define NAUTILUS_WGMMA_NAMES_248 NAUTILUS_WGMMA_NAMES_240 ", %120, %121, %122, %123"
#define NAUTILUS_WGMMA_SUMS_248 NAUTILUS_WGMMA_SUMS_240, "+f"(sums[120]), "+f"(sums[121]), "+f"(sums[122]), "+f"(sums[123])
#define NAUTILUS_WGMMA_NAMES_256 NAUTILUS_WGMMA_NAMES_248 ", %124, %125, %126, %127"
#define NAUTILUS_WGMMA_SUMS_256 NAUTILUS_WGMMA_SUMS_248, "+f"(sums[124]), "+f"(sums[125]), "+f"(sums[126]), "+f"(sums[127])

// I0 to I7 are the numbers of the operands behind the sums.
#define NAUTILUS_DEFINE_WGMMA(columns, i0, i1, i2, i3, i4, i5, i6, i7)                                                         \
    template <>                                                                                                                \
    struct Wgmma<columns> {                                                                                                    \
        template <typename Text>                                                                                               \
        NAUTILUS_DEVICE static void run(float (&sums)[columns / 2], uint64 a, uint64 b, bool accumulates) {                    \
            asm volatile(                                                                                                      \
                "{\n"                                                                                                          \
                ".reg .pred p;\n"                                                                                              \
                "setp.ne.b32 p, %" #i2                                                                                         \
                ", 0;\n"                                                                                                       \
                "wgmma.mma_async.sync.aligned.m64n" #columns "k%" #i3 " {" NAUTILUS_WGMMA_NAMES_##columns "}, %" #i0 ", %" #i1 \
                                                                                                          ", p, 1, 1%" #i4     \
                                                                                                          ";\n"                \
                                                                                                          "}"                  \
                : NAUTILUS_WGMMA_SUMS_##columns                                                                                \
                : "l"(a), "l"(b), "r"(static_cast<int>(accumulates)), "C"(Text::kTypes), "C"(Text::kTransposed));              \
        }                                                                                                                      \
        template <typename Text>                                                                                               \
        NAUTILUS_DEVICE static void run(float (&sums)[columns / 2], const uint32 (&a)[4], uint64 b, bool accumulates) {        \
            asm volatile(                                                                                                      \
                "{\n"                                                                                                          \
                ".reg .pred p;\n"                                                                                              \
                "setp.ne.b32 p, %" #i5                                                                                         \
                ", 0;\n"                                                                                                       \
                "wgmma.mma_async.sync.aligned.m64n" #columns "k%" #i6 " {" NAUTILUS_WGMMA_NAMES_##columns                      \
                "}, {%" #i0 ", %" #i1 ", %" #i2 ", %" #i3 "}, %" #i4 ", p, 1, 1%" #i7                                          \
                ";\n"                                                                                                          \
                "}"                                                                                                            \
                : NAUTILUS_WGMMA_SUMS_##columns                                                                                \
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulates)), "C"(Text::kTypes),   \
                  "C"(Text::kTransposedB));                                                                                    \
        }                                                                                                                      \
    };
NAUTILUS_DEFINE_WGMMA(8, 4, 5, 6, 7, 8, 9, 10, 11)
NAUTILUS_DEFINE_WGMMA(16, 8, 9, 10, 11, 12, 13, 14, 15)
NAUTILUS_DEFINE_WGMMA(24, 12, 13, 14, 15, 16, 17, 18, 19)
NAUTILUS_DEFINE_WGMMA(32, 16, 17, 18, 19, 20, 21, 22, 23)
NAUTILUS_DEFINE_WGMMA(40, 20, 21, 22, 23, 24, 25, 26, 27)
NAUTILUS_DEFINE_WGMMA(48, 24, 25, 26, 27, 28, 29, 30, 31)
NAUTILUS_DEFINE_WGMMA(56, 28, 29, 30, 31, 32, 33, 34, 35)
NAUTILUS_DEFINE_WGMMA(64, 32, 33, 34, 35, 36, 37, 38, 39)
NAUTILUS_DEFINE_WGMMA(72, 36, 37, 38, 39, 40, 41, 42, 43)
NAUTILUS_DEFINE_WGMMA(80, 40, 41, 42, 43, 44, 45, 46, 47)
NAUTILUS_DEFINE_WGMMA(88, 44, 45, 46, 47, 48, 49, 50, 51)
NAUTILUS_DEFINE_WGMMA(96, 48, 49, 50, 51, 52, 53, 54, 55)
NAUTILUS_DEFINE_WGMMA(104, 52, 53, 54, 55, 56, 57, 58, 59)
NAUTILUS_DEFINE_WGMMA(112, 56, 57, 58, 59, 60, 61, 62, 63)
NAUTILUS_DEFINE_WGMMA(120, 60, 61, 62, 63, 64, 65, 66, 67)
NAUTILUS_DEFINE_WGMMA(128, 64, 65, 66, 67, 68, 69, 70, 71)
NAUTILUS_DEFINE_WGMMA(136, 68, 69, 70, 71, 72, 73, 74, 75)
NAUTILUS_DEFINE_WGMMA(144, 72, 73, 74, 75, 76, 77, 78, 79)
NAUTILUS_DEFINE_WGMMA(152, 76, 77, 78, 79, 80, 81, 82, 83)
NAUTILUS_DEFINE_WGMMA(160, 80, 81, 82, 83, 84, 85, 86, 87)
NAUTILUS_DEFINE_WGMMA(168, 84, 85, 86, 87, 88, 89, 90, 91)
NAUTILUS_DEFINE_WGMMA(176, 88, 89, 90, 91, 92, 93, 94, 95)
NAUTILUS_DEFINE_WGMMA(184, 92, 93, 94, 95, 96, 97, 98, 99)
NAUTILUS_DEFINE_WGMMA(192, 96, 97, 98, 99, 100, 101, 102, 103)
NAUTILUS_DEFINE_WGMMA(200, 100, 101, 102, 103, 104, 105, 106, 107)
NAUTILUS_DEFINE_WGMMA(208, 104, 105, 106, 107, 108, 109, 110, 111)
NAUTILUS_DEFINE_WGMMA(216, 108, 109, 110, 111, 112, 113, 114, 115)
NAUTILUS_DEFINE_WGMMA(224, 112, 113, 114, 115, 116, 117, 118, 119)
NAUTILUS_DEFINE_WGMMA(232, 116, 117, 118, 119, 120, 121, 122, 123)
NAUTILUS_DEFINE_WGMMA(240, 120, 121, 122, 123, 124, 125, 126, 127)
NAUTILUS_DEFINE_WGMMA(248, 124, 125, 126, 127, 128, 129, 130, 131)
NAUTILUS_DEFINE_WGMMA(256, 128, 129, 130, 131, 132, 133, 134, 135)
#undef NAUTILUS_DEFINE_WGMMA

}  // namespace nautilus::device::detail

#endif
