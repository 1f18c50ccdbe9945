/*
 * Tolerances, with their reasons.
 *
 *   CF_TOLERANCE(op, element, row, per_root_term, reason)
 *
 * u = 2^-24 is the largest relative rounding error of one f32 operation.  The oracle
 * gives each value a magnitude (tests/reference/ref.h): the sum of absolute values
 * of the terms that make it.  An element may be wrong by
 *     (element + 3 per_root_term sqrt(terms)) u magnitude,
 * a row, as root of mean squares of error over magnitude, by
 *     (row + per_root_term sqrt(terms)) u,
 * with something of the element's tolerance for rows of few values.
 * Errors of a sum of n terms are bounded by n u; roundings being as good as independent,
 * they are of the order of sqrt(n) u for terms of one sign in a single accumulator, and of
 * about one u for terms of random sign, as the suite's are, whatever the order of summation.
 * Where both are 0 the value must be exact.  This is a bound and no way of computing: a device
 * that rounds operands and makes up for it is inside, one that rounds them and does not is outside.
 *
 *   CF_FAST(op, element, row, per_root_term, reason)
 *
 * is the bound for the ops that may be fast (ENG_PRECISION_FAST).  Activations are then rounded, at worst to
 * int8 in blocks of 32: by half a step, the block's largest value / 254.  Of values that are spread evenly, as the
 * suite's are, one with one weight is 1/127 of the magnitude at most, and a row's mean error 1/190 / sqrt(terms).
 */
CF_TOLERANCE(MUL_MAT, 4, 1, 0.1, "a product and an addition a term, in f32, of exactly decoded weights")
CF_TOLERANCE(MUL_MAT_ID, 4, 1, 0.1, "as mul_mat")
CF_FAST(MUL_MAT, 262144, 65536, 0, "2^-6 of the magnitude an element, 2^-8 a row: int8 in blocks of 32")
CF_FAST(MUL_MAT_ID, 262144, 65536, 0, "as mul_mat")
CF_FAST(GATED_DELTA_NET, 262144, 65536, 0, "2^-6 and 2^-8: bf16 has 2^-9, and errors come back through the state")
CF_FAST(ATTENTION, 262144, 65536, 0, "as mul_mat, for q; weights p, K and V rounded to bf16 have 2^-9")
CF_TOLERANCE(HADAMARD, 4, 2, 0, "log2(group) additions and a scaling; the magnitude is the whole group's")
CF_TOLERANCE(QUANTIZE, 0, 0, 0, "encoded: each value within one step of the format from the oracle's, a row's "
             "squared error "
             "not above the oracle's by more than 5%; formats whose encoder searches: a bound on the row's "
             "relative error")
CF_TOLERANCE(DEQUANTIZE, 2, 2, 0, "code times scale plus minimum: one or two roundings; exact where the value "
             "is an f32")
CF_TOLERANCE(CPY, 2, 2, 0, "as quantize and dequantize; equal types bit by bit")
CF_TOLERANCE(STORE, 2, 2, 0, "as cpy")
CF_TOLERANCE(GATED_DELTA_NET, 12, 4, 0.2, "two sums over the head a token, errors carried in the state and "
             "shrunk by its decay; "
             "exponentials of sums of gates in the chunked form add a few units")
CF_TOLERANCE(SSM_CONV, 4, 2, 0.1, "a sum of a few products")
CF_TOLERANCE(SSM_SCAN, 8, 3, 0.2, "a sum over the states a token, errors carried in the state and shrunk by its decay")
CF_TOLERANCE(ATTENTION, 6, 2, 0.05, "a score's absolute error is a weight's relative one: the magnitude has it")
CF_TOLERANCE(GET_ROWS, 2, 2, 0, "as dequantize")
CF_TOLERANCE(SET_ROWS, 0, 0, 0, "as quantize; rows that are not named keep every bit")
CF_TOLERANCE(RMS_NORM, 8, 4, 0.2, "a sum of squares, a root, a division, two products")
CF_TOLERANCE(NORM, 8, 4, 0.2, "as rms_norm; the mean's error is of the mean absolute value's size")
CF_TOLERANCE(L2_NORM, 8, 4, 0.2, "as rms_norm")
CF_TOLERANCE(GROUP_NORM, 8, 4, 0.2, "as norm")
CF_TOLERANCE(ROPE, 12, 6, 0, "the angle is a product of a position and a power, in f32: its error grows with "
             "the angle, "
             "and the magnitude with it; sine and cosine to 4 units")
CF_TOLERANCE(SOFT_MAX, 8, 4, 0.2, "an exponential of a rounded sum: the magnitude grows with the score")
CF_TOLERANCE(ADD, 1, 1, 0, "one rounding")
CF_TOLERANCE(SUB, 1, 1, 0, "one rounding")
CF_TOLERANCE(MUL, 1, 1, 0, "one rounding")
CF_TOLERANCE(DIV, 5, 3, 0, "OpenCL allows a division 2.5 units in the last place")
CF_TOLERANCE(SCALE, 3, 2, 0, "a product, an addition, s and b rounded to f32")
CF_TOLERANCE(CLAMP, 1, 1, 0, "moved; min and max rounded to f32")
CF_TOLERANCE(UNARY, 24, 12, 0, "exponential, tanh and erf as OpenCL allows them: 3, 5 and 16 units in the last place")
CF_TOLERANCE(GLU, 28, 14, 0, "as unary, and a product")
CF_TOLERANCE(CONCAT, 0, 0, 0, "moved, not computed")
CF_TOLERANCE(REPEAT, 0, 0, 0, "moved, not computed")
CF_TOLERANCE(PAD, 0, 0, 0, "moved, not computed")
CF_TOLERANCE(RESHAPE, 0, 0, 0, "moved, not computed")
CF_TOLERANCE(PERMUTE, 0, 0, 0, "moved, not computed")
CF_TOLERANCE(SLICE, 0, 0, 0, "moved, not computed")
CF_TOLERANCE(ARGMAX, 0, 0, 0, "an index is right or wrong")
CF_TOLERANCE(TOP_K, 0, 0, 0, "an index is right or wrong")
CF_TOLERANCE(SUM_ROWS, 4, 2, 0.1, "a sum")
CF_TOLERANCE(ARGSORT, 0, 0, 0, "an index is right or wrong")
CF_TOLERANCE(CUMSUM, 4, 2, 0.1, "a sum")
CF_TOLERANCE(ADD_ID, 1, 1, 0, "one rounding")
CF_TOLERANCE(VIEW, 0, 0, 0, "moved, not computed")
CF_TOLERANCE(REBASE, 0, 0, 0, "integers")
