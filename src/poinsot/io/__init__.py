"""Read and write recordings and estimates. Units are converted here and nowhere else.

sources, units               which column of which file is which channel, in which unit
readers                      the `Reader` of a format, by the ending of a file's name
tabular, parquet, matlab     tables
containers, messages         logs of messages: files -> topics and messages -> numbers
message_columns              columns of a log of messages
lerobot                      data sets of LeRobot
block_log, message_log       logs that are read in blocks
parser                       a process of its own, in which damaged files are read
reading                      files -> Recording
npz, recording_files         a Recording as it is
json_lines                   samples one by one
results                      Estimate -> JSON
writing                      texts and columns into files, complete or not at all
"""
