// Package oracle holds the fake servers to the real wire: the providers' own clients talk to them. The clients are large, so
// the tests, all there is here, are built with the tag "oracle" only:
//
//	go test -tags oracle ./internal/model/oracle
package oracle
