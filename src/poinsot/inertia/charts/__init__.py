"""Charts of the possible bodies, one file each: `my_chart.py` has the class `MyChart`, `my-chart` in project files."""
