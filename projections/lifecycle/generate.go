package lifecycle

//go:generate go test -run ^TestDocumentIsFresh$ -update
