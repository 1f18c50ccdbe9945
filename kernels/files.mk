# Made by tests/layering/file-lists.sh --write from what the folder has.
opencl_kernels = \
	kernels/add_id.cl \
	kernels/attention.cl \
	kernels/attention.clh \
	kernels/chain.cl \
	kernels/copy.cl \
	kernels/cpy.cl \
	kernels/cumsum.cl \
	kernels/dots.clh \
	kernels/each.cl \
	kernels/each.clh \
	kernels/encode.clh \
	kernels/gated_delta_net.cl \
	kernels/get_rows.cl \
	kernels/hadamard.cl \
	kernels/index.clh \
	kernels/indexed.clh \
	kernels/loops.cl \
	kernels/mul_mat.cl \
	kernels/mul_mat.clh \
	kernels/mul_mat_id.cl \
	kernels/norm.cl \
	kernels/packed.clh \
	kernels/pieces.clh \
	kernels/rebase.cl \
	kernels/roof.cl \
	kernels/rope.cl \
	kernels/row.clh \
	kernels/set_rows.cl \
	kernels/soft_max.cl \
	kernels/sort.cl \
	kernels/ssm_conv.cl \
	kernels/stream.clh \
	kernels/sum_rows.cl \
	kernels/top_k.cl \
	kernels/types.clh
