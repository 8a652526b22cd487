"""Storms: random kills, tampered files and nasty options, each case from its seed alone, judged by what must hold."""
