# Language models over the installed headers of libengine.
noinst_LTLIBRARIES += libengine-lm-core.la
libengine_lm_core_la_SOURCES = \
	%D%/model.c %D%/text.c \
	%D%/files/axes.c %D%/files/keys.c %D%/files/memory.c %D%/files/model.h %D%/files/place.c %D%/files/plain.c %D%/files/rope.c %D%/files/templates.c %D%/files/unread.c %D%/files/weights.c \
	%D%/tokenizer/bpe.c %D%/tokenizer/charsmap.c %D%/tokenizer/charsmap.h %D%/tokenizer/greedy.c \
	%D%/tokenizer/trie.c %D%/tokenizer/trie.h %D%/tokenizer/unicode_forms.c %D%/tokenizer/unicode_forms_table.h \
	%D%/tokenizer/unigram.c %D%/tokenizer/wordpiece.c %D%/tokenizer/decode.c %D%/tokenizer/encode.c %D%/tokenizer/encoder.c %D%/tokenizer/inner.h \
	%D%/tokenizer/names.c %D%/tokenizer/rules.c %D%/tokenizer/rules.h %D%/tokenizer/special.c %D%/tokenizer/split.c %D%/tokenizer/spm.c \
	%D%/tokenizer/table.c %D%/tokenizer/tokenizer.c %D%/tokenizer/tokenizer.h \
	%D%/tokenizer/unicode.c %D%/tokenizer/unicode.h %D%/tokenizer/unicode_table.h \
	%D%/arch/arch.h %D%/arch/block.c %D%/arch/blocks.c %D%/arch/blocks.h %D%/arch/latent.c %D%/arch/layers.c %D%/arch/moe.c %D%/arch/numbers.c %D%/arch/recurrent.c \
	%D%/arch/list.def %D%/arch/llama.c %D%/arch/qwen2.c %D%/arch/qwen3.c %D%/arch/qwen3moe.c %D%/arch/qwen35.c \
	%D%/arch/qwen35moe.c %D%/arch/indexer.c %D%/arch/pools.c %D%/arch/compressed.c %D%/arch/hyper.c %D%/arch/mix.c %D%/arch/ngrams.c %D%/arch/glm5next.c %D%/arch/deepseek4.c %D%/arch/qwen4exp.c %D%/arch/inputs.c %D%/arch/gemma4.c %D%/arch/gemma4_assistant.c %D%/arch/altup.c %D%/arch/gemma3n.c %D%/arch/short_conv.c %D%/arch/lfm2.c %D%/arch/lfm2moe.c %D%/arch/seed_oss.c \
	%D%/arch/ernie4_5.c %D%/arch/exaone4.c %D%/arch/scan.c %D%/arch/mamba2.c %D%/arch/nemotron_h.c %D%/arch/granitehybrid.c \
	%D%/arch/falcon_h1.c %D%/arch/kimi_linear.c %D%/arch/qwen3vl.c %D%/arch/qwen3vlmoe.c %D%/arch/hunyuan_dense.c \
	%D%/arch/hunyuan_moe.c %D%/arch/starcoder2.c %D%/arch/stablelm.c %D%/arch/channel_scan.c %D%/arch/mamba.c \
	%D%/arch/qwen2vl.c %D%/arch/deepseek32.c %D%/arch/glm_dsa.c %D%/arch/absent.def \
	%D%/arch/gemma2.c %D%/arch/gemma3.c %D%/arch/glm4.c %D%/arch/glm4moe.c %D%/arch/gpt_oss.c %D%/arch/qwen2moe.c \
	%D%/arch/smollm3.c %D%/arch/phi3.c %D%/arch/phimoe.c %D%/arch/olmo2.c %D%/arch/granite.c %D%/arch/command_r.c %D%/arch/cohere2.c \
	%D%/arch/mistral3.c %D%/arch/mistral4.c %D%/arch/tempered.c %D%/arch/llama4.c %D%/arch/minimax_m2.c %D%/arch/qwen3next.c %D%/arch/deepseek2.c \
	%D%/arch/gemma.c %D%/arch/olmoe.c %D%/arch/granitemoe.c \
	%D%/run/borrow.c %D%/run/cells.c %D%/run/collect.c %D%/run/context.c %D%/run/decode.c %D%/run/kept.c %D%/run/measure.c %D%/run/outputs.c %D%/run/pass.c \
	%D%/run/reuse.c 	%D%/run/rows.c %D%/run/run.h %D%/run/sequence.c %D%/run/state.c %D%/run/state.h %D%/run/state_context.c %D%/run/state_file.c \
	%D%/constrained.c %D%/grammar/recursion.c %D%/grammar/constraint.c %D%/grammar/constraint.h %D%/grammar/gbnf.c %D%/grammar/matcher.c \
	%D%/grammar/matcher.h %D%/grammar/byte_rules.c %D%/grammar/byte_rules.h %D%/grammar/schema.c %D%/grammar/schema.h %D%/grammar/schema_decimals.c %D%/grammar/schema_flat.c %D%/grammar/schema_leaves.c %D%/grammar/schema_maker.c \
	%D%/grammar/schema_maker.h %D%/grammar/schema_merge.c %D%/grammar/schema_merge.h \
	%D%/grammar/schema_pattern.c %D%/grammar/schema_text.c %D%/grammar/spellings.c %D%/grammar/spellings.h \
	%D%/sampling/candidates.c %D%/sampling/candidates.h %D%/sampling/chain.c %D%/sampling/chain.h %D%/sampling/filters.c \
	%D%/sampling/filters.h %D%/sampling/history.c %D%/sampling/history.h %D%/sampling/mirostat.c %D%/sampling/mirostat.h %D%/sampling/random.c %D%/sampling/random.h \
	%D%/sampling/sampler.c %D%/sampling/sampler.h \
	%D%/draft/assistant.c %D%/draft/assistant.h %D%/draft/ask.c %D%/draft/ask.h %D%/draft/block.c %D%/draft/block.h %D%/draft/draft.c %D%/draft/draft.h %D%/draft/ngram.c %D%/draft/ngram.h %D%/draft/pace.c %D%/draft/pace.h \
	%D%/draft/second.c %D%/draft/second.h %D%/draft/verify.c %D%/draft/verify.h %D%/draft/vocabulary.c %D%/draft/vocabulary.h \
	%D%/chat/access.c %D%/chat/args.c %D%/chat/args.h %D%/chat/atoms.c %D%/chat/case.c %D%/chat/case_table.h %D%/chat/compare.c \
	%D%/chat/escape.c %D%/chat/escape.h %D%/chat/evaluate.c %D%/chat/evaluate.h %D%/chat/execute.c %D%/chat/execute.h \
	%D%/chat/expression.c %D%/chat/filters.c %D%/chat/filters.h %D%/chat/filters_json.c %D%/chat/filters_list.c \
	%D%/chat/filters_select.c %D%/chat/format.c %D%/chat/format.h %D%/chat/functions.c %D%/chat/functions.h \
	%D%/chat/lex.c %D%/chat/lists.c %D%/chat/lists.h %D%/chat/loop.c %D%/chat/loop.h %D%/chat/marks.c %D%/chat/marks.h %D%/chat/methods.c \
	%D%/chat/methods.h %D%/chat/numbers.c %D%/chat/numbers.h %D%/chat/operators.c %D%/chat/parse.c %D%/chat/print.c \
	%D%/chat/print.h %D%/chat/run.c %D%/chat/scope.c %D%/chat/strings.c %D%/chat/syntax.h %D%/chat/template.c \
	%D%/chat/tests.c %D%/chat/tojson.c %D%/chat/tokens.c %D%/chat/value.c %D%/chat/value.h %D%/chat/variables.c \
	%D%/chat/variables.h \
	%D%/fit/fit.c %D%/fit/fit.h %D%/fit/pools.c %D%/fit/trial.c
libengine_lm_core_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libengine_lm_core_la_LIBADD = libengine-pattern.la libengine-util.la $(JANSSON_LIBS) $(LIBM)

lib_LTLIBRARIES += libengine-lm.la
libengine_lm_la_SOURCES =
libengine_lm_la_LIBADD = libengine-lm-core.la libengine.la $(LIBM)
libengine_lm_la_LDFLAGS = $(AM_LDFLAGS) -version-info $(LIBENGINE_VERSION_INFO) $(NO_UNDEFINED)
if HAVE_LD_VERSION_SCRIPT
libengine_lm_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%D%/libengine-lm.map
libengine_lm_la_DEPENDENCIES = libengine-lm-core.la libengine.la %D%/libengine-lm.map
else
libengine_lm_la_LDFLAGS += -export-symbols-regex '^eng_lm_'
endif
EXTRA_DIST += %D%/libengine-lm.map
