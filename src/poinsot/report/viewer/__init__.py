"""Robots, mechanisms and thrown bodies that move, in a browser.

scene   a result, its project and its recordings -> the scene to draw
show    scene -> a page that viser serves on this machine, or one file that needs no server
"""
