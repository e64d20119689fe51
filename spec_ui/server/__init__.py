"""What the page's server does: live runs, their limits, recorded runs, and the script and style sheets it serves."""
