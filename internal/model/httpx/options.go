package httpx

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The bounds of everything that a provider sends.
const (
	MaxEvent     = 1 << 20   // bytes of one event, unless a surface's events repeat the whole answer
	MaxStream    = 128 << 20 // bytes of one answer with its framing
	MaxText      = 16 << 20  // bytes of text and reasoning of one answer
	MaxCalls     = 128       // calls of one answer
	MaxArgs      = 1 << 20   // bytes of one call's arguments
	MaxErrorBody = 64 << 10  // bytes that are read of an answer that is an error
	MaxReason    = 2 << 10   // bytes of an error's reason
	maxName      = 256       // bytes of a tool's name
	maxID        = 512       // bytes of an id
	maxHeader    = 256 << 10 // bytes of an answer's headers
)

// The timeouts where none is set. There is no total one.
const (
	DefaultHeaderTimeout = 330 * time.Second
	DefaultChunkTimeout  = 120 * time.Second
)

// after is how long an answer that has its finish marker may still bring something, such as its usage, and how long the text of an
// error may take.
const after = 5 * time.Second

// Clock is the time of a connection. It is the machine's even where a session's is a test's: a jump must not end a wait for a
// peer that is real.
type Clock interface {
	Now() int64 // milliseconds since 1970
	AfterFunc(d time.Duration, f func()) (stop func())
}

// Options say how a provider is reached. They hold no secret but through functions and in the query of the address, which no error
// shows.
type Options struct {
	BaseURL string        // empty: the surface's own
	Key     func() string // asked at each request; empty is none
	Keyless bool          // a request without a key is meant
	Headers []Header      // sent with each request, over those of the surface
	// Zero is the default, which for Timeout is none.
	HeaderTimeout, ChunkTimeout, Timeout time.Duration
	Clock                                Clock
}

// Header is one header of each request.
type Header struct {
	Name  string
	Value func() string
}

// Target is a surface's place.
type Target struct {
	BaseURL string // the default
	Path    string // below the base
	// KeyName is the variable that an error names when there is no key. KeyHeader and KeyPrefix carry it.
	KeyName, KeyHeader, KeyPrefix string
	Headers                       [][2]string
	MaxEvent                      int // zero: [MaxEvent]
}

// Base is where requests go: what is configured, or the surface's own.
func (o *Options) Base(t *Target) string {
	if o.BaseURL != "" {
		return o.BaseURL
	}
	return t.BaseURL
}

// address joins base and path; the base's query stays.
func address(base, path string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("nothing was sent, because the baseURL is no http or https address; correct options.baseURL") // the error of the parser would show it
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, errors.New("nothing was sent, because the baseURL has a port that there is not; correct options.baseURL")
		}
	}
	u.Fragment = ""
	u.Path = strings.TrimRight(u.Path, "/") + path
	u.RawPath = ""
	return u, nil
}
