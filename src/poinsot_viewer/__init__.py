"""Views beside the pages: robot animations, figures in a notebook, a result in the terminal.

animation       a figure of a page: a robot along a motion
scene           a result, its project and its recordings -> the scene to draw
show            scene -> a page that viser serves on this machine, or one file that needs no server
verb            `poinsot view`
result_verbs    `poinsot show`, `poinsot open`
notebook        tables and Plotly figures of an estimate
"""
