// The library needs a source for its precompiled header to be compiled for.
