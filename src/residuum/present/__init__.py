"""Pictures and pages of a release: post-processing only."""
