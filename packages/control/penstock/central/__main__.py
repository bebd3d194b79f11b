"""`python -m penstock.central` is `penstock central`."""

from penstock.central.command import central

if __name__ == "__main__":
    central()
