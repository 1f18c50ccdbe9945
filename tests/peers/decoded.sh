#!/bin/sh
# What ggml's decoders give for the blocks of blocks.h, as tests/data/decoded.txt has it: GGML=FOLDER is its checkout.
. "${srcdir:-.}/tests/peers/ggml.sh"
ggml_gives decoded decode
