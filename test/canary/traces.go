// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Trace is a byte sequence that only one key contains.
type Trace struct {
	// Form describes it, such as "exponent, as words".
	Form  string
	bytes []byte
}

// window is how many bytes of a number are searched for: too many for a coincidence, and few enough for one line of
// PEM.
const window = 24

// Of returns the traces of the first private key in a PEM.
func Of(keyPEM []byte) ([]Trace, error) {
	key, err := parse(keyPEM)
	if err != nil {
		return nil, err
	}
	var out []Trace
	for name, number := range key {
		out = append(out, Parsed(name, number)...)
		out = append(out, texts(name, number)...)
	}
	return out, nil
}

// InMemory returns the traces that the parsed first private key of a PEM leaves in memory.
func InMemory(keyPEM []byte) ([]Trace, error) {
	key, err := parse(keyPEM)
	if err != nil {
		return nil, err
	}
	var out []Trace
	for name, number := range key {
		out = append(out, Parsed(name, number)...)
	}
	return out, nil
}

func parse(keyPEM []byte) (map[string][]byte, error) {
	for block, rest := pem.Decode(keyPEM); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return numbers(block.Bytes)
		}
	}
	return nil, errors.New("there is no private key in the PEM")
}

func numbers(der []byte) (map[string][]byte, error) {
	for _, decode := range []func([]byte) (crypto.PrivateKey, error){
		func(der []byte) (crypto.PrivateKey, error) { return x509.ParsePKCS8PrivateKey(der) },
		func(der []byte) (crypto.PrivateKey, error) { return x509.ParsePKCS1PrivateKey(der) },
		func(der []byte) (crypto.PrivateKey, error) { return x509.ParseECPrivateKey(der) },
	} {
		key, err := decode(der)
		if err != nil {
			continue
		}
		switch key := key.(type) {
		case *rsa.PrivateKey:
			return map[string][]byte{"exponent": key.D.Bytes(), "first prime": key.Primes[0].Bytes(), "second prime": key.Primes[1].Bytes()}, nil
		case *ecdsa.PrivateKey:
			scalar, err := key.Bytes()
			return map[string][]byte{"scalar": scalar}, err
		case ed25519.PrivateKey:
			return map[string][]byte{"seed": key.Seed()}, nil
		}
	}
	return nil, errors.New("the private key is of no kind that is known")
}

// Parsed returns the traces of a number as DER and as machine words, lowest first.
func Parsed(name string, number []byte) []Trace {
	words := slices.Clone(number)
	slices.Reverse(words)
	return []Trace{{name + ", as bytes", middle(number)}, {name + ", as words", middle(words)}}
}

func texts(name string, number []byte) []Trace {
	part := middle(number)
	out := []Trace{
		{name + ", as hexadecimal", []byte(hex.EncodeToString(part))},
		{name + ", as upper hexadecimal", []byte(strings.ToUpper(hex.EncodeToString(part)))},
		{name + ", as hexadecimal with colons", []byte(strings.TrimSuffix(colons(part), ":"))},
		{name + ", as a list of bytes", []byte(strings.Trim(fmt.Sprintf("%d", part), "[]"))},
		{name + ", as decimal", []byte(new(big.Int).SetBytes(number).String())[:window]},
	}
	for shift := range 3 {
		// Cut off the characters that the part shares with the bytes before and after it.
		text := base64.StdEncoding.EncodeToString(append(make([]byte, shift), part...))
		first := []int{0, 2, 3}[shift]
		text = text[first : len(text)-4]
		out = append(out, Trace{fmt.Sprintf("%s, as base64 at %d", name, shift), []byte(text)})
	}
	return out
}

func colons(data []byte) string {
	var out strings.Builder
	for _, b := range data {
		fmt.Fprintf(&out, "%02x:", b)
	}
	return out.String()
}

func middle(data []byte) []byte {
	if len(data) <= window {
		return data
	}
	from := (len(data) - window) / 2
	return data[from : from+window]
}

// In returns the forms of the traces in data, and in decoded base64 of data.
func In(data []byte, traces []Trace) []string {
	ix := newIndex()
	ix.add("", traces)
	var found []string
	for _, h := range ix.in(data) {
		found = append(found, h.form)
	}
	return found
}
