// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"certrotation.dev/test/property"
)

// foreignSigner is a key of a type that this package cannot encode.
type foreignSigner struct{}

func (foreignSigner) Public() crypto.PublicKey { return "foreign" }
func (foreignSigner) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, errors.New("no")
}

func TestNewAuthority(t *testing.T) {
	for _, alg := range KeyAlgorithms() {
		t.Run(string(alg), func(t *testing.T) {
			ca := authorities[alg]()
			cert := must(x509.ParseCertificate(ca.Certificate.DER()))
			if !cert.IsCA || cert.MaxPathLen != 0 || !cert.MaxPathLenZero {
				t.Errorf("IsCA %t, path length %d", cert.IsCA, cert.MaxPathLen)
			}
			if want := x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature; cert.KeyUsage != want {
				t.Errorf("key usage %b, want %b", cert.KeyUsage, want)
			}
			if len(ca.Certificate.SubjectKeyID) != 40 || ca.Certificate.SubjectKeyID != ca.Certificate.AuthorityKeyID {
				t.Errorf("SKI %q, AKI %q", ca.Certificate.SubjectKeyID, ca.Certificate.AuthorityKeyID)
			}
			if ca.Certificate.KeyAlgorithm != alg || len(ca.Chain) != 0 || !ca.Certificate.SignedBy(ca.Certificate) {
				t.Errorf("not a self-signed authority of %s: %s", alg, ca)
			}
			if !IsGenerationOf(ca.Certificate.CommonName, "mtls-demo", "signer-"+string(alg)) {
				t.Errorf("common name %q", ca.Certificate.CommonName)
			}
			if want := testNow.Add(-5 * time.Minute); !cert.NotBefore.Equal(want) {
				t.Errorf("not before %s, want %s", cert.NotBefore, want)
			}
			if want := testNow.Add(10 * time.Hour); !cert.NotAfter.Equal(want) {
				t.Errorf("not after %s, want %s", cert.NotAfter, want)
			}
		})
	}
}

func TestKeyIDIsRFC7093Method1(t *testing.T) {
	// The bits of an ECDSA public key are the uncompressed point.
	key := newECKey(t)
	sum := sha256.Sum256(must(key.PublicKey.Bytes()))
	got, err := keyID(key.Public())
	if err != nil || hex.EncodeToString(got) != hex.EncodeToString(sum[:20]) {
		t.Errorf("keyID = %x, %v, want %x", got, err, sum[:20])
	}
	if _, err := keyID("foreign"); err == nil {
		t.Error("keyID accepts what is no key")
	}
}

func TestNewAuthorityRefuses(t *testing.T) {
	sound := authorityProfile(Ed25519)
	tests := map[string]struct {
		edit func(*Profile)
		err  error
	}{
		"no common name":  {func(p *Profile) { p.CommonName = "" }, ErrInvalidProfile},
		"no key":          {func(p *Profile) { p.Key = "" }, ErrKeyAlgorithm},
		"weak key":        {func(p *Profile) { p.Key = "RSA-1024" }, ErrKeyAlgorithm},
		"no validity":     {func(p *Profile) { p.Validity = 0 }, ErrInvalidProfile},
		"bad common name": {func(p *Profile) { p.CommonName = "\xff" }, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			profile := sound
			test.edit(&profile)
			_, err := NewAuthority(profile, testNow)
			if err == nil || test.err != nil && !errors.Is(err, test.err) {
				t.Errorf("NewAuthority: %v, want %v", err, test.err)
			}
		})
	}
	if _, err := NewAuthority(sound, time.Date(9999, 12, 31, 23, 0, 0, 0, time.UTC)); err == nil {
		t.Error("made an authority that lasts beyond the year 9999")
	}
}

