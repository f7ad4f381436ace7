"""A small web application, for this machine alone, in which one looks through a release."""
