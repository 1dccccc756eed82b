package main

type acpCmd struct{}

func (c *acpCmd) Run(g *globals) error { return exit(3) }
