"""Before there is anything to estimate: a project file from a robot and a log, and motions to record.

new, starting         `poinsot new`: columns, units, clock and method from what the files hold
excite, excite_page   `poinsot excite`: the motion that shows the parameters, within limits
warmup                `poinsot warmup`: compiles what first runs would
"""
