package main

type replayCmd struct{}

func (c *replayCmd) Run(g *globals) error { return exit(3) }
