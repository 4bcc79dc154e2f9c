"""From the result rows of a study to one page, its tables and its figures. Nothing here needs PyTorch."""
