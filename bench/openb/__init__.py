"""The openb experiment: pods arrive one by one and never leave; what fits nowhere is dropped."""
