// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// Data keys of basic authentication.
const (
	DataKeyUserName = "username"
	DataKeyPassword = "password"
	DataKeyAuth     = "auth"
)

// BasicAuthFormatNormal is the only format. The names of existing Secrets depend on it.
const BasicAuthFormatNormal = "normal"

// maxPassword is how many bytes bcrypt takes into account.
const maxPassword = 72

// BasicAuthSecretConfig is a user with a password.
type BasicAuthSecretConfig struct {
	Name string
	// Format has no effect now, but is hashed, so existing configurations must keep it.
	Format string

	Username       string
	PasswordLength int
}

// BasicAuth is a user with a password.
type BasicAuth struct {
	Name string

	Username string
	Password string

	auth []byte
}

// GetName implements Config.
func (c *BasicAuthSecretConfig) GetName() string { return c.Name }

// Generate implements Config.
func (c *BasicAuthSecretConfig) Generate(time.Time) (Data, error) {
	if c.PasswordLength < 1 || c.PasswordLength > maxPassword {
		return nil, fmt.Errorf("%w: basic authentication %q with a password of %d bytes, which are to be 1 to %d",
			ErrInvalidConfig, c.Name, c.PasswordLength, maxPassword)
	}
	if strings.ContainsAny(c.Username, ":\n") {
		return nil, fmt.Errorf("%w: basic authentication %q: the name of the user has a colon or a newline", ErrInvalidConfig, c.Name)
	}
	password := random(c.PasswordLength, alphanumeric)
	hashed, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost)
	if err != nil {
		return nil, fmt.Errorf("hash the password of basic authentication %q: %w", c.Name, err)
	}
	return &BasicAuth{Name: c.Name, Username: c.Username, Password: password, auth: append([]byte(c.Username+":"), hashed...)}, nil
}

// SecretData implements Data.
func (a *BasicAuth) SecretData() map[string][]byte {
	return map[string][]byte{DataKeyUserName: []byte(a.Username), DataKeyPassword: []byte(a.Password), DataKeyAuth: a.auth}
}
