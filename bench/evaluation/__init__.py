"""The paper's evaluation, reproduced and extended."""
