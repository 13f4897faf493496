"""Pure functions from results to Plotly figures: plain dicts of JSON values, no Plotly object in between."""
