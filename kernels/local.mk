# Kernel sources of the opencl plugin (plugins/opencl/local.mk carries them).
opencl_kernels = \
	kernels/add_id.cl \
	kernels/cumsum.cl \
	kernels/chain.cl \
	kernels/copy.cl \
	kernels/each.cl kernels/each.clh \
	kernels/loops.cl \
	kernels/norm.cl \
	kernels/rebase.cl \
	kernels/rope.cl \
	kernels/row.clh \
	kernels/soft_max.cl \
	kernels/sort.cl \
	kernels/sum_rows.cl \
	kernels/top_k.cl
# hot ops and conversions
opencl_kernels += \
	kernels/attention.cl \
	kernels/attention.clh \
	kernels/index.clh kernels/indexed.clh \
	kernels/cpy.cl \
	kernels/encode.clh \
	kernels/gated_delta_net.cl \
	kernels/get_rows.cl \
	kernels/hadamard.cl \
	kernels/mul_mat.cl \
	kernels/mul_mat.clh \
	kernels/mul_mat_id.cl \
	kernels/packed.clh kernels/pieces.clh \
	kernels/set_rows.cl \
	kernels/ssm_conv.cl \
	kernels/types.clh
