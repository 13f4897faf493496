"""Read and write recordings and estimates. Units are converted here and nowhere else.

sources, units    which column of which file is which channel, in which unit
readers, tabular  files by the ending of their names
reading           files -> Recording
npz               a Recording as it is
json_lines        samples one by one
results           Estimate -> JSON
writing           texts and columns into files, complete or not at all
"""
