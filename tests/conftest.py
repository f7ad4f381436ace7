from hypothesis import settings

# The first call of a kernel compiles it, so a deadline would measure the compiler.
settings.register_profile("residuum", deadline=None, derandomize=True)
settings.load_profile("residuum")
