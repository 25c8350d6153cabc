// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
)

// now is the time of all test certificates.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	resources = "/etc/kubernetes/static-pod-resources"
	podText   = `apiVersion: v1
kind: Pod
metadata: {name: etcd}
spec:
  containers:
  - name: etcd
    image: etcd
    args: ["--name=NODE_NAME", "--listen=https://NODE_IP:2379"]
    volumeMounts: [{name: resource-dir, mountPath: /etc/kubernetes/static-pod-resources, readOnly: true}]
  volumes:
  - name: resource-dir
    hostPath: {path: "DIRECTORY/etcd-pod-REVISION"}
`
)

// authorities are made once.
var authorities = [3]func() *pki.Pair{newAuthority("a"), newAuthority("b"), newAuthority("c")}

func newAuthority(name string) func() *pki.Pair {
	return sync.OnceValue(func() *pki.Pair {
		return must(pki.NewAuthority(pki.Profile{CommonName: "etcd-signer-" + name, Key: pki.ECDSAP256, Validity: 24 * time.Hour}, now))
	})
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func newLeaf(signer *pki.Pair) *pki.Pair {
	return must(signer.Issue(pki.Profile{
		CommonName: "system:etcd-server:master-0", DNSNames: []string{"master-0"}, Usages: []pki.Usage{pki.ServerAuth, pki.ClientAuth},
		Key: pki.ECDSAP256, Validity: time.Hour,
	}, now))
}

// newIntermediate returns an authority signed by root.
func newIntermediate(root *pki.Pair) *pki.Pair {
	parse := func(p *pki.Pair) (*x509.Certificate, crypto.Signer) {
		block, _ := pem.Decode(must(p.KeyPEM()))
		return must(x509.ParseCertificate(p.Certificate.DER())), must(x509.ParsePKCS8PrivateKey(block.Bytes)).(crypto.Signer)
	}
	parent, parentKey := parse(root)
	child, key := parse(must(pki.NewAuthority(pki.Profile{CommonName: "intermediate", Key: pki.ECDSAP256, Validity: time.Hour}, now)))
	child.AuthorityKeyId = nil
	der := must(x509.CreateCertificate(rand.Reader, child, parent, key.Public(), parentKey))
	keyDER := must(x509.MarshalPKCS8PrivateKey(key))
	return must(pki.ParsePair(must(pki.ParseCertificate(der)).PEM(), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
}

// content returns a content with a leaf of signer and a bundle of the trusted authorities.
func content(signer *pki.Pair, trusted ...*pki.Pair) nodepod.Content {
	leaf := newLeaf(signer)
	var bundle []byte
	for _, ca := range trusted {
		bundle = append(bundle, ca.Certificate.PEM()...)
	}
	return nodepod.Content{
		PodTemplate: []byte(strings.ReplaceAll(podText, "DIRECTORY", resources)),
		ConfigMaps:  map[string]map[string][]byte{"etcd-all-bundles": {"server-ca-bundle.crt": bundle}},
		Secrets: map[string]map[string][]byte{"etcd-all-certs": {
			"etcd-serving-master-0.crt": leaf.CertPEM(), "etcd-serving-master-0.key": must(leaf.KeyPEM()),
		}},
		Reloaded: sets.New("etcd-all-certs"),
	}
}

func permitted() *configv1alpha1.PermittedPod {
	return &configv1alpha1.PermittedPod{Images: []string{"etcd", "etcd2"}}
}

func request(n int, c nodepod.Content) Request {
	return Request{Content: c, Revision: n, ContentHash: c.ContentHash(), NodeName: "master-0", NodeIP: "10.0.0.5", Permitted: permitted(),
		Companions: map[string]*configv1alpha1.PermittedPod{companion: permitted()}}
}

// companion is a second static pod of the node. accompanied is the layout with it, with kubeadm's names.
const companion = "kube-apiserver"

func accompanied() nodepod.Layout {
	out := layout
	out.ManifestFile, out.Companions = "etcd.yaml", []nodepod.Companion{{Name: companion, ManifestFile: companion + ".yaml"}}
	return out
}

// together adds the template of the companion to a content.
func together(c nodepod.Content) nodepod.Content {
	c.Companions = map[string][]byte{companion: []byte(strings.ReplaceAll(string(c.PodTemplate), "name: etcd}", "name: "+companion+"}"))}
	return c
}

// machine is a node with its disk in memory.
type machine struct {
	*Node
	power *supply
}

var layout = nodepod.Layout{
	Name: "etcd", ResourceDirectory: resources, HostResourceDirectory: resources, ManifestDirectory: "/etc/kubernetes/manifests",
}

func newMachine() *machine {
	power := &supply{}
	return machineOf(newMemory(power), newMemory(power), power)
}

func machineOf(resources, manifests *memory, power *supply) *machine {
	return &machine{power: power, Node: &Node{layout: layout, resources: resources, manifests: manifests}}
}

// restart returns the machine after a loss of power.
func (m *machine) restart(survives func() bool, torn func([]byte) []byte) *machine {
	power := &supply{}
	out := machineOf(m.resources.(*memory).afterPowerLoss(power, survives, torn), m.manifests.(*memory).afterPowerLoss(power, survives, torn), power)
	out.layout = m.layout
	return out
}

// clone returns the machine with everything synced.
func (m *machine) clone() *machine {
	return m.restart(func() bool { return true }, func(data []byte) []byte { return data })
}

func (m *machine) mustInstall(t *testing.T, r Request) Result {
	t.Helper()
	result, err := m.Install(t.Context(), r)
	if err != nil {
		t.Fatalf("install revision %d: %v", r.Revision, err)
	}
	return result
}

// numbers returns the revision of the manifest and the generation of the pointer, zeros if nothing is installed.
func (m *machine) numbers(t *testing.T) (int, int) {
	t.Helper()
	return m.numbersOf(t, m.layout)
}

// numbersOf returns these numbers of one static pod.
func (m *machine) numbersOf(t *testing.T, pod nodepod.Layout) (int, int) {
	t.Helper()
	installed, err := pod.ReadInstalled(m.resources, m.manifests)
	if errors.Is(err, nodepod.ErrNotInstalled) {
		return 0, 0
	}
	if err != nil {
		t.Fatalf("what the manifest and the pointer name is not whole: %v", err)
	}
	return installed.Manifest.Revision, installed.Generation.Number
}

// defects returns all defects of the disk, and leftovers.
func (m *machine) defects(t *testing.T) nodepod.Defects {
	t.Helper()
	return defectsOf(t, m.Node)
}

func defectsOf(t *testing.T, n *Node) nodepod.Defects {
	t.Helper()
	disk, err := n.layout.ReadDisk(n.resources, n.manifests)
	if err != nil {
		t.Fatal(err)
	}
	out := slices.Clone(disk.Manifest.Defects)
	if dirs := disk.Manifest.Mounts; len(dirs) == 1 && disk.Directory(dirs[0]) == nil {
		out.Add(nodepod.DirectoryMissing, path.Join(n.layout.ResourceDirectory, n.layout.DirectoryName(dirs[0])), "")
	}
	for _, d := range disk.Directories {
		out = slices.Concat(out, d.Defects, d.Manifest.Defects, d.Pointer.Defects)
		for _, g := range d.Generations {
			out = append(out, g.Defects...)
		}
	}
	for _, leftover := range disk.Leftovers {
		out.Add("Leftover", leftover, "")
	}
	return out
}
