"""What the page's server does: live runs and their limits, recorded runs, calibration, notices, and the script and style sheets it serves."""
