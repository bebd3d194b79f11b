"""Examples may take their time: how long one takes says more of the machine than of the engine."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
