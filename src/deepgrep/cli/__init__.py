"""The command line: words in, a Query down, text or JSON out."""
