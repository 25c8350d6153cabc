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
	// accepts returns nil if the program accepts the leaf by the file of anchors, a refusal if it does not, and any
	// other error if it could not say.
	accepts func(ctx context.Context, q *question) error
}

// refusal is the answer of a verifier that does not accept.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// question is a PKI, for one usage.
type question struct {
	*PKI
	dir   string
	usage pki.Usage
}

// ask reports whether a verifier accepts a leaf by the anchors of a file, and why not. It fails if the program cannot
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
	boring, err := startBoring(ctx, dir)
	if err != nil {
		return nil, err
	}
	if boring != nil {
		out = append(out, &Verifier{Name: "BoringSSL", Of: pki.BoringSSL, accepts: boring.accepts})
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
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	for _, cert := range q.File {
		roots.AddCert(cert)
	}
	for _, cert := range q.Presented {
		intermediates.AddCert(cert)
	}
	usage := map[pki.Usage]x509.ExtKeyUsage{pki.ServerAuth: x509.ExtKeyUsageServerAuth, pki.ClientAuth: x509.ExtKeyUsageClientAuth}[q.usage]
	options := x509.VerifyOptions{Roots: roots, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{usage}}
	if _, err := q.Leaf.Verify(options); err != nil {
		return &refusal{err.Error()}
	}
	return nil
}

// byOpenSSL asks at a security level: libraries of distributions use 2, and 0 accepts signatures with SHA-1.
func byOpenSSL(level string) func(context.Context, *question) error {
	return func(ctx context.Context, q *question) error {
		purpose := map[pki.Usage]string{pki.ServerAuth: "sslserver", pki.ClientAuth: "sslclient"}[q.usage]
		return q.ask(ctx, "verification failed", "openssl", "verify", "-auth_level", level, "-no-CApath", "-no-CAstore", "-CAfile", "file.pem",
			"-untrusted", "presented.pem", "-purpose", purpose, "leaf.pem")
	}
}

func byGnuTLS(ctx context.Context, q *question) error {
	purpose := map[pki.Usage]string{pki.ServerAuth: "1.3.6.1.5.5.7.3.1", pki.ClientAuth: "1.3.6.1.5.5.7.3.2"}[q.usage]
	return q.ask(ctx, "Chain verification output", "certtool", "--verify", "--load-ca-certificate", "file.pem", "--infile", "presented.pem",
		"--verify-purpose", purpose)
}

func byNSS(ctx context.Context, q *question) error {
	usage := map[pki.Usage]string{pki.ServerAuth: "1", pki.ClientAuth: "0"}[q.usage]
	args := []string{"-d", "sql:.", "-pp", "-u", usage, "-a", "leaf.pem"}
	for i := range q.Presented {
		args = append(args, "-a", fmt.Sprintf("presented%d.pem", i))
	}
	for i := range q.File {
		args = append(args, "-t", "-a", fmt.Sprintf("file%d.pem", i))
	}
	return q.ask(ctx, "Chain is bad!", "vfychain", args...)
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

// write writes the files that programs read: all anchors, the leaf with what is presented after it, and each
// certificate by itself.
func (q *question) write() error {
	content := map[string][]byte{"leaf.pem": pemOf(q.Leaf), "presented.pem": pemOf(q.Leaf)}
	for i, cert := range q.Presented {
		content["presented.pem"] = append(content["presented.pem"], pemOf(cert)...)
		content[fmt.Sprintf("presented%d.pem", i)] = pemOf(cert)
	}
	for i, cert := range q.File {
		content["file.pem"] = append(content["file.pem"], pemOf(cert)...)
		content[fmt.Sprintf("file%d.pem", i)] = pemOf(cert)
	}
	for name, text := range content {
		if err := os.WriteFile(filepath.Join(q.dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
