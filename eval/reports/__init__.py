"""Reports in files: one document, written in the form that the file's ending asks for."""
