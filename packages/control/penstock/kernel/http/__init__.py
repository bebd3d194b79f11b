"""What both planes' HTTP stands on: from the socket to the route. The rest of the kernel knows
nothing of it.
"""
