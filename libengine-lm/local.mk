# Language models over the installed headers of libengine.
noinst_LTLIBRARIES += libengine-lm-core.la
libengine_lm_core_la_SOURCES = \
	%D%/internal.h %D%/memory.c %D%/axes.c %D%/place.c %D%/keys.c %D%/weights.c %D%/model.c \
	%D%/blocks.h %D%/blocks.c %D%/layers.c %D%/moe.c %D%/recurrent.c %D%/pass.c %D%/context.c %D%/sequence.c %D%/decode.c %D%/text.c %D%/measure.c \
	%D%/arch/list.def %D%/arch/llama.c %D%/arch/qwen2.c %D%/arch/qwen3.c %D%/arch/qwen3moe.c %D%/arch/qwen35.c \
	%D%/arch/qwen35moe.c \
	%D%/tokenizer.h %D%/tokenizer_impl.h %D%/tokenizer.c %D%/tokenizer_bpe.c %D%/tokenizer_decode.c \
	%D%/tokenizer_encode.c %D%/tokenizer_split.c %D%/tokenizer_spm.c %D%/tokenizer_table.c \
	%D%/unicode.h %D%/unicode_table.h %D%/unicode.c %D%/sampler.h %D%/sampler.c
libengine_lm_core_la_LIBADD = $(LIBM)

lib_LTLIBRARIES += libengine-lm.la
libengine_lm_la_SOURCES =
libengine_lm_la_LIBADD = libengine-lm-core.la libengine.la $(LIBM)
libengine_lm_la_LDFLAGS = $(AM_LDFLAGS) -version-info $(LIBENGINE_VERSION_INFO) $(NO_UNDEFINED) \
	-export-symbols-regex '^eng_lm_'
