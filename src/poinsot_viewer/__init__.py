"""A robot in the browser, as it was recorded and as it was estimated: `poinsot view RESULT.json`.

scene     a result, its project and its recordings -> what is drawn
show      what is drawn -> a page that viser serves on this machine, or one file that needs no server
verb      the command
"""
