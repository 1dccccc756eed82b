package commands

//go:generate go run zuno/internal/codecgen -out codec_gen.go
