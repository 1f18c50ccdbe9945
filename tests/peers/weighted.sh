#!/bin/sh
# What ggml's encoders lose with importance, as tests/data/weighted.txt has it: GGML=FOLDER is its checkout.
. "${srcdir:-.}/tests/peers/ggml.sh"
ggml_gives weighted encode
