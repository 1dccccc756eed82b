package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"zuno/commands"
	"zuno/journal"
	"zuno/journal/event"
)

// subject is one struct with a generated codec: an event or a command.
type subject struct {
	name string
	make func() event.Payload
}

func subjects(t testing.TB) (all []subject) {
	for _, typ := range event.Types() {
		all = append(all, subject{typ.Name, typ.New})
	}
	for _, r := range commands.Rules() {
		c, err := r.Decode([]byte{0x80}, nil)
		if err != nil {
			t.Fatal(err)
		}
		typ := reflect.TypeOf(c).Elem()
		all = append(all, subject{"command " + r.Type, func() event.Payload { return reflect.New(typ).Interface().(event.Payload) }})
	}
	return all
}

var (
	textType = reflect.TypeFor[event.Text]()
	hashType = reflect.TypeFor[journal.Hash]()
)

// fill sets every field that it meets, or about half of them when some is true: each must come back alone too.
func fill(r *rand.Rand, v reflect.Value, some bool) {
	if some && r.IntN(2) == 0 {
		return
	}
	switch v.Type() {
	case textType:
		v.Set(reflect.ValueOf(event.NewText(word(r))))
		return
	case hashType:
		var h journal.Hash
		for i := range h {
			h[i] = byte(r.Uint32())
		}
		v.Set(reflect.ValueOf(h))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(word(r) + "x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint64:
		v.SetUint([]uint64{1, 127, 128, 255, 256, 65535, 65536, 1<<32 - 1, 1 << 32, math.MaxUint64}[r.IntN(10)])
	case reflect.Int64:
		v.SetInt([]int64{1, -1, -32, -33, -128, -129, 127, 128, 1 << 20, math.MinInt64, math.MaxInt64}[r.IntN(11)])
	case reflect.Slice:
		n := []int{1, 2, 15, 16, 40}[r.IntN(5)]
		if v.Type().Elem().Kind() == reflect.Struct {
			n = 1 + r.IntN(3)
		}
		s := reflect.MakeSlice(v.Type(), n, n)
		for i := range n {
			// An element cannot be left out, and no text of a list is the zero text.
			fill(r, s.Index(i), some && s.Index(i).Type() != textType)
		}
		v.Set(s)
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		fill(r, p.Elem(), some)
		v.Set(p)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i), some)
		}
	default:
		panic("a field of an unexpected kind: " + v.Type().String())
	}
}

// word has lengths on both sides of each of msgpack's headers.
func word(r *rand.Rand) string {
	return strings.Repeat("ä", []int{0, 1, 7, 16, 40, 127, 200}[r.IntN(7)]) + fmt.Sprint(r.IntN(1000))
}

// ref is what the oracle makes of a reference into the table of texts.
type ref struct{ Index uint64 }

func init() {
	msgpack.RegisterExtDecoder(1, (*ref)(nil), func(d *msgpack.Decoder, v reflect.Value, n int) error {
		b := make([]byte, n)
		if err := d.ReadFull(b); err != nil {
			return err
		}
		x := &ref{}
		for _, c := range b {
			x.Index = x.Index<<8 | uint64(c)
		}
		v.Set(reflect.ValueOf(x))
		return nil
	})
	msgpack.RegisterExtEncoder(1, (*ref)(nil), func(_ *msgpack.Encoder, v reflect.Value) ([]byte, error) {
		return []byte{byte(reflect.Indirect(v).Field(0).Uint())}, nil
	})
}

// plain is v as the oracle should see it: maps by the fields' keys without what is zero, references for texts.
func plain(v reflect.Value, texts *journal.Texts) any {
	switch v.Type() {
	case textType:
		s := v.Interface().(event.Text).String()
		return ref{uint64(slices.IndexFunc(texts.Bodies, func(b []byte) bool { return string(b) == s }))}
	case hashType:
		h := v.Interface().(journal.Hash)
		return h[:]
	}
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	case reflect.Uint64:
		return v.Uint()
	case reflect.Int64:
		return v.Int()
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plain(v.Index(i), texts)
		}
		return out
	case reflect.Pointer:
		return plain(v.Elem(), texts)
	}
	out := map[string]any{}
	for i := range v.NumField() {
		f := v.Field(i)
		if isZero(f) {
			continue
		}
		out[v.Type().Field(i).Tag.Get("msgpack")] = plain(f, texts)
	}
	return out
}

func isZero(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return v.IsZero()
}

