"""The embedded engine beside other libraries that search papers by words and vectors in the process."""
