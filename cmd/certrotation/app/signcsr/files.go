// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"certrotation.dev/registry/csr"
	"certrotation.dev/registry/pki"
)

// files reads the files for decisions and handshakes. Nothing is cached, so a replaced file takes effect at once.
type files struct {
	options *Options
}

const maxTokenBytes, minTokenBytes = 4096, 20

// policy combines the flags and the current nodes file.
func (f files) policy() (csr.Policy, error) {
	nodes, err := f.options.flaggedNodes()
	if err != nil {
		return csr.Policy{}, err
	}
	if name := f.options.NodesFile; name != "" {
		data, err := readBounded(name, csr.MaxNodesBytes)
		if err != nil {
			return csr.Policy{}, fmt.Errorf("read --nodes-file: %w", err)
		}
		more, err := csr.ParseNodes(data)
		if err != nil {
			return csr.Policy{}, fmt.Errorf("--nodes-file %s: %w", name, err)
		}
		nodes.Nodes = append(nodes.Nodes, more.Nodes...)
		nodes.Shared.DNSNames = append(nodes.Shared.DNSNames, more.Shared.DNSNames...)
		nodes.Shared.IPAddresses = append(nodes.Shared.IPAddresses, more.Shared.IPAddresses...)
	}
	if err := nodes.Validate(); err != nil {
		return csr.Policy{}, fmt.Errorf("nodes: %w", err)
	}
	return csr.Policy{Nodes: nodes, Validity: f.options.validities()}, nil
}

var errNoAuthority = errors.New("this signer has no such CA")

// authority reads a CA and checks that it can sign now.
func (f files) authority(authority csr.Authority, now time.Time) (*pki.Pair, error) {
	cert, key := f.options.CACert, f.options.CAKey
	if authority == csr.MetricAuthority {
		cert, key = f.options.MetricCACert, f.options.MetricCAKey
	}
	if cert == "" {
		return nil, fmt.Errorf("%s CA: %w", authority, errNoAuthority)
	}
	certPEM, err := readBounded(cert, pki.MaxPEMBytes)
	if err != nil {
		return nil, fmt.Errorf("read %s CA: %w", authority, err)
	}
	keyPEM, err := readBounded(key, pki.MaxPEMBytes)
	if err != nil {
		return nil, fmt.Errorf("read key of %s CA: %w", authority, err)
	}
	pair, err := pki.ParsePair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%s CA %s: %w", authority, cert, err)
	}
	switch {
	case !pair.Certificate.IsCA:
		return nil, fmt.Errorf("%s CA %s: %w", authority, cert, pki.ErrNotCA)
	case !pair.Certificate.ValidAt(now):
		return nil, fmt.Errorf("%s CA %s, valid until %s: %w", authority, cert, pair.Certificate.NotAfter.Format(time.RFC3339), pki.ErrSignerExpired)
	}
	return pair, nil
}

// check returns an error if a file is unusable. Then a signer does not start, or is not ready.
func (f files) check(now time.Time) error {
	var errs []error
	if _, err := f.policy(); err != nil {
		errs = append(errs, err)
	}
	for _, authority := range []csr.Authority{csr.EtcdAuthority, csr.MetricAuthority} {
		if _, err := f.authority(authority, now); err != nil && !errors.Is(err, errNoAuthority) {
			errs = append(errs, err)
		}
	}
	if _, err := f.servingCertificates(); err != nil {
		errs = append(errs, err)
	}
	if f.options.TokenFile != "" {
		if _, err := f.token(); err != nil {
			errs = append(errs, err)
		}
	}
	if f.options.ClientCAFile != "" {
		if _, err := f.clientCAs(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (f files) servingCertificates() ([]*tls.Certificate, error) {
	var out []*tls.Certificate
	for i, name := range f.options.ServingCerts {
		pair, err := tls.LoadX509KeyPair(name, f.options.ServingKeys[i])
		if err != nil {
			return nil, fmt.Errorf("read serving pair %s: %w", name, err)
		}
		out = append(out, &pair)
	}
	return out, nil
}

func (f files) clientCAs() (*x509.CertPool, error) {
	data, err := readBounded(f.options.ClientCAFile, pki.MaxPEMBytes)
	if err != nil {
		return nil, fmt.Errorf("read --client-ca-file: %w", err)
	}
	anchors, err := pki.ParseBundle(data)
	if err != nil {
		return nil, fmt.Errorf("--client-ca-file %s: %w", f.options.ClientCAFile, err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pki.EncodeCertificates(anchors...))
	return pool, nil
}

// token reads the bootstrap token. Only the owner may have access to its file.
func (f files) token() ([]byte, error) {
	info, err := os.Stat(f.options.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("read --token-file: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("--token-file %s has the mode %04o: others can read the token; chmod it to 0600", f.options.TokenFile, info.Mode().Perm())
	}
	data, err := readBounded(f.options.TokenFile, maxTokenBytes)
	if err != nil {
		return nil, fmt.Errorf("read --token-file: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minTokenBytes || strings.ContainsAny(token, " \t\r\n") {
		return nil, fmt.Errorf("--token-file %s must hold one token of at least %d characters", f.options.TokenFile, minTokenBytes)
	}
	return []byte(token), nil
}

// sameToken compares tokens in constant time.
func sameToken(want, have []byte) bool { return subtle.ConstantTimeCompare(want, have) == 1 }

// readOwn reads a file that this program has written. It refuses a symbolic link.
func readOwn(name string, limit int64) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return readAll(file, name, limit)
}

// readBounded reads an operator's file, which may be a symbolic link, as in a mounted Secret.
func readBounded(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return readAll(file, name, limit)
}

func readAll(file *os.File, name string, limit int64) ([]byte, error) {
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is longer than the %d bytes that are read", name, limit)
	}
	return data, nil
}
