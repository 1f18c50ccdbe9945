/*
 * Included first by files whose plain loops only -O3 makes vectors of: -O2 leaves loops alone whose number of rounds is
 * not known.  It holds whatever CFLAGS says, but that a build without optimization, for debugging, stays one.  Not for
 * files that write their vectors themselves (gemm.c, formats.c): the register tile is slower with it.
 */
#ifndef CPU_OPS_LOOPS_H
#define CPU_OPS_LOOPS_H

#if defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#endif
