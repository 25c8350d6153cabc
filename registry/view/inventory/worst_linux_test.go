// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
)

// These variables tell the process that reads one document its name and file.
const (
	worstName = "CERTROTATION_WORST_NAME"
	worstFile = "CERTROTATION_WORST_FILE"
)

// mostSorts bounds the computing that the first read of a 1 MiB object may cause. Other callers wait for the
// goroutine that does it. The unit is the CPU time of sorting a million numbers, about 0.1 s, so that slow
// machines get the same result.
const mostSorts = 50

// worst is a document and the reader that certrotation applies to it first.
type worst struct {
	name string
	make func(t *testing.T) any
	read func(data []byte) error
}

func secretOf(data map[string][]byte) func(*testing.T) any {
	return func(*testing.T) any {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: map[string]string{trust.LabelAggregate: ""}}, Type: corev1.SecretTypeTLS, Data: data}
	}
}

const mebibyte = 1 << 20

func worstDocuments() []worst {
	fill := func(text string) []byte { return bytes.Repeat([]byte(text), mebibyte/len(text)) }
	third := func(text string) []byte { return bytes.Repeat([]byte(text), mebibyte/3/len(text)) }
	return []worst{
		{"a bundle of as many small certificates as fit", func(t *testing.T) any { return bundleOf(small(t, 1), mebibyte) }, readConfigMap},
		{"a bundle of as many certificates as may be, with many names", func(t *testing.T) any {
			return bundleOf(small(t, pki.MaxAlternativeNames/8), mebibyte)
		}, readConfigMap},
		{"a certificate with a subject of many parts", func(t *testing.T) any { return bundleOf(manyParts(t), 1) }, readConfigMap},
		{"a bundle of markers without an end", func(*testing.T) any { return configMapOf(fill("-----BEGIN A-----\n")) }, readConfigMap},
		{"a bundle of empty blocks", func(*testing.T) any {
			return configMapOf(fill("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"))
		}, readConfigMap},
		{"keys that are markers", secretOf(map[string][]byte{
			ActiveCertKey: third("-----BEGIN A-----\n"), ActiveKeyKey: third("-----BEGIN PRIVATE KEY-----\n"), NextKeyKey: third("-----END A-----\n"),
		}), readSecret},
		{"as many previous keys as fit", func(t *testing.T) any {
			return secretOf(map[string][]byte{
				PreviousCertKey: bytes.Repeat(small(t, 1), pki.MaxCertificates), PreviousKeyKey: third("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
			})(t)
		}, readSecret},
		{"a chain of as many certificates as fit", func(t *testing.T) any {
			return secretOf(map[string][]byte{ActiveCertKey: bytes.Repeat(small(t, 1), mebibyte/len(small(t, 1)))})(t)
		}, readSecret},
		{"annotations", func(*testing.T) any {
			cm := configMapOf(nil)
			cm.Annotations = map[string]string{"auth.openshift.io/certificate-hostnames": strings.Repeat("a,", 128<<10)}
			return cm
		}, readConfigMap},
		{"a status that is deep", func(*testing.T) any {
			cm := configMapOf(nil)
			cm.Name, cm.Labels = rollout.StatusName("x"), map[string]string{rollout.LabelStatus: "x"}
			cm.Data = map[string]string{rollout.StatusKey: strings.Repeat("[", mebibyte)}
			return cm
		}, readConfigMap},
		{"a pod of aliases", func(*testing.T) any { return laughs() }, readPod},
		{"a pod of lists", func(*testing.T) any { return strings.Repeat("- \n", mebibyte/3) }, readPod},
		{"a pod that is deep", func(*testing.T) any { return "a: " + strings.Repeat("[", 250<<10) }, readPod},
		{"a configuration of as many leaves as may be", func(*testing.T) any {
			return largeConfiguration{domains: 4, perNode: 1, members: 24, parties: 1}.spec()
		}, readAdmitted},
		{"a configuration of as many members as may be", func(*testing.T) any {
			return largeConfiguration{domains: 4, once: 22, parties: 1, presents: 1, endpoints: 1}.spec()
		}, readAdmitted},
		{"a configuration of more than may be", func(*testing.T) any {
			return largeConfiguration{domains: 30, perNode: 100, members: 1, parties: 10, endpoints: 50}.spec()
		}, readConfiguration},
	}
}

func readConfigMap(data []byte) error {
	cm := &corev1.ConfigMap{}
	if err := json.Unmarshal(data, cm); err != nil {
		return err
	}
	certs := pki.NewCache(pkiCacheEntries)
	ParseConfigMap(cm, certs)
	ParseConfigMap(cm, certs)
	return nil
}

func readSecret(data []byte) error {
	secret := &corev1.Secret{}
	if err := json.Unmarshal(data, secret); err != nil {
		return err
	}
	certs := pki.NewCache(pkiCacheEntries)
	ParseSecret(secret, certs)
	ParseOtherSecret(secret, certs)
	return nil
}

func readPod(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	if pod, err := nodepod.ParsePod([]byte(text)); err == nil {
		return fmt.Errorf("it is read as pod %s", pod.Name)
	}
	return nil
}

// readAdmitted requires that the configuration is within the bounds: a refused one would prove nothing.
func readAdmitted(data []byte) error {
	if domains, err := assessed(data); err != nil || domains == 0 {
		return fmt.Errorf("%d trust domains, %w", domains, err)
	}
	return nil
}

func readConfiguration(data []byte) error {
	_, err := assessed(data)
	return err
}

func assessed(data []byte) (domains int, err error) {
	spec := &configv1alpha1.RotationConfigurationSpec{}
	if err := json.Unmarshal(data, spec); err != nil {
		return 0, err
	}
	n := Build(clusterOf(MaxNodes, map[string]*configv1alpha1.RotationConfigurationSpec{"a": spec}))
	for _, d := range n.Domains {
		trust.Assess(d, time.Now())
	}
	return len(n.Domains), nil
}

// TestLimitsHoldForTheWorst: for any 1 MiB object, the reading process stays below half of the memory limit of its
// pod. It computes no longer than mostSorts. Each document is read in its own process.
func TestLimitsHoldForTheWorst(t *testing.T) {
	if name := os.Getenv(worstName); name != "" {
		readWorst(t, name)
		return
	}
	limit := podLimit(t) / 2
	for _, w := range worstDocuments() {
		t.Run(w.name, func(t *testing.T) {
			data, err := json.Marshal(w.make(t))
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "document")
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLimitsHoldForTheWorst$", "-test.v")
			child.Env = append(os.Environ(), worstName+"="+w.name, worstFile+"="+file)
			out, err := child.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			found := regexp.MustCompile(`peak (\d+) KiB, cpu (\S+), sort (\S+)`).FindSubmatch(out)
			if found == nil {
				t.Fatalf("nothing measured:\n%s", out)
			}
			peak, _ := strconv.ParseInt(string(found[1]), 10, 64)
			cpu, err := time.ParseDuration(string(found[2]))
			if err != nil {
				t.Fatal(err)
			}
			sort, err := time.ParseDuration(string(found[3]))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d KiB of JSON: peak %d MiB, CPU %s, one sort %s", len(data)>>10, peak>>10, cpu, sort)
			if peak<<10 > limit {
				t.Errorf("peak of %d MiB, want at most %d", peak>>10, limit>>20)
			}
			if most := mostSorts * sort; cpu > most {
				t.Errorf("%s on a CPU, want at most %s", cpu, most)
			}
		})
	}
}

