package httpx

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"zuno/internal/model"
)

// broke is an error of the caller's emit. Nobody else's error may pass for one.
type broke struct{ err error }

func (b *broke) Error() string { return b.err.Error() }
func (b *broke) Unwrap() error { return b.err }

// typed is the one way out of an exchange: every error becomes one of the two types, and every text of it is cleaned.
func (x *exchange) typed(err error) error {
	var (
		e       *model.Error
		cut     *model.Cut
		emitted *broke
		timeout *expired
	)
	switch {
	case errors.As(err, &emitted):
		return &model.Cut{Reason: x.clean(emitted.Error(), MaxReason), Cause: emitted.err, RequestID: x.requestID}
	case x.caller.Err() != nil:
		return &model.Cut{Reason: x.caller.Err().Error(), Cause: x.caller.Err(), RequestID: x.requestID}
	case errors.As(err, &timeout):
		e = &model.Error{Kind: timeout.kind, Reason: timeout.what, Retryable: true}
	case errors.As(err, &cut):
		cut.Reason = x.clean(cut.Reason, MaxReason)
		cut.RequestID = x.requestID
		return cut
	case !errors.As(err, &e):
		e = &model.Error{Kind: model.KindContent, Reason: err.Error()}
	}
	e.Reason, e.Code = x.clean(e.Reason, MaxReason), x.clean(e.Code, maxID)
	if e.RequestID = x.clean(e.RequestID, maxID); e.RequestID == "" {
		e.RequestID = x.requestID
	}
	return e
}

// connection types the failure of a request that got no answer.
func (x *exchange) connection(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // its text without the address
	}
	e := &model.Error{Kind: model.KindConnect, Retryable: true}
	var (
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		record      tls.RecordHeaderError
		alert       tls.AlertError
	)
	switch {
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &record), errors.As(err, &alert),
		errors.Is(err, http.ErrSchemeMismatch), strings.Contains(err.Error(), "tls: "):
		e.Kind, e.Retryable = model.KindTLS, false
		e.Reason = "there is no secure connection to the provider: " + err.Error() + "; check its certificate, and options.baseURL"
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		e.Reason = "the connection was closed before an answer began"
	default:
		what := "the connection broke before an answer began: "
		var (
			step    *net.OpError
			timeout net.Error
		)
		switch {
		case errors.As(err, &timeout) && timeout.Timeout():
			what = "the provider cannot be reached in time: "
		case errors.As(err, &step) && (step.Op == "dial" || step.Op == "proxyconnect"):
			what = "the provider cannot be reached: "
		}
		e.Reason = what + err.Error() + "; check that it runs and that options.baseURL is right"
	}
	return e
}

// refused types an answer with a status other than success.
func (x *exchange) refused(resp *http.Response, packed string) error {
	e := &model.Error{Kind: model.KindStatus, Status: resp.StatusCode, Retryable: retryable(resp.StatusCode)}
	e.Auth = e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
	if e.Status >= 300 && e.Status < 400 {
		e.Kind = model.KindRedirect
		e.Reason = "the address answers with a redirect, which is not followed"
		if to, err := resp.Location(); err == nil {
			e.Reason += ": to " + to.Scheme + "://" + to.Host + to.EscapedPath()
		}
		return e
	}
	if e.Retryable {
		e.RetryAfter = retryAfter(resp.Header, x.c.options.Clock)
	}
	if packed != "" {
		e.Reason = strings.ToLower(http.StatusText(e.Status)) + " (its text is compressed with " + packed + ", which was not asked for)"
		return e
	}
	x.shortly()
	data, _ := x.body.all(MaxErrorBody) // of one that breaks off, what came is still worth showing
	if isPage(data) {
		e.Kind, e.Reason = model.KindHTML, page(data)
		return e
	}
	f := parseFault(data)
	e.Code, e.RequestID = f.code, f.requestID
	if e.Reason = f.message; e.Reason == "" {
		e.Reason = strings.ToLower(http.StatusText(resp.StatusCode))
	}
	if spent(e.Code) {
		e.Retryable = false
	}
	return e
}

// compression names what an answer is compressed with, or is empty. Other words in that header are a server's mistake.
func compression(h http.Header) string {
	for _, word := range strings.Split(h.Get("Content-Encoding"), ",") {
		switch word = strings.ToLower(strings.TrimSpace(word)); word {
		case "gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress":
			return word
		}
	}
	return ""
}

// retryable says which statuses are worth a further attempt.
func retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// spent are the codes of a status 429 that no waiting helps.
func spent(code string) bool {
	return code == "insufficient_quota" || code == "billing_hard_limit_reached"
}

// document takes a successful answer that is JSON and no stream.
func (x *exchange) document(d Decoder) error {
	data, err := x.body.all(MaxText)
	if err != nil {
		return x.broken(err)
	}
	if err := Inside(data); err != nil {
		return err
	}
	if w, ok := d.(Whole); ok {
		return w.Whole(data)
	}
	return &model.Error{Kind: model.KindContent, Status: http.StatusOK, Reason: "the answer is one JSON document, not a stream of events"}
}

