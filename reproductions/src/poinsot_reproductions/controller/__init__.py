"""The identified model in a controller, and what real arms have besides.

elastic    joints with springs between motor and link: `figures(seed, say)`
"""
