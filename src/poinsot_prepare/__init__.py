"""Preparation of an estimation: a project file from a robot and a log, and motions to record.

new, starting         `poinsot new`: columns, units, clock and method from the content of the files
excite, excite_page   `poinsot excite`: the most informative motion within limits
repair                `poinsot repair`: links of a description that are impossible, and the nearest possible ones
warmup                `poinsot warmup`: compiles code that first runs would compile
"""
