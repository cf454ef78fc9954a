"""The commands of `kith`, each with its help, and what several of them share."""