// even brings both sides' numbers and references to one form.
func even(v any) any {
	switch v := v.(type) {
	case ref:
		return fmt.Sprintf("text %d", v.Index)
	case *ref:
		return fmt.Sprintf("text %d", v.Index)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = even(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k := range v {
			out[k] = even(v[k])
		}
		return out
	case []byte:
		return string(v)
	case string, bool, nil:
		return v
	}
	if n := reflect.ValueOf(v); n.CanUint() {
		return fmt.Sprint(n.Uint())
	}
	return fmt.Sprint(v)
}

// full is v with its texts' words, for comparing what was written with what was read.
func full(v reflect.Value) any {
	if v.Type() == textType {
		x := v.Interface().(event.Text)
		return fmt.Sprintf("%q %v", x.String(), x.IsZero())
	}
	switch v.Kind() {
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = full(v.Index(i))
		}
		return out
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return []any{full(v.Elem())}
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			out[v.Type().Field(i).Name] = full(v.Field(i))
		}
		return out
	}
	return v.Interface()
}

func encode(t testing.TB, p event.Payload) ([]byte, *journal.Texts) {
	t.Helper()
	texts := journal.NewTexts([]byte("salt of sixteen."))
	b, err := event.NewEncoder().Encode(p, texts)
	if err != nil {
		t.Fatal(err)
	}
	return b, texts
}

func decode(t testing.TB, s subject, b []byte, texts *journal.Texts) event.Payload {
	t.Helper()
	p := s.make()
	if err := event.Decode(p, b, texts.Entries, func(i int) ([]byte, error) { return texts.Bodies[i], nil }); err != nil {
		t.Fatalf("%s: %v\n% x", s.name, err, b)
	}
	return p
}

func value(p event.Payload) reflect.Value { return reflect.ValueOf(p).Elem() }

// rounds gives every subject filled in many ways.
func rounds(t *testing.T, n int, fn func(s subject, p event.Payload, r *rand.Rand)) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range subjects(t) {
		for i := range n {
			p := s.make()
			v := value(p)
			for j := range v.NumField() {
				fill(r, v.Field(j), i > 1)
			}
			fn(s, p, r)
		}
	}
}

// spec: D089 D092
func TestEveryStructComesBack(t *testing.T) {
	rounds(t, 30, func(s subject, p event.Payload, _ *rand.Rand) {
		b, texts := encode(t, p)
		got := decode(t, s, b, texts)
		if want, got := full(value(p)), full(value(got)); !reflect.DeepEqual(want, got) {
			t.Fatalf("%s: wrote %v\nread %v", s.name, want, got)
		}
		again, _ := encode(t, got)
		if !bytes.Equal(b, again) {
			t.Fatalf("%s: encoded twice, two results", s.name)
		}
	})
}

// vmihailenco/msgpack reads what we wrote: exactly the fields that are set, under their keys.
//
// spec: D089
func TestOracleReadsTheSame(t *testing.T) {
	rounds(t, 30, func(s subject, p event.Payload, _ *rand.Rand) {
		b, texts := encode(t, p)
		var got map[string]any
		if err := msgpack.Unmarshal(b, &got); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if want, got := even(plain(value(p), texts)), even(got); !reflect.DeepEqual(want, got) {
			t.Fatalf("%s: wrote %v\noracle read %v", s.name, want, got)
		}
	})
}

// A payload of a newer build, in another encoder's widths and order and with keys that we do not know at every level,
// reads as if they were not there.
//
// spec: D089
func TestUnknownKeysAreSkipped(t *testing.T) {
	unknown := []any{nil, true, -5, 1 << 40, 3.5, "text", bytes.Repeat([]byte{1}, 300), []any{1, []any{2}}, map[string]any{"x": map[string]any{"y": 1}}, strings.Repeat("z", 70000)}
	var widen func(r *rand.Rand, v any) any
	widen = func(r *rand.Rand, v any) any {
		switch v := v.(type) {
		case map[string]any:
			out := map[string]any{}
			for k := range v {
				out[k] = widen(r, v[k])
			}
			for range 1 + r.IntN(2) {
				out[fmt.Sprintf("zz unknown %d", r.IntN(10))] = unknown[r.IntN(len(unknown))]
			}
			return out
		case []any:
			for i := range v {
				v[i] = widen(r, v[i])
			}
		case ref:
			return &v
		}
		return v
	}
	rounds(t, 6, func(s subject, p event.Payload, r *rand.Rand) {
		_, texts := encode(t, p)
		var b bytes.Buffer
		e := msgpack.NewEncoder(&b)
		e.UseCompactInts(false)
		if err := e.Encode(widen(r, plain(value(p), texts))); err != nil {
			t.Fatal(err)
		}
		got := decode(t, s, b.Bytes(), texts)
		if want, got := full(value(p)), full(value(got)); !reflect.DeepEqual(want, got) {
			t.Fatalf("%s: wrote %v\nread %v", s.name, want, got)
		}
	})
}

