// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// DataKeyStaticTokenCSV is the data key of static tokens, as kube-apiserver reads them from --token-auth-file.
const DataKeyStaticTokenCSV = "static_tokens.csv" //nolint:gosec // It is the name of a file.

// lengthOfToken is the length of a static token, in characters.
const lengthOfToken = 128

// StaticTokenSecretConfig are users with tokens, by names that only this configuration knows.
type StaticTokenSecretConfig struct {
	Name string

	Tokens map[string]TokenConfig
}

// TokenConfig is a user that gets a token.
type TokenConfig struct {
	Username string
	UserID   string
	Groups   []string
}

// StaticToken are users with tokens.
type StaticToken struct {
	Name string

	Tokens []Token
}

// Token is a user with its token.
type Token struct {
	Username string
	UserID   string
	Groups   []string
	Token    string
}

// GetName implements Config.
func (c *StaticTokenSecretConfig) GetName() string { return c.Name }

// Generate implements Config.
func (c *StaticTokenSecretConfig) Generate(time.Time) (Data, error) {
	out := &StaticToken{Name: c.Name}
	for _, key := range slices.Sorted(maps.Keys(c.Tokens)) {
		user := c.Tokens[key]
		for _, text := range append([]string{user.Username, user.UserID}, user.Groups...) {
			if strings.ContainsAny(text, ",\"\r\n") {
				return nil, fmt.Errorf("%w: static token %q: a name of %q has a comma, a quote or a newline", ErrInvalidConfig, c.Name, key)
			}
		}
		out.Tokens = append(out.Tokens, Token{
			Username: user.Username, UserID: user.UserID, Groups: user.Groups, Token: random(lengthOfToken, alphanumeric),
		})
	}
	return out, nil
}

// SecretData implements Data.
func (s *StaticToken) SecretData() map[string][]byte {
	var lines []string
	for _, token := range s.Tokens {
		groups := strings.Join(token.Groups, ",")
		if len(token.Groups) > 1 {
			groups = `"` + groups + `"`
		}
		lines = append(lines, strings.Join([]string{token.Token, token.Username, token.UserID, groups}, ","))
	}
	return map[string][]byte{DataKeyStaticTokenCSV: []byte(strings.Join(lines, "\n"))}
}

// GetTokenForUsername returns the token of a user.
func (s *StaticToken) GetTokenForUsername(username string) (*Token, error) {
	at := slices.IndexFunc(s.Tokens, func(t Token) bool { return t.Username == username })
	if at < 0 {
		return nil, fmt.Errorf("static token %q has none of the user %q", s.Name, username)
	}
	return &s.Tokens[at], nil
}

// LoadStaticTokenFromCSV reads static tokens as kube-apiserver does, with the groups optional.
func LoadStaticTokenFromCSV(name string, data []byte) (*StaticToken, error) {
	reader := csv.NewReader(bytes.NewReader(data))
	reader.FieldsPerRecord = -1
	out := &StaticToken{Name: name}
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil || len(record) < 3 {
			// The error of the reader is dropped: it may quote a token.
			return nil, fmt.Errorf("load static token %q: %w: line %d is not token,user,uid,groups", name, ErrInvalidData, len(out.Tokens)+1)
		}
		token := Token{Token: record[0], Username: record[1], UserID: record[2]}
		if len(record) > 3 && record[3] != "" {
			token.Groups = strings.Split(record[3], ",")
		}
		out.Tokens = append(out.Tokens, token)
	}
}
