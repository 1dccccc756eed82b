package main

type demoCmd struct{}

func (c *demoCmd) Run(g *globals) error { return exit(3) }