func TestIssue(t *testing.T) {
	for _, alg := range KeyAlgorithms() {
		t.Run(string(alg), func(t *testing.T) {
			ca, leaf := authorities[alg](), leaves[alg]()
			verify(t, ca, leaf)
			cert := must(x509.ParseCertificate(leaf.Certificate.DER()))
			usage := x509.KeyUsageDigitalSignature
			if strings.HasPrefix(string(alg), "RSA-") {
				usage |= x509.KeyUsageKeyEncipherment
			}
			if cert.KeyUsage != usage || cert.IsCA || !cert.BasicConstraintsValid {
				t.Errorf("key usage %b (want %b), CA %t", cert.KeyUsage, usage, cert.IsCA)
			}
			got := leaf.Certificate
			if got.AuthorityKeyID != ca.Certificate.SubjectKeyID || len(got.SubjectKeyID) != 40 {
				t.Errorf("AKI %q, SKI %q", got.AuthorityKeyID, got.SubjectKeyID)
			}
			if diff := cmp.Diff([]string{"localhost", "server.mtls-demo.svc"}, got.DNSNames); diff != "" {
				t.Errorf("DNS names (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"127.0.0.1", "::1"}, got.IPAddresses); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]Usage{ServerAuth, ClientAuth}, got.Usages); diff != "" {
				t.Errorf("usages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(fingerprints([]*Certificate{ca.Certificate}), fingerprints(leaf.Chain)); diff != "" {
				t.Errorf("chain (-want +got):\n%s", diff)
			}
		})
	}
}

// verify checks a leaf with crypto/x509, for each of its usages.
func verify(tb rapid.TB, ca, leaf *Pair) {
	tb.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(must(x509.ParseCertificate(ca.Certificate.DER())))
	cert := must(x509.ParseCertificate(leaf.Certificate.DER()))
	for _, usage := range cert.ExtKeyUsage {
		at := cert.NotBefore.Add(cert.NotAfter.Sub(cert.NotBefore) / 2)
		if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
			tb.Errorf("crypto/x509 refuses the leaf: %v", err)
		}
	}
	if !leaf.Certificate.SignedBy(ca.Certificate) {
		tb.Errorf("the leaf is not SignedBy its signer")
	}
}

func TestIssueWithinSigner(t *testing.T) {
	ca := authorities[Ed25519]().Certificate
	tests := map[string]struct {
		now                 time.Time
		validity, backdate  time.Duration
		notBefore, notAfter time.Time
	}{
		"well within":                {testNow, time.Hour, time.Minute, testNow.Add(-time.Minute), testNow.Add(time.Hour)},
		"backdated before signer":    {testNow, time.Hour, time.Hour, ca.NotBefore, testNow.Add(time.Hour)},
		"longer than signer":         {testNow, 100 * time.Hour, 0, testNow, ca.NotAfter},
		"first second of the signer": {ca.NotBefore, time.Hour, time.Minute, ca.NotBefore, ca.NotBefore.Add(time.Hour)},
		"last second of the signer":  {ca.NotAfter.Add(-time.Second), time.Hour, 0, ca.NotAfter.Add(-time.Second), ca.NotAfter},
		"fractions are cut off":      {testNow.Add(time.Millisecond), time.Hour, 0, testNow, testNow.Add(time.Hour)},
		"other time zone":            {testNow.In(time.FixedZone("x", 7200)), time.Hour, 0, testNow, testNow.Add(time.Hour)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			profile := leafProfile(Ed25519)
			profile.Validity, profile.Backdate = test.validity, test.backdate
			leaf, err := authorities[Ed25519]().Issue(profile, test.now)
			if err != nil {
				t.Fatal(err)
			}
			if got := leaf.Certificate; !got.NotBefore.Equal(test.notBefore) || !got.NotAfter.Equal(test.notAfter) {
				t.Errorf("valid from %s to %s, want %s to %s", got.NotBefore, got.NotAfter, test.notBefore, test.notAfter)
			}
		})
	}
}

