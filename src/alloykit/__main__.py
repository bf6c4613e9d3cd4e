"""`python -m alloykit`: the same as the command `alloykit`."""

from alloykit.cli.main import main

main()