func (x *exchange) page() error {
	x.shortly()
	data, _ := x.body.all(MaxErrorBody)
	return &model.Error{Kind: model.KindHTML, Status: http.StatusOK, Reason: page(data)}
}

func isPage(data []byte) bool {
	return strings.HasPrefix(strings.TrimLeft(string(data[:min(len(data), 512)]), " \t\r\n\ufeff"), "<")
}

// page is what a page says of itself.
func page(data []byte) string {
	const what = "the answer is an HTML page, not JSON"
	lower := strings.ToLower(string(data))
	if i := strings.Index(lower, "<title>"); i >= 0 && len(lower) == len(data) {
		if n := strings.Index(lower[i:], "</title>"); n >= 0 {
			return what + ": " + string(data[i+len("<title>"):i+n])
		}
	}
	return what
}

// fault is what the several forms of an error have in common.
type fault struct{ message, code, requestID string }

// parseFault reads an error in any of the usual forms, and plain text as its own message.
func parseFault(data []byte) fault {
	var b struct {
		Error     json.RawMessage `json:"error"`
		Message   json.RawMessage `json:"message"`
		Detail    json.RawMessage `json:"detail"`
		Code      json.RawMessage `json:"code"`
		Type      json.RawMessage `json:"type"`
		RequestID json.RawMessage `json:"request_id"`
	}
	trimmed := strings.TrimSpace(string(data))
	if list := []json.RawMessage(nil); strings.HasPrefix(trimmed, "[") && json.Unmarshal(data, &list) == nil && len(list) > 0 {
		data = list[0]
	}
	if json.Unmarshal(data, &b) != nil {
		return fault{message: trimmed}
	}
	f := fault{requestID: word(b.RequestID)}
	if len(b.Error) > 0 && b.Error[0] == '{' {
		inner := parseFault(b.Error)
		f.message, f.code = inner.message, inner.code
		return f
	}
	for _, m := range []json.RawMessage{b.Message, b.Error, b.Detail} {
		if f.message == "" {
			f.message = word(m)
		}
	}
	f.code = word(b.Code)
	if _, err := strconv.Atoi(f.code); f.code == "" || err == nil {
		if kind := word(b.Type); kind != "" && kind != "None" && kind != "error" {
			f.code = kind
		}
	}
	if f.message == "" && len(trimmed) > len(`{}`) && trimmed != `{"error":null}` { // which say nothing
		f.message = trimmed
	}
	return f
}

// word is a JSON value as a text; null and nothing are empty.
func word(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// Inside finds an error in a document or an event of a successful answer. It is nil where there is none.
func Inside(data []byte) error {
	var b struct {
		Error  json.RawMessage `json:"error"`
		Type   json.RawMessage `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if json.Unmarshal(data, &b) != nil {
		return nil
	}
	if (len(b.Error) == 0 || string(b.Error) == "null") && word(b.Type) != "error" && word(b.Object) != "error" {
		return nil
	}
	return Fault(data)
}

// Fault is the error that a document or an event of a successful answer is.
func Fault(data []byte) error {
	f := parseFault(data)
	if f.message == "" {
		f.message = "the provider reports an error without a message"
	}
	e := &model.Error{Kind: model.KindInside, Status: http.StatusOK, Code: f.code, RequestID: f.requestID, Reason: f.message}
	status := numeric(data)
	e.Auth = status == http.StatusUnauthorized || status == http.StatusForbidden || strings.Contains(f.code, "auth") || strings.Contains(f.code, "permission") ||
		f.code == "invalid_api_key"
	e.Retryable = !e.Auth && (retryable(status) || status == 0 && passing(f.code))
	if spent(f.code) {
		e.Retryable = false
	}
	return e
}

// numeric is the status that an error carries as its code, or zero.
func numeric(data []byte) int {
	var b struct {
		Error json.RawMessage `json:"error"`
		Code  json.RawMessage `json:"code"`
	}
	if json.Unmarshal(data, &b) != nil {
		return 0
	}
	if len(b.Error) > 0 && b.Error[0] == '{' {
		return numeric(b.Error)
	}
	n, err := strconv.Atoi(word(b.Code))
	if err != nil || n < 100 || n > 599 {
		return 0
	}
	return n
}

// passing says that a code names a state that may pass.
func passing(code string) bool {
	code = strings.ToLower(code)
	for _, w := range []string{"rate_limit", "overloaded", "server_error", "servererror", "api_error", "internal", "timeout", "unavailable", "try_again"} {
		if strings.Contains(code, w) {
			return true
		}
	}
	return false
}

// retryAfter is how long an answer asks to wait: in milliseconds, seconds or until a date, which counts from the answer's own
// date where it has one, so that clocks need not agree. It is never negative and at most a year.
func retryAfter(h http.Header, clock Clock) time.Duration {
	const most = 365 * 24 * time.Hour
	bound := func(f float64, unit time.Duration) time.Duration {
		switch {
		case !(f > 0): // not a number, too
			return 0
		case f >= float64(most)/float64(unit):
			return most
		}
		return time.Duration(f * float64(unit))
	}
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return bound(ms, time.Millisecond)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return bound(seconds, time.Second)
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.UnixMilli(clock.Now())
	}
	return min(max(until.Sub(now), 0), most)
}