func TestIssueRefuses(t *testing.T) {
	ca := authorities[Ed25519]()
	foreign := &Pair{Certificate: ca.Certificate, key: seal(foreignSigner{})}
	unparsed := &Pair{Certificate: &Certificate{IsCA: true, NotBefore: testNow, NotAfter: testNow.Add(time.Hour)}, key: ca.key}
	mayNotSign := forgePair(t, newECKey(t), func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDigitalSignature })
	tests := map[string]struct {
		ca   *Pair
		edit func(*Profile)
		now  time.Time
		err  error // nil: any error
	}{
		"leaf as signer":           {ca: leaves[Ed25519](), err: ErrNotCA},
		"CA that may not sign":     {ca: mayNotSign, err: ErrNotCA},
		"expired signer":           {now: ca.Certificate.NotAfter.Add(time.Second), err: ErrSignerExpired},
		"signer not valid yet":     {now: ca.Certificate.NotBefore.Add(-time.Second), err: ErrSignerExpired},
		"nothing left":             {now: ca.Certificate.NotAfter, err: ErrSignerExpired},
		"empty pair":               {ca: &Pair{}, err: ErrNoKey},
		"key without certificate":  {ca: &Pair{key: ca.key}, err: ErrNoKey},
		"foreign signer":           {ca: foreign},
		"unparsed signer":          {ca: unparsed},
		"no usages":                {edit: func(p *Profile) { p.Usages = nil }, err: ErrInvalidProfile},
		"unknown usage":            {edit: func(p *Profile) { p.Usages = []Usage{"MicrosoftServerGatedCrypto"} }, err: ErrInvalidProfile},
		"no name":                  {edit: func(p *Profile) { *p = Profile{Usages: p.Usages, Key: p.Key, Validity: p.Validity} }, err: ErrInvalidProfile},
		"weak key":                 {edit: func(p *Profile) { p.Key = "RSA-1024" }, err: ErrKeyAlgorithm},
		"validity under a second":  {edit: func(p *Profile) { p.Validity = time.Second - 1 }, err: ErrInvalidProfile},
		"negative validity":        {edit: func(p *Profile) { p.Validity = -time.Hour }, err: ErrInvalidProfile},
		"negative backdate":        {edit: func(p *Profile) { p.Backdate = -1 }, err: ErrInvalidProfile},
		"no address":               {edit: func(p *Profile) { p.IPAddresses = []string{""} }, err: ErrInvalidProfile},
		"bad address":              {edit: func(p *Profile) { p.IPAddresses = []string{"10.0.0.256"} }, err: ErrInvalidProfile},
		"address with zone":        {edit: func(p *Profile) { p.IPAddresses = []string{"fe80::1%eth0"} }, err: ErrInvalidProfile},
		"empty DNS name":           {edit: func(p *Profile) { p.DNSNames = []string{""} }, err: ErrInvalidProfile},
		"DNS name with a space":    {edit: func(p *Profile) { p.DNSNames = []string{"a b"} }, err: ErrInvalidProfile},
		"DNS name beyond ASCII":    {edit: func(p *Profile) { p.DNSNames = []string{"bücher.example"} }, err: ErrInvalidProfile},
		"long DNS name":            {edit: func(p *Profile) { p.DNSNames = []string{strings.Repeat("a", 254)} }, err: ErrInvalidProfile},
		"subject of the signer":    {edit: func(p *Profile) { p.CommonName, p.Organizations = ca.Certificate.CommonName, nil }, err: ErrInvalidProfile},
		"common name not in UTF-8": {edit: func(p *Profile) { p.CommonName = "\xff" }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			signer, profile, now := test.ca, leafProfile(Ed25519), test.now
			if signer == nil {
				signer = ca
			}
			if test.edit != nil {
				test.edit(&profile)
			}
			if now.IsZero() {
				now = testNow
			}
			leaf, err := signer.Issue(profile, now)
			if err == nil || leaf != nil || test.err != nil && !errors.Is(err, test.err) {
				t.Errorf("Issue = %v, %v, want %v", leaf, err, test.err)
			}
		})
	}
}

