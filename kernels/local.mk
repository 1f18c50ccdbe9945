# Kernel sources of the opencl plugin (plugins/opencl/local.mk carries them): opencl_kernels.
include $(top_srcdir)/kernels/files.mk