// spec: D089
func TestZeroFieldsAreLeftOut(t *testing.T) {
	for _, s := range subjects(t) {
		p := s.make()
		if b, _ := encode(t, p); !bytes.Equal(b, []byte{0x80}) {
			t.Errorf("%s: zero is % x", s.name, b)
		}
		if z, ok := p.(interface{ IsZero() bool }); ok && !z.IsZero() {
			t.Errorf("%s: zero is not zero", s.name)
		}
		// Each field alone makes the struct differ from zero and is the only one that is written.
		for i := range value(p).NumField() {
			p := s.make()
			fill(rand.New(rand.NewPCG(3, uint64(i))), value(p).Field(i), false)
			if z, ok := p.(interface{ IsZero() bool }); ok && z.IsZero() {
				t.Errorf("%s: field %s alone counts as zero", s.name, value(p).Type().Field(i).Name)
			}
			if b, _ := encode(t, p); b[0] != 0x81 {
				t.Errorf("%s: field %s alone is written as % x…", s.name, value(p).Type().Field(i).Name, b[:1])
			}
		}
	}
}

// The codec writes keys in the order of the fields, and no Go map could break that: there is none. Keys are unique,
// short, and in snake case.
//
// spec: D068 D089
func TestStructsHaveNoMapsAndSaneKeys(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(path string, typ reflect.Type)
	walk = func(path string, typ reflect.Type) {
		if seen[typ] || typ == textType {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Map, reflect.Interface, reflect.Func, reflect.Chan, reflect.Float64, reflect.Float32:
			t.Errorf("%s is a %s", path, typ.Kind())
		case reflect.Slice, reflect.Pointer, reflect.Array:
			walk(path+"[]", typ.Elem())
		case reflect.Struct:
			keys := map[string]bool{}
			for i := range typ.NumField() {
				f := typ.Field(i)
				key := f.Tag.Get("msgpack")
				if key == "" || keys[key] || key != strings.ToLower(key) || strings.ContainsAny(key, " ,-") {
					t.Errorf("%s.%s: key %q", path, f.Name, key)
				}
				keys[key] = true
				walk(path+"."+f.Name, f.Type)
			}
		}
	}
	for _, s := range subjects(t) {
		walk(s.name, value(s.make()).Type())
	}
}

// hostile are values that promise far more than they hold, or nest without end.
func hostile() map[string][]byte {
	return map[string][]byte{
		"string of 4 GiB": {0xdb, 0xff, 0xff, 0xff, 0xff},
		"binary of 4 GiB": {0xc6, 0xff, 0xff, 0xff, 0xff},
		"array of 4 Gi":   {0xdd, 0xff, 0xff, 0xff, 0xff},
		"map of 4 Gi":     {0xdf, 0xff, 0xff, 0xff, 0xff},
		"ext of 4 GiB":    {0xc9, 0xff, 0xff, 0xff, 0xff, 1},
		"array of 64 Ki":  {0xdc, 0xff, 0xff},
		"deep arrays":     bytes.Repeat([]byte{0x91}, 1<<20),
		"deep maps":       bytes.Repeat([]byte{0x81, 0xa1, 'x'}, 1<<18),
		"reserved":        {0xc1},
		"nothing":         {},
	}
}

// A hostile value in the place of the whole payload, and in the place of each field, is a typed error and costs nothing.
//
// spec: D090
func TestHostileValuesAreBounded(t *testing.T) {
	for _, s := range subjects(t) {
		var payloads [][]byte
		var names []string
		for name, h := range hostile() {
			payloads, names = append(payloads, h), append(names, s.name+": "+name)
			typ := value(s.make()).Type()
			for i := range typ.NumField() {
				key := typ.Field(i).Tag.Get("msgpack")
				b := append([]byte{0x81, 0xa0 | byte(len(key))}, key...)
				payloads, names = append(payloads, append(b, h...)), append(names, s.name+"."+key+": "+name)
			}
			payloads, names = append(payloads, append([]byte{0x81, 0xa7}, append([]byte("unknown"), h...)...)), append(names, s.name+" unknown key: "+name)
		}
		var before, after runtime.MemStats
		for i, b := range payloads {
			runtime.ReadMemStats(&before)
			err := event.Decode(s.make(), b, nil, nil)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Errorf("%s was taken", names[i])
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
				t.Errorf("%s allocated %d bytes", names[i], n)
			}
		}
	}
}

// spec: D092
func TestRegeneratingGivesNoDifference(t *testing.T) {
	for _, dir := range []string{"../../journal/event", "../../commands"} {
		out := filepath.Join(t.TempDir(), "codec_gen.go")
		cmd := exec.Command("go", "run", "zuno/internal/codecgen", "-out", out)
		cmd.Dir = dir
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, msg)
		}
		got, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(dir, "codec_gen.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s/codec_gen.go is not what codecgen writes: run go generate there", dir)
		}
	}
}