func TestIssueByAdoptedSigner(t *testing.T) {
	tests := map[string]*Pair{
		"RSA 1024":             forgePair(t, rsa1024(), nil),
		"wildly long lived":    forgePair(t, newECKey(t), func(c *x509.Certificate) { c.NotAfter = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC) }),
		"without path length":  forgePair(t, newECKey(t), func(c *x509.Certificate) { c.MaxPathLen = -1 }),
		"with an SKI of SHA-1": forgePair(t, newECKey(t), func(c *x509.Certificate) { c.SubjectKeyId = make([]byte, 20) }),
	}
	for name, ca := range tests {
		t.Run(name, func(t *testing.T) {
			leaf, err := ca.Issue(leafProfile(Ed25519), testNow)
			if err != nil {
				t.Fatal(err)
			}
			verify(t, ca, leaf)
			if leaf.Certificate.AuthorityKeyID != ca.Certificate.SubjectKeyID {
				t.Errorf("AKI %q, want the SKI of the signer %q", leaf.Certificate.AuthorityKeyID, ca.Certificate.SubjectKeyID)
			}
		})
	}
}

func TestNewSerial(t *testing.T) {
	seen, longest := map[string]bool{}, 0
	for range 1000 {
		serial := newSerial()
		if serial.Sign() <= 0 || seen[serial.String()] {
			t.Fatalf("serial %s is not positive or not new", serial)
		}
		seen[serial.String()] = true
		longest = max(longest, serial.BitLen())
	}
	if longest != 159 {
		t.Errorf("the longest of 1000 serials has %d bits, want 159", longest)
	}
}

func TestNormalized(t *testing.T) {
	in := Profile{
		CommonName: "x", Organizations: []string{"b", "a", "b"}, DNSNames: []string{"*.b", "a", "*.b", "::1"},
		IPAddresses: []string{"::ffff:10.0.0.1", "2001:DB8:0::1", "10.0.0.1"},
		Usages:      []Usage{ClientAuth, ServerAuth, ClientAuth}, Key: Ed25519, Validity: time.Hour,
	}
	want := Profile{
		CommonName: "x", Organizations: []string{"a", "b"}, DNSNames: []string{"*.b", "::1", "a"},
		IPAddresses: []string{"10.0.0.1", "2001:db8::1"},
		Usages:      []Usage{ServerAuth, ClientAuth}, Key: Ed25519, Validity: time.Hour,
	}
	got, err := in.Normalized()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Normalized (-want +got):\n%s", diff)
	}
	if in.DNSNames[0] != "*.b" || in.Usages[0] != ClientAuth || in.Organizations[0] != "b" {
		t.Errorf("the receiver was changed: %+v", in)
	}
	leaf, err := authorities[Ed25519]().Issue(in, testNow)
	if err != nil {
		t.Fatal(err)
	}
	read := Profile{
		CommonName: leaf.Certificate.CommonName, Organizations: leaf.Certificate.Organizations, DNSNames: leaf.Certificate.DNSNames,
		IPAddresses: leaf.Certificate.IPAddresses, Usages: leaf.Certificate.Usages, Key: leaf.Certificate.KeyAlgorithm, Validity: time.Hour,
	}
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("the leaf does not read as its normalized profile (-want +got):\n%s", diff)
	}
}

