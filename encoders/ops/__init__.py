"""The operators that architectures are written in, once for each library that runs them."""
