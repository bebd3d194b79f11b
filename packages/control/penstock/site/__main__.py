"""`python -m penstock.site` is `penstock site`."""

from penstock.site.command import site

if __name__ == "__main__":
    site()
