"""Many recordings and many machines: studies on any executor, and logs larger than memory.

study           many independent solves, in processes or on a cluster, that resume
store           their results on disk
fleet           a project's estimate of each of many logs, pooled
random_effects  what differs between robots and between days
page            one page of a fleet
streaming       least squares on a log in blocks
"""
