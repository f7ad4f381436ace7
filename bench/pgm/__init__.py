"""The rival: AIM with a graphical model, on the estimation of the package mbi."""
