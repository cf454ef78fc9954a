"""Capacity planning: the machines, disks and networks that a demand needs."""
