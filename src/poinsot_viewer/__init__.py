"""Robots that move: `poinsot view RESULT.json` in the browser, as recorded and as estimated, and on pages.

animation a figure of a page: a robot along a motion
scene     a result, its project and its recordings -> what is drawn
show      what is drawn -> a page that viser serves on this machine, or one file that needs no server
verb      the command
"""
