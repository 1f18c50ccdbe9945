# added by its owner
dist_man_MANS += %D%/engine-quantize.1
