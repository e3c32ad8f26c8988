"""`python -m tutor` is the same as `tutor`."""

from tutor.cli import main

main()
