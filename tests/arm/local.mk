# The library for aarch64, by an emulator: docs/cpu.md.  Half an hour; ARM_STEPS="model fast": a minute, and the build.
.PHONY: check-arm
check-arm: all
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/tests/arm/check-arm $(srcdir) .
EXTRA_DIST += %D%/check-arm %D%/sysroot
