engineincludedir = $(includedir)/engine
engineinclude_HEADERS = \
	%D%/engine/chat.h %D%/engine/engine.h %D%/engine/gguf.h %D%/engine/grammar.h %D%/engine/lm.h %D%/engine/ops.def %D%/engine/ops.h \
	%D%/engine/plugin.h %D%/engine/sampler.h %D%/engine/store.h %D%/engine/types.def %D%/engine/types.h
