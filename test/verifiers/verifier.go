// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package verifiers

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"certrotation.dev/registry/pki"
)

// Verifier decides as a program does.
type Verifier struct {
	Name string
	// Of is what must accept before a certificate is used. A lax one is zero: it counts only when an anchor is taken
	// away.
	Of pki.Verifiers
	// lacks reports whether the program does not know the algorithm of a key. Operators choose algorithms that their
	// verifiers know, so it is not asked then.
	lacks func(x509.PublicKeyAlgorithm) bool
	// accepts returns nil if the program takes the anchor for the issuer of the leaf, a refusal if it does not, and
	// any other error if it could not say.
	accepts func(ctx context.Context, q *question) error
}

// refusal is the answer of a verifier that does not accept.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// question is a leaf with one anchor, for one usage.
type question struct {
	dir          string
	anchor, leaf *x509.Certificate
	usage        pki.Usage
}

// ask reports whether a verifier accepts a leaf by an anchor for a usage, and why not. It fails if the program cannot
// be asked.
func (v *Verifier) ask(ctx context.Context, q *question) (accepted bool, why string, err error) {
	answer := v.accepts(ctx, q)
	var no *refusal
	switch {
	case answer == nil:
		return true, "", nil
	case errors.As(answer, &no):
		return false, no.text, nil
	}
	return false, "", fmt.Errorf("ask %s: %w", v.Name, answer)
}

// Installed returns the verifiers of this machine: crypto/x509, and the programs that are found. They read their files in
// dir. Some run until the context ends.
func Installed(ctx context.Context, dir string) ([]*Verifier, error) {
	out := []*Verifier{{Name: "Go", Of: pki.Go, accepts: byGo}}
	if found("openssl") {
		out = append(out, &Verifier{Name: "OpenSSL", Of: pki.OpenSSL, accepts: byOpenSSL("2")}, &Verifier{Name: "OpenSSL, level 0", accepts: byOpenSSL("0")})
	}
	if found("certtool") {
		out = append(out, &Verifier{Name: "GnuTLS", Of: pki.GnuTLS, accepts: byGnuTLS})
	}
	if found("vfychain") && found("certutil") {
		if text, err := exec.CommandContext(ctx, "certutil", "-N", "-d", "sql:"+dir, "--empty-password").CombinedOutput(); err != nil {
			return nil, fmt.Errorf("make a database for NSS: %w: %s", err, text)
		}
		ed25519 := func(a x509.PublicKeyAlgorithm) bool { return a == x509.Ed25519 }
		out = append(out, &Verifier{Name: "NSS", Of: pki.NSS, lacks: ed25519, accepts: byNSS})
	}
	if found("javac") {
		java, err := startJava(ctx, dir)
		if err != nil {
			return nil, err
		}
		out = append(out, &Verifier{Name: "Java", Of: pki.Java, accepts: java.accepts})
	}
	return out, nil
}

func found(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

func byGo(_ context.Context, q *question) error {
	roots := x509.NewCertPool()
	roots.AddCert(q.anchor)
	usage := map[pki.Usage]x509.ExtKeyUsage{pki.ServerAuth: x509.ExtKeyUsageServerAuth, pki.ClientAuth: x509.ExtKeyUsageClientAuth}[q.usage]
	if _, err := q.leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
		return &refusal{err.Error()}
	}
	return nil
}

// byOpenSSL asks at a security level: libraries of distributions use 2, and 0 accepts signatures with SHA-1.
func byOpenSSL(level string) func(context.Context, *question) error {
	return func(ctx context.Context, q *question) error {
		purpose := map[pki.Usage]string{pki.ServerAuth: "sslserver", pki.ClientAuth: "sslclient"}[q.usage]
		return q.ask(ctx, "verification failed", "openssl", "verify", "-auth_level", level, "-no-CApath", "-no-CAstore", "-CAfile", "anchor.pem",
			"-purpose", purpose, "leaf.pem")
	}
}

func byGnuTLS(ctx context.Context, q *question) error {
	purpose := map[pki.Usage]string{pki.ServerAuth: "1.3.6.1.5.5.7.3.1", pki.ClientAuth: "1.3.6.1.5.5.7.3.2"}[q.usage]
	return q.ask(ctx, "Chain verification output", "certtool", "--verify", "--load-ca-certificate", "anchor.pem", "--infile", "leaf.pem", "--verify-purpose", purpose)
}

func byNSS(ctx context.Context, q *question) error {
	usage := map[pki.Usage]string{pki.ServerAuth: "1", pki.ClientAuth: "0"}[q.usage]
	return q.ask(ctx, "Chain is bad!", "vfychain", "-d", "sql:.", "-pp", "-u", usage, "-a", "leaf.pem", "-t", "-a", "anchor.pem")
}

// ask runs a program in the directory of the files. It refuses if it fails, and says so in its output.
func (q *question) ask(ctx context.Context, says, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = q.dir
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if strings.Contains(string(out), says) {
		return &refusal{string(out)}
	}
	return fmt.Errorf("%w: %s", err, out)
}

// write writes the files that programs read.
func (q *question) write() error {
	for name, cert := range map[string]*x509.Certificate{"anchor.pem": q.anchor, "leaf.pem": q.leaf} {
		if err := os.WriteFile(filepath.Join(q.dir, name), pemOf(cert), 0o600); err != nil {
			return err
		}
	}
	return nil
}
