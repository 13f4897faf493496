"""Formats whose parsers are native code that may crash on a damaged file: their crash is one sentence.

parser     a native parser in a process of its own
matlab     MATLAB files, parsed there
parquet    Parquet files, which must have been read there once
"""
