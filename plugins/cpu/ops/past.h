/*
 * Results that no cache would keep are stored past the caches, which read every line before they replace a part of
 * it: a copy moves two thirds of the bytes then.  What is not stored once and in order is made piece by piece in a
 * buffer that the nearest cache keeps, and copied from there.
 */
#ifndef CPU_PAST_H
#define CPU_PAST_H

#include "../cpu.h"
#include "rows.h"

#if defined(__AVX512F__) || defined(__AVX2__) || defined(__SSE2__)
#define CPU_PAST 1
#else
#define CPU_PAST 0 /* no instruction for it, or none that helps (Arm's caches see by themselves what is written whole) */
#endif

/* Floats: so few that the processor reads those of the next piece while one is being stored. */
#define PAST_PIECE 256

CPU_INLINE void store_past(float *p, vf v)
{
#if defined(__AVX512F__)
    _mm512_stream_ps(p, (__m512)v);
#elif defined(__AVX2__)
    _mm256_stream_ps(p, (__m256)v);
#elif defined(__SSE2__)
    _mm_stream_ps(p, (__m128)v);
#else
    v_store(p, v);
#endif
}

/* Do vectors of this task's result go past the caches, from p on? */
CPU_INLINE bool goes_past(const cpu_task *task, const void *p)
{
    return CPU_PAST && task->past && (uintptr_t)p % 64 == 0;
}

/* Before others read what was stored past the caches. */
CPU_INLINE void past_end(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/* Bytes to any address; past_end() once after the last ones.  Lines that they share with others are stored as ever. */
CPU_INLINE void copy_past(void *to, const void *from, size_t bytes)
{
    uint8_t *p = to;
    const uint8_t *x = from;
    const size_t misplaced = (size_t)(-(uintptr_t)p & 63), head = misplaced < bytes ? misplaced : bytes;
    memcpy(p, x, head);
    size_t i = head;
    for (; i + 64 <= bytes; i += 64)
        CPU_UNROLL
        for (int j = 0; j < 64; j += 4 * CPU_VL)
            store_past((float *)(void *)(p + i + j), v_load((const float *)(const void *)(x + i + j)));
    memcpy(p + i, x + i, bytes - i);
}

#endif
