package commands

//go:generate go run zuno/internal/codecgen -out codec_gen.go

//go:generate go test -run ^TestGatesPageIsFresh$ -update
