"""What central, site and agent agree on. They meet here and nowhere else."""

VERSION = "0.1.0"
