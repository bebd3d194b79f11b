"""The node agent: carries out typed, signed, fenced tasks on one host, and signs evidence."""
