package config

import (
	"fmt"
	"log/slog"
)

const hidden = "[secret]"

// Secret is a text that no formatting, encoding or log shows: a key, a header. The text is behind a pointer because fmt
// prints the fields of a foreign struct raw where they are not exported.
type Secret struct{ text *string }

// NewSecret hides a text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text, for the one place that sends it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero says that there is no text.
func (s Secret) IsZero() bool { return s.text == nil || *s.text == "" }

func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return hidden
}

// Format hides the text under every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalText hides the text in JSON and its like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue hides the text in logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
