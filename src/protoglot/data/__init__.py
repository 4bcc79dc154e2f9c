"""Facts that ship with the package; README.md in this directory says where they come from."""