// readWorst is the body of the process that reads one document.
func readWorst(t *testing.T, name string) {
	t.Helper()
	for _, w := range worstDocuments() {
		if w.name != name {
			continue
		}
		data, err := os.ReadFile(os.Getenv(worstFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.read(data); err != nil {
			t.Fatal(err)
		}
		read, most := cpuTime(t), peak(t)
		numbers, random := make([]int, 1_000_000), rand.New(rand.NewPCG(1, 2))
		for i := range numbers {
			numbers[i] = random.Int()
		}
		slices.Sort(numbers)
		fmt.Printf("peak %d KiB, cpu %s, sort %s\n", most, read, cpuTime(t)-read)
		return
	}
	t.Fatalf("no document %s", name)
}

// cpuTime returns the CPU time that this process has used.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// peak returns the peak memory of this process, in KiB. The peak of getrusage would include the parent process.
func peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Fatalf("no VmHWM:\n%s", status)
	}
	kib, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib
}

// podLimit returns the smaller memory limit of the two deployments.
func podLimit(t *testing.T) int64 {
	t.Helper()
	least := int64(0)
	for _, file := range []string{"controller.yaml", "serve.yaml"} {
		data, err := os.ReadFile(filepath.Join("../../../manifests/deployment", file))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`limits: \{memory: (\S+)\}`).FindSubmatch(data)
		if found == nil {
			t.Fatalf("%s: no memory limit", file)
		}
		quantity := resource.MustParse(string(found[1]))
		if limit := quantity.Value(); least == 0 || limit < least {
			least = limit
		}
	}
	return least
}

func configMapOf(bundle []byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "b", Labels: map[string]string{trust.LabelAggregate: ""}}, Data: map[string]string{BundleKey: string(bundle)},
	}
}

func bundleOf(cert []byte, size int) *corev1.ConfigMap {
	return configMapOf(bytes.Repeat(cert, max(1, size/len(cert))))
}

// small returns a PEM certificate with the given number of names.
func small(t *testing.T, names int) []byte {
	t.Helper()
	template := &x509.Certificate{}
	for i := range names {
		template.DNSNames = append(template.DNSNames, fmt.Sprintf("n%d", i))
	}
	return certificateOf(t, template)
}

// manyParts returns a certificate whose subject takes quadratic time to format.
func manyParts(t *testing.T) []byte {
	t.Helper()
	template := &x509.Certificate{}
	for i := range 40000 {
		template.Subject.ExtraNames = append(template.Subject.ExtraNames, pkix.AttributeTypeAndValue{Type: []int{2, 5, 4, 11}, Value: strconv.Itoa(i)})
	}
	return certificateOf(t, template)
}

func certificateOf(t *testing.T, template *x509.Certificate) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotAfter = big.NewInt(1), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(cryptorand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// laughs returns a YAML document in which each level expands to ten times the former one.
func laughs() string {
	var text strings.Builder
	text.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&text, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return text.String()
}
