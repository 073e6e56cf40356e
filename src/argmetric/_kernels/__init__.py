"""numba kernels: plain arrays in, plain arrays out."""
