dist_man_MANS += \
	%D%/engine-generate.1 %D%/engine-probe.1 %D%/engine-quantize.1 %D%/engine-bench.1 %D%/libengine.3 %D%/libengine-lm.3 \
	%D%/engine-plugin.7 %D%/engine-env.7
dist_check_SCRIPTS += %D%/check.sh
TESTS += %D%/check.sh
