# The cpu plugin.  Files of ops/ are compiled once for each instruction set, with a suffix on every name; the rest once.
# Encoders (tests/layering/file-lists.sh) are compiled without contraction so that their bytes are the same everywhere.
include $(top_srcdir)/plugins/cpu/ops/files.mk

if ENABLE_CPU
plugin_LTLIBRARIES += plugins/cpu/cpu.la

cpu_variant_sources = %D%/cpu.h %D%/format.h $(cpu_ops_files)
# No -O3 here: CFLAGS comes after it; where it pays files ask for it themselves (ops/loops.h).
# Debuggers could not follow the unrolled loops anyhow, and tracking their variables doubles the time to compile.
cpu_variant_flags = $(AM_CFLAGS) -O2 -fno-trapping-math -fno-var-tracking -Wno-psabi

cpu_encode_sources = %D%/cpu.h %D%/format.h %D%/ops/vec.h %D%/ops/rows.h %D%/ops/loops.h $(cpu_encode_files)
cpu_encode_flags = $(cpu_variant_flags) -ffp-contract=off

noinst_LTLIBRARIES += libcpu-scalar.la libcpu-encode-scalar.la
libcpu_scalar_la_SOURCES = $(cpu_variant_sources)
libcpu_scalar_la_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_SUFFIX=scalar
libcpu_scalar_la_CFLAGS = $(cpu_variant_flags)
libcpu_encode_scalar_la_SOURCES = $(cpu_encode_sources)
libcpu_encode_scalar_la_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_SUFFIX=scalar
libcpu_encode_scalar_la_CFLAGS = $(cpu_encode_flags)

plugins_cpu_cpu_la_SOURCES = %D%/plugin.c %D%/device/device.c %D%/device/machine.c %D%/device/ram.c \
	%D%/device/topology.c %D%/device/topology.h %D%/device/turns.c %D%/device/types.c %D%/memory/memory.c %D%/memory/scratch.c %D%/memory/store.c %D%/lower/plan.c \
	%D%/lower/supports.c %D%/lower/variant.c %D%/run/instance.c %D%/run/order.c %D%/run/order.h %D%/run/own.c %D%/run/pace.c %D%/run/pace.h %D%/run/queue.c %D%/run/roof.c
plugins_cpu_cpu_la_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
plugins_cpu_cpu_la_LDFLAGS = $(plugin_ldflags)
plugins_cpu_cpu_la_LIBADD = libengine-util.la libcpu-scalar.la libcpu-encode-scalar.la $(HWLOC_LIBS) $(LIBM)

# Weights in lanes: beside the ops of several instruction sets.
cpu_planes_headers = %D%/planes/planes.h %D%/planes/registers.h %D%/planes/registers_neon.h %D%/planes/registers_x86.h \
	%D%/planes/group.h %D%/planes/group_neon.h %D%/planes/group_x86.h %D%/planes/lanes.h \
	%D%/planes/grid_lanes.h %D%/planes/integers.h %D%/planes/meet.h %D%/planes/run.h %D%/planes/strips.h %D%/planes/types.h
cpu_planes_sources = $(cpu_planes_headers) %D%/planes/columns.c %D%/planes/products.c %D%/planes/types_blocks.c %D%/planes/types_k.c \
	%D%/planes/types_least.c

if X86_64
noinst_LTLIBRARIES += libcpu-avx2.la libcpu-avx512.la libcpu-encode-avx2.la libcpu-encode-avx512.la
libcpu_avx2_la_SOURCES = $(cpu_variant_sources)
libcpu_avx2_la_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_SUFFIX=avx2 -DCPU_VARIANT_ABOVE
libcpu_avx2_la_CFLAGS = $(cpu_variant_flags) -mavx2 -mfma -mf16c
libcpu_avx512_la_SOURCES = $(cpu_variant_sources)
libcpu_avx512_la_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_SUFFIX=avx512
libcpu_avx512_la_CFLAGS = $(cpu_variant_flags) -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512vl -mavx512dq \
	-mprefer-vector-width=512
libcpu_encode_avx2_la_SOURCES = $(cpu_encode_sources)
libcpu_encode_avx2_la_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_SUFFIX=avx2
libcpu_encode_avx2_la_CFLAGS = $(cpu_encode_flags) -mavx2 -mf16c
# Without multiply-adds: bytes are the same in all variants.
libcpu_encode_avx512_la_SOURCES = $(cpu_encode_sources)
libcpu_encode_avx512_la_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_SUFFIX=avx512
libcpu_encode_avx512_la_CFLAGS = $(cpu_encode_flags) -mavx2 -mf16c -mavx512f -mavx512vl -mavx512bw -mavx512dq
# Units beside the ops of avx512, whose formats they use.
noinst_LTLIBRARIES += libcpu-units.la
libcpu_units_la_SOURCES = %D%/units/units.h %D%/units/lines.h %D%/units/scales.h %D%/units/bf16.c %D%/units/columns.c %D%/units/few.c \
	%D%/units/lines.c %D%/units/products.c %D%/units/strips.c %D%/units/variant.c
libcpu_units_la_CPPFLAGS = $(libcpu_avx512_la_CPPFLAGS)
libcpu_units_la_CFLAGS = $(libcpu_avx512_la_CFLAGS) -mavx512vnni -mavx512bf16
# Products of words beside the ops of avx2, whose rows are made to lines as those for units are.
noinst_LTLIBRARIES += libcpu-words.la
libcpu_words_la_SOURCES = %D%/words/words.h %D%/units/lines.h %D%/units/scales.h %D%/words/columns.c %D%/words/products.c \
	%D%/words/strips.c %D%/words/variant.c %D%/units/lines.c
