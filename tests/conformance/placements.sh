#!/bin/sh
# A sample of the matrix of ops and placements; check-placements runs all of it.
exec "${top_builddir:-.}/tests/conformance/conformance" --placements
