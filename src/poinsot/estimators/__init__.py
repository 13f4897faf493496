"""Problem x method -> Estimate; the families do not know each other."""
