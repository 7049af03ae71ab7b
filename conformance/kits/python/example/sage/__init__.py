"""An implementation of `sage.utils`, `sage.errors`, `sage.chronicle`, `sage.tools` and `sage.llm`."""
