#define _GNU_SOURCE /* syscall */
#include "config.h"

#include "amx.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

/* The system keeps their registers, too (bits 17 and 18 of what it says that it keeps). */
bool eu_amx_there(void)
{
    unsigned a, b, c, d, keeps, above;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return false;
    __asm__ volatile("xgetbv" : "=a"(keeps), "=d"(above) : "c"(0));
    return (d & 1u << 22) && (d & 1u << 24) && (d & 1u << 25) && (keeps >> 17 & 3) == 3;
}

bool eu_amx_may(void)
{
#ifdef __linux__
    enum { REQUEST = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM */
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
#else
    return false;
#endif
}
#else
bool eu_amx_there(void)
{
    return false;
}

bool eu_amx_may(void)
{
    return false;
}
#endif
