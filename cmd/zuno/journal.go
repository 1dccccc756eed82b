package main

type journalCmd struct{}

func (c *journalCmd) Run(g *globals) error { return exit(3) }
