# Made by tests/layering/file-lists.sh --write from what the folder has.
cpu_ops_files = \
	plugins/cpu/ops/add_id.c \
	plugins/cpu/ops/argmax.c \
	plugins/cpu/ops/argsort.c \
	plugins/cpu/ops/attention.c \
	plugins/cpu/ops/attention.h \
	plugins/cpu/ops/attention_values.c \
	plugins/cpu/ops/concat.c \
	plugins/cpu/ops/copy.h \
	plugins/cpu/ops/cpy.c \
	plugins/cpu/ops/cumsum.c \
	plugins/cpu/ops/decode.h \
	plugins/cpu/ops/dequantize.c \
	plugins/cpu/ops/each.c \
	plugins/cpu/ops/each.h \
	plugins/cpu/ops/formats.c \
	plugins/cpu/ops/gated_delta_net.c \
	plugins/cpu/ops/gemm.c \
	plugins/cpu/ops/gemm.h \
	plugins/cpu/ops/gemm_fast.c \
	plugins/cpu/ops/get_rows.c \
	plugins/cpu/ops/glu.c \
	plugins/cpu/ops/group_norm.c \
	plugins/cpu/ops/hadamard.c \
	plugins/cpu/ops/l2_norm.c \
	plugins/cpu/ops/loops.h \
	plugins/cpu/ops/mul_mat.c \
	plugins/cpu/ops/mul_mat_id.c \
	plugins/cpu/ops/norm.c \
	plugins/cpu/ops/norms.h \
	plugins/cpu/ops/op.h \
	plugins/cpu/ops/pad.c \
	plugins/cpu/ops/quantize.c \
	plugins/cpu/ops/rebase.c \
	plugins/cpu/ops/repeat.c \
	plugins/cpu/ops/rms_norm.c \
	plugins/cpu/ops/roof.c \
	plugins/cpu/ops/rope.c \
	plugins/cpu/ops/rows.h \
	plugins/cpu/ops/set_rows.c \
	plugins/cpu/ops/soft_max.c \
	plugins/cpu/ops/ssm_conv.c \
	plugins/cpu/ops/store.c \
	plugins/cpu/ops/sum_rows.c \
	plugins/cpu/ops/table.c \
	plugins/cpu/ops/top_k.c \
	plugins/cpu/ops/unary.c \
	plugins/cpu/ops/vec.h
cpu_encode_files = \
	plugins/cpu/ops/encode.c \
	plugins/cpu/ops/encode.h \
	plugins/cpu/ops/encode_32.c \
	plugins/cpu/ops/encode_bits.c \
	plugins/cpu/ops/encode_fp4.c \
	plugins/cpu/ops/encode_k.c
