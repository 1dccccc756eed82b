package main

type sessionCmd struct{}

func (c *sessionCmd) Run(g *globals) error { return exit(3) }
