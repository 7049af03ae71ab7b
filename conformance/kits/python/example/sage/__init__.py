"""An implementation of `sage.utils`, `sage.errors` and `sage.chronicle`."""