// TestIssuedLeafProperty: every issued leaf verifies, lies within the validity of its signer, and survives a round
// trip.
func TestIssuedLeafProperty(t *testing.T) {
	// TestIssue covers RSA leaves. One RSA key per draw would take minutes.
	leafKeys := []KeyAlgorithm{ECDSAP256, ECDSAP384, ECDSAP521, Ed25519}
	property.Check(t, func(t *rapid.T) {
		ca := authorities[rapid.SampledFrom(KeyAlgorithms()).Draw(t, "signer")]()
		lifetime := int64(ca.Certificate.NotAfter.Sub(ca.Certificate.NotBefore))
		now := ca.Certificate.NotBefore.Add(time.Duration(rapid.Int64Range(0, lifetime-1).Draw(t, "now")))
		profile := Profile{
			CommonName:  rapid.StringMatching(`[a-z:]{1,20}`).Draw(t, "common name"),
			DNSNames:    rapid.SliceOfN(rapid.StringMatching(`(\*\.)?[a-z]{1,10}(\.[a-z]{1,10}){0,2}`), 0, 5).Draw(t, "names"),
			IPAddresses: rapid.SliceOfN(rapid.Custom(drawAddress), 0, 5).Draw(t, "addresses"),
			Usages:      rapid.SliceOfN(rapid.SampledFrom([]Usage{ServerAuth, ClientAuth}), 1, 3).Draw(t, "usages"),
			Key:         rapid.SampledFrom(leafKeys).Draw(t, "key"),
			Validity:    time.Duration(rapid.Int64Range(int64(time.Second), 2*lifetime).Draw(t, "validity")),
			Backdate:    time.Duration(rapid.Int64Range(0, lifetime).Draw(t, "backdate")),
		}
		leaf, err := ca.Issue(profile, now)
		if err != nil {
			t.Fatalf("Issue: %v", err)
		}
		verify(t, ca, leaf)
		got := leaf.Certificate
		if got.NotBefore.Before(ca.Certificate.NotBefore) || got.NotAfter.After(ca.Certificate.NotAfter) {
			t.Errorf("the leaf, %s to %s, is not within its signer", got.NotBefore, got.NotAfter)
		}
		if !got.ValidAt(now) {
			t.Errorf("the leaf, %s to %s, is not valid at %s", got.NotBefore, got.NotAfter, now)
		}
		key, err := leaf.KeyPEM()
		if err != nil {
			t.Fatalf("KeyPEM: %v", err)
		}
		again, err := ParsePair(leaf.CertPEM(), key)
		if err != nil || !again.Certificate.Equal(got) || len(again.Chain) != 1 {
			t.Errorf("round trip: %v, %v", again, err)
		}
	})
}

func drawAddress(t *rapid.T) string {
	size := rapid.SampledFrom([]int{net.IPv4len, net.IPv6len}).Draw(t, "size")
	return net.IP(rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "address")).String()
}

// TestEveryAlgorithmSignsEveryAlgorithm covers the RSA leaf keys that TestIssuedLeafProperty leaves out.
func TestEveryAlgorithmSignsEveryAlgorithm(t *testing.T) {
	for _, signer := range KeyAlgorithms() {
		for _, alg := range KeyAlgorithms() {
			t.Run(string(signer)+" signs "+string(alg), func(t *testing.T) {
				ca := authorities[signer]()
				parent := must(x509.ParseCertificate(ca.Certificate.DER()))
				template := leafTemplate(must(leafProfile(alg).Normalized()), ca.Certificate, testNow)
				leaf, err := sign(template, parent, leaves[alg]().key(), ca.key())
				if err != nil {
					t.Fatal(err)
				}
				verify(t, ca, leaf)
			})
		}
	}
}

func TestSignRefusesWhatItCannotParse(t *testing.T) {
	// CreateCertificate accepts any validity. The key exceeds the limit of ParseCertificate.
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: testNow, NotAfter: testNow}
	oversized := *rsa1024()
	oversized.N = new(big.Int).Lsh(oversized.N, maxRSABits)
	if _, err := sign(template, template, publicOnly{&oversized.PublicKey}, newECKey(t)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("sign: %v, want ErrTooLarge", err)
	}
}

// publicOnly is a public key without its private key.
type publicOnly struct{ public crypto.PublicKey }

func (p publicOnly) Public() crypto.PublicKey { return p.public }
func (publicOnly) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, errors.New("no key")
}

func BenchmarkGenerateKey(b *testing.B) {
	for _, alg := range KeyAlgorithms() {
		b.Run(string(alg), func(b *testing.B) {
			for b.Loop() {
				if _, err := GenerateKey(alg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkIssue(b *testing.B) {
	for _, alg := range KeyAlgorithms() {
		b.Run(string(alg), func(b *testing.B) {
			ca, profile := authorities[alg](), leafProfile(alg)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ca.Issue(profile, testNow); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSign measures Issue without key generation.
func BenchmarkSign(b *testing.B) {
	for _, alg := range KeyAlgorithms() {
		b.Run(string(alg), func(b *testing.B) {
			signer, digest := leaves[alg]().key(), sha256.Sum256(nil)
			options := crypto.SignerOpts(crypto.SHA256)
			if alg == Ed25519 {
				options = crypto.Hash(0)
			}
			for b.Loop() {
				if _, err := signer.Sign(rand.Reader, digest[:], options); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
