// Command varve records, shows and continues sessions of coding agents.
//
// It is a thin face of the library: flags, output and exit codes are in
// internal/cli, and nothing that an embedder needs is here. Run `varve --help`.
package main

import (
	"os"

	"varve.dev/internal/cli"
)

func main() { os.Exit(cli.Main(cli.System())) }
