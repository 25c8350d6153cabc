// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package truststore

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"

	"certrotation.dev/registry/pki"
)

// changeit is Java's default password.
const changeit = "changeit"

var start = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func authority(t *testing.T, name string) *pki.Certificate {
	t.Helper()
	pair, err := pki.NewAuthority(pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: time.Hour}, start)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Certificate
}

func fingerprints(anchors []*pki.Certificate) []string {
	var out []string
	for _, anchor := range anchors {
		out = append(out, string(anchor.Fingerprint))
	}
	slices.Sort(out)
	return out
}

func encode(t *testing.T, format Format, password string, anchors ...*pki.Certificate) []byte {
	t.Helper()
	encoded, err := Encode(format, password, anchors)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// readPKCS12 and readJKS return the fingerprints that the libraries read.
func readPKCS12(t *testing.T, data []byte, password string) []string {
	t.Helper()
	certificates, err := pkcs12.DecodeTrustStore(data, password)
	if err != nil {
		t.Fatal(err)
	}
	var anchors []*pki.Certificate
	for _, certificate := range certificates {
		anchors = append(anchors, parse(t, certificate.Raw))
	}
	return fingerprints(anchors)
}

func readJKS(t *testing.T, data []byte, password string) []string {
	t.Helper()
	store := keystore.New()
	if err := store.Load(bytes.NewReader(data), []byte(password)); err != nil {
		t.Fatal(err)
	}
	var anchors []*pki.Certificate
	for _, alias := range store.Aliases() {
		entry, err := store.GetTrustedCertificateEntry(alias)
		if err != nil {
			t.Fatal(err)
		}
		anchors = append(anchors, parse(t, entry.Certificate.Content))
	}
	return fingerprints(anchors)
}

func parse(t *testing.T, der []byte) *pki.Certificate {
	t.Helper()
	certificate, err := pki.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

var readers = map[Format]func(*testing.T, []byte, string) []string{PKCS12: readPKCS12, JKS: readJKS}

func TestReadBack(t *testing.T) {
	one, two := authority(t, "demo_signer@1"), authority(t, "demo_signer@2")
	odd := authority(t, "Ⅻ 𝄞 "+strings.Repeat("long ", 8))
	for format, read := range readers {
		for name, anchors := range map[string][]*pki.Certificate{
			"one": {one}, "two": {one, two}, "two of one name": {one, authority(t, "demo_signer@1")}, "a name that is not ASCII": {odd, one},
		} {
			t.Run(string(format)+"/"+name, func(t *testing.T) {
				got := read(t, encode(t, format, "a pass word", anchors...), "a pass word")
				if diff := cmp.Diff(fingerprints(anchors), got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestTheSameAnchorsAreTheSameBytes(t *testing.T) {
	one, two := authority(t, "one"), authority(t, "two")
	for format := range readers {
		first := encode(t, format, changeit, one, two)
		for name, test := range map[string]struct {
			other []byte
			same  bool
		}{
			"again":             {encode(t, format, changeit, one, two), true},
			"in another order":  {encode(t, format, changeit, two, one), true},
			"one twice":         {encode(t, format, changeit, two, one, one), true},
			"fewer":             {encode(t, format, changeit, one), false},
			"another password":  {encode(t, format, "another", one, two), false},
			"another of a name": {encode(t, format, changeit, one, authority(t, "two")), false},
		} {
			if got := bytes.Equal(first, test.other); got != test.same {
				t.Errorf("%s, %s: the same bytes: %t", format, name, got)
			}
		}
		if got := Digest(format, changeit, []*pki.Certificate{two, one}); got != DigestOf(first) || Digest(format, changeit, []*pki.Certificate{two, one}) != got {
			t.Errorf("%s: the digest is %s, want %s", format, got, DigestOf(first))
		}
	}
}

func TestNoAnchors(t *testing.T) {
	for _, format := range []Format{PKCS12, JKS} {
		if _, err := Encode(format, changeit, nil); !errors.Is(err, errNoAnchors) {
			t.Errorf("%s: %v", format, err)
		}
	}
	if _, err := Encode("BKS", changeit, []*pki.Certificate{authority(t, "one")}); err == nil {
		t.Error("a format that nobody knows was written")
	}
	if digest := Digest(JKS, changeit, nil); digest != "" {
		t.Errorf("nothing has the digest %s", digest)
	}
}

// TestProgramsReadThem reads the trust stores with keytool and openssl, if this machine has them.
func TestProgramsReadThem(t *testing.T) {
	anchors := []*pki.Certificate{authority(t, "demo_signer@1"), authority(t, "demo_signer@2")}
	for _, program := range []struct {
		format Format
		args   []string
		// entry occurs in the output once for each anchor.
		entry string
	}{
		{PKCS12, []string{"keytool", "-list", "-storetype", "PKCS12", "-storepass", changeit, "-keystore"}, "trustedCertEntry"},
		{JKS, []string{"keytool", "-list", "-storetype", "JKS", "-storepass", changeit, "-keystore"}, "trustedCertEntry"},
		{PKCS12, []string{"openssl", "pkcs12", "-nokeys", "-passin", "pass:" + changeit, "-in"}, "BEGIN CERTIFICATE"},
	} {
		if _, err := exec.LookPath(program.args[0]); err != nil {
			t.Logf("%s does not read %s here: %v", program.args[0], program.format, err)
			continue
		}
		file := filepath.Join(t.TempDir(), "store")
		if err := os.WriteFile(file, encode(t, program.format, changeit, anchors...), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), program.args[0], append(program.args[1:], file)...).CombinedOutput()
		if count := strings.Count(string(out), program.entry); err != nil || count != len(anchors) {
			t.Errorf("%s reads %d of %d anchors of %s: %v\n%s", program.args[0], count, len(anchors), program.format, err, out)
		}
	}
}
