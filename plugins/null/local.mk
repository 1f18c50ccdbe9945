# added by its owner
