# Binaries of today's interface, run with every later library (abi.sh).
dist_check_SCRIPTS += %D%/abi.sh
TESTS += %D%/abi.sh
EXTRA_DIST += %D%/host.c \
	%D%/3.0/libengine.abi %D%/3.0/libengine-lm.abi \
	%D%/3.0/x86_64-linux-gnu/host %D%/3.0/x86_64-linux-gnu/null.so

# What the folder of a new minor is made of, in the build folder; needs a build with -g, and abidw.
.PHONY: keep-abi
keep-abi: all
	mkdir -p tests/abi/kept
	$(CC) -std=c11 -O2 -s -I$(top_srcdir)/include $(top_srcdir)/tests/abi/host.c -o tests/abi/kept/host -L.libs -lengine -lengine-lm -lm
	$(CC) -std=c11 -O2 -s -fPIC -shared -fvisibility=hidden -I. -DNULL_IN_TREE -I$(top_srcdir)/include $(top_srcdir)/plugins/null/*.c \
		-o tests/abi/kept/null.so
	for lib in libengine libengine-lm; do \
		abidw --headers-dir $(top_srcdir)/include --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs \
			--out-file tests/abi/kept/$$lib.abi .libs/$$lib.so || exit 1; \
	done
	@ls -l tests/abi/kept
