"""Many recordings and many machines: studies on any executor, and logs larger than memory.

study     many independent solves, in processes or on a cluster, that resume
store     their results on disk
"""
