"""Better estimates from the same noisy residuals: post-processing only, nothing here sees the data."""