libcpu_words_la_CPPFLAGS = $(libcpu_avx2_la_CPPFLAGS)
libcpu_words_la_CFLAGS = $(libcpu_avx2_la_CFLAGS)
# Products of weights in lanes, beside the ops of avx2, of avx2 with dot products of bytes, and of avx512 with such.
noinst_LTLIBRARIES += libcpu-planes-avx2.la libcpu-planes-avx2vnni.la libcpu-planes-avx512vnni.la
libcpu_planes_avx2_la_SOURCES = $(cpu_planes_sources)
libcpu_planes_avx2_la_CPPFLAGS = $(libcpu_avx2_la_CPPFLAGS) -DPLANES=avx2 -DPLANES_DOT=0
libcpu_planes_avx2_la_CFLAGS = $(libcpu_avx2_la_CFLAGS)
libcpu_planes_avx2vnni_la_SOURCES = $(cpu_planes_sources)
libcpu_planes_avx2vnni_la_CPPFLAGS = $(libcpu_avx2_la_CPPFLAGS) -DPLANES=avx2vnni -DPLANES_DOT=1
libcpu_planes_avx2vnni_la_CFLAGS = $(libcpu_avx2_la_CFLAGS) -mavxvnni
libcpu_planes_avx512vnni_la_SOURCES = $(cpu_planes_sources)
libcpu_planes_avx512vnni_la_CPPFLAGS = $(libcpu_avx512_la_CPPFLAGS) -DPLANES=avx512vnni -DPLANES_DOT=1
libcpu_planes_avx512vnni_la_CFLAGS = $(libcpu_avx512_la_CFLAGS) -mavx512vnni
# Products by tiles beside those of units and planes; what tiles are given is in assembler.
noinst_LTLIBRARIES += libcpu-tiles.la
libcpu_tiles_la_SOURCES = $(cpu_planes_headers) %D%/units/units.h %D%/units/lines.h %D%/tiles/tiles.h %D%/tiles/variant.h %D%/tiles/bf16.c \
	%D%/tiles/asks.h %D%/tiles/pairs.h %D%/tiles/meet.h %D%/tiles/attention.c %D%/tiles/attention_digits.c %D%/tiles/digits.h %D%/tiles/delta.c %D%/tiles/planes.h %D%/tiles/planes.c %D%/tiles/columns.c %D%/tiles/groups.h %D%/tiles/joint.c %D%/tiles/joint.h %D%/tiles/joint_operands.c %D%/tiles/lines.c %D%/tiles/rounded.c %D%/tiles/strips.c %D%/tiles/variant.c
libcpu_tiles_la_CPPFLAGS = $(libcpu_planes_avx512vnni_la_CPPFLAGS)
libcpu_tiles_la_CFLAGS = $(libcpu_units_la_CFLAGS) -mamx-tile -mamx-int8 -mamx-bf16
plugins_cpu_cpu_la_CPPFLAGS += -DCPU_HAVE_X86
plugins_cpu_cpu_la_LIBADD += libcpu-tiles.la libcpu-units.la libcpu-words.la libcpu-planes-avx2.la libcpu-planes-avx2vnni.la \
	libcpu-planes-avx512vnni.la libcpu-avx2.la libcpu-avx512.la libcpu-encode-avx2.la \
	libcpu-encode-avx512.la
endif

# NEON is what every aarch64 has: scalar is compiled for it, too, but is what the compiler makes of plain C.
if AARCH64
noinst_LTLIBRARIES += libcpu-neon.la libcpu-encode-neon.la
libcpu_neon_la_SOURCES = $(cpu_variant_sources)
libcpu_neon_la_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_SUFFIX=neon -DCPU_NEON
libcpu_neon_la_CFLAGS = $(cpu_variant_flags) $(CPU_NEON_CFLAGS)
libcpu_encode_neon_la_SOURCES = $(cpu_encode_sources)
libcpu_encode_neon_la_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_SUFFIX=neon -DCPU_NEON
libcpu_encode_neon_la_CFLAGS = $(cpu_encode_flags)
# Weights in lanes by dot products of bytes beside the ops of neon.
noinst_LTLIBRARIES += libcpu-planes-neondot.la libcpu-planes-neonmm.la
libcpu_planes_neondot_la_SOURCES = $(cpu_planes_sources) %D%/planes/variant_neon.c
libcpu_planes_neondot_la_CPPFLAGS = $(libcpu_neon_la_CPPFLAGS) -DPLANES=neondot -DPLANES_DOT=1 -DPLANES_SIGNED=1
libcpu_planes_neondot_la_CFLAGS = $(libcpu_neon_la_CFLAGS) $(CPU_NEONDOT_CFLAGS)
libcpu_planes_neonmm_la_SOURCES = $(cpu_planes_headers) %D%/planes/bf16_pairs.c %D%/planes/pairs.c
libcpu_planes_neonmm_la_CPPFLAGS = $(libcpu_planes_neondot_la_CPPFLAGS) -DPLANES_PAIRS
libcpu_planes_neonmm_la_CFLAGS = $(libcpu_neon_la_CFLAGS) $(CPU_NEONMM_CFLAGS)
plugins_cpu_cpu_la_CPPFLAGS += -DCPU_HAVE_NEON
plugins_cpu_cpu_la_LIBADD += libcpu-planes-neondot.la libcpu-planes-neonmm.la libcpu-neon.la libcpu-encode-neon.la
endif

dist_check_SCRIPTS += %D%/check-variants.sh %D%/check-loops.sh
TESTS += %D%/check-variants.sh %D%/check-loops.sh
endif
