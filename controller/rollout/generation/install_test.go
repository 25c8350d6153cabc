// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"cmp"
	"errors"
	"path"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"certrotation.dev/controller/durable"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
)

func TestInstallDecides(t *testing.T) {
	a, b := authorities[0](), authorities[1]()
	first := request(3, content(a, a))
	tests := []struct {
		name    string
		request func() Request
		want    Result
	}{
		{"the same again", func() Request { return first }, Result{Directory: 3, Generation: 3}},
		{"leaves", func() Request { return request(5, content(a, a)) }, Result{Changed: true, Directory: 3, Generation: 5}},
		{"equal content of a later revision", func() Request { return request(4, first.Content) }, Result{Changed: true, Directory: 3, Generation: 4}},
		{"trust", func() Request { return request(5, content(a, a, b)) }, Result{Changed: true, Restart: true, Directory: 5, Generation: 5}},
		{"another address of the node", func() Request {
			r := request(5, first.Content)
			r.NodeIP = "10.0.0.6"
			return r
		}, Result{Changed: true, Restart: true, Directory: 5, Generation: 5}},
		{"another address in the same revision", func() Request {
			r := first
			r.NodeIP = "10.0.0.6"
			return r
		}, Result{Changed: true, Restart: true, Directory: 3, Generation: 3}},
		{"template", func() Request {
			c := first.Content
			c.PodTemplate = []byte(strings.Replace(string(c.PodTemplate), "image: etcd", "image: etcd2", 1))
			return request(4, c)
		}, Result{Changed: true, Restart: true, Directory: 4, Generation: 4}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine()
			m.mustInstall(t, first)
			got := m.mustInstall(t, test.request())
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if r, g := m.numbers(t); r != test.want.Directory || g != test.want.Generation {
				t.Errorf("manifest %d, generation %d", r, g)
			}
			if _, err := m.resources.Lstat("etcd-pod-3/generation-3"); err != nil {
				t.Errorf("what ran before is gone: %v", err)
			}
		})
	}
}

func TestInstallRefuses(t *testing.T) {
	a, b := authorities[0](), authorities[1]()
	good := func() Request { return request(5, content(a, a)) }
	leaf := func(r Request) map[string][]byte { return r.Content.Secrets["etcd-all-certs"] }
	tests := []struct {
		name   string
		change func(*Request)
		is     error
		want   string
	}{
		{"older than the generation", func(r *Request) { r.Revision = 3 }, ErrNewer, "generation 4"},
		{"older than the manifest", func(r *Request) { r.Revision = 1 }, ErrNewer, "manifest is of revision 2"},
		{"another content of the same revision", func(r *Request) { r.Revision = 4 }, ErrContent, "a revision never changes"},
		{"no revision", func(r *Request) { r.Revision = 0 }, ErrContent, "want 1 or more"},
		{"node name", func(r *Request) { r.NodeName = "../x" }, ErrContent, "node name"},
		{"node IP", func(r *Request) { r.NodeIP = "x" }, ErrContent, "node IP"},
		{"restart hash", func(r *Request) { r.RestartHash = "x" }, ErrContent, "the mounted objects are not those"},
		{"key of another certificate", func(r *Request) {
			leaf(*r)["etcd-serving-master-0.key"] = leaf(good())["etcd-serving-master-0.key"]
		}, ErrContent, "etcd-serving-master-0.key: it is not the key of the certificate"},
		{"no key in the key", func(r *Request) { leaf(*r)["etcd-serving-master-0.key"] = []byte("x") }, ErrContent, "it is no pair"},
		{"unknown signer", func(r *Request) { r.Content = content(b, a) }, ErrContent, "is not among the 1 trust anchors"},
		{"empty bundle", func(r *Request) { r.Content = content(a) }, ErrContent, "no bundle of trust anchors"},
		{"certificate that is none", func(r *Request) { leaf(*r)["other.crt"] = []byte("x") }, ErrContent, "it is no certificate"},
		{"path in a key", func(r *Request) { leaf(*r)["../../x"] = nil }, ErrContent, "want configmaps/NAME/KEY"},
		{"path in a name", func(r *Request) { r.Content.Secrets[".."] = map[string][]byte{"x": nil} }, ErrContent, "is no name"},
		{"two dots in a key", func(r *Request) { leaf(*r)["..data"] = nil }, ErrContent, "is no key"},
		{"template", func(r *Request) { r.Content.PodTemplate = []byte("kind: Pod") }, ErrContent, "want v1, Pod"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine()
			m.mustInstall(t, request(2, content(a, a)))
			m.mustInstall(t, request(4, content(a, a)))
			m.power.operations = 0
			r := good()
			test.change(&r)
			_, err := m.Install(t.Context(), r)
			if !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %v with %q", err, test.is, test.want)
			}
			if strings.Contains(err.Error(), "PRIVATE KEY") {
				t.Error("the error quotes a key")
			}
			if m.power.operations != 0 {
				t.Errorf("%d writes", m.power.operations)
			}
		})
	}
}

// TestInstallOfExpiredLeaves installs leaves that are valid for an hour: over leaves that are ten hours newer,
// over older ones, or over nothing.
func TestInstallOfExpiredLeaves(t *testing.T) {
	a := authorities[0]()
	made := func(at time.Time) nodepod.Content {
		leaf := must(a.Issue(pki.Profile{
			CommonName: "system:etcd-server:master-0", DNSNames: []string{"master-0"}, Usages: []pki.Usage{pki.ServerAuth, pki.ClientAuth},
			Key: pki.ECDSAP256, Validity: time.Hour,
		}, at))
		c := content(a, a)
		c.Secrets["etcd-all-certs"] = map[string][]byte{"etcd-serving-master-0.crt": leaf.CertPEM(), "etcd-serving-master-0.key": must(leaf.KeyPEM())}
		return c
	}
	older, newer := made(now), made(now.Add(10*time.Hour))
	two := made(now)
	two.Secrets["etcd-all-certs"]["etcd-peer-master-0.crt"] = newer.Secrets["etcd-all-certs"]["etcd-serving-master-0.crt"]
	two.Secrets["etcd-all-certs"]["etcd-peer-master-0.key"] = newer.Secrets["etcd-all-certs"]["etcd-serving-master-0.key"]
	late := now.Add(10*time.Hour + time.Minute)
	tests := []struct {
		name      string
		installed *nodepod.Content
		ordered   nodepod.Content
		revision  int
		now       time.Time
		want      string
	}{
		{name: "valid over valid", installed: &older, ordered: older, now: now},
		{name: "valid over expired", installed: &older, ordered: newer, now: late},
		{name: "expired over valid", installed: &newer, ordered: older, now: late,
			want: "it would replace valid leaves by expired ones: secrets/etcd-all-certs/etcd-serving-master-0.crt: it expired at 2026-03-01T13:00:00Z, and the installed one is valid until 2026-03-01T23:00:00Z"},
		{name: "one of two expired over valid", installed: &newer, ordered: two, now: late, want: "etcd-serving-master-0.crt: it expired"},
		{name: "expired over expired", installed: &older, ordered: made(now), now: late},
		{name: "the same again, expired meanwhile", installed: &older, ordered: older, revision: 2, now: late},
		{name: "expired over nothing", ordered: older, now: late, want: "all of its leaves have expired; a later revision has to bring new ones, unless the clock of the node is wrong, which says 2026-03-01T22:01:00Z"},
		{name: "one of two expired, over nothing", ordered: two, now: late},
		{name: "dates do not matter", installed: &newer, ordered: older},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine()
			if test.installed != nil {
				m.mustInstall(t, request(2, *test.installed))
			}
			m.power.operations = 0
			r := request(cmp.Or(test.revision, 5), test.ordered)
			r.Now = test.now
			_, err := m.Install(t.Context(), r)
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, ErrContent) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %q", err, test.want)
			}
			if m.power.operations != 0 {
				t.Errorf("%d writes", m.power.operations)
			}
		})
	}
}

func TestInstallAcceptsOtherFiles(t *testing.T) {
	a, b := authorities[0](), authorities[1]()
	intermediate := newIntermediate(a)
	tests := map[string]func(*nodepod.Content){
		"without bundles, any signer":  func(c *nodepod.Content) { *c = content(b, a); c.ConfigMaps = nil },
		"an intermediate in the chain": func(c *nodepod.Content) { *c = content(intermediate, a) },
		"ca.crt in a Secret":           func(c *nodepod.Content) { c.Secrets["x"] = map[string][]byte{"ca.crt": b.Certificate.PEM()} },
		"a key alone":                  func(c *nodepod.Content) { c.Secrets["x"] = map[string][]byte{"sa.key": []byte("x")} },
		"nothing but the manifest":     func(c *nodepod.Content) { c.ConfigMaps, c.Secrets = nil, nil },
		"an anchor as a leaf":          func(c *nodepod.Content) { addPair(c, a) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			c := content(a, a)
			change(&c)
			m := newMachine()
			m.mustInstall(t, request(1, c))
			m.numbers(t)
		})
	}
}

func addPair(c *nodepod.Content, p *pki.Pair) {
	c.Secrets["x"] = map[string][]byte{"tls.crt": p.CertPEM(), "tls.key": must(p.KeyPEM())}
}

// TestRollback puts back the manifest of an earlier revision by hand. It uses its own certificates, and the
// installer continues from there.
func TestRollback(t *testing.T) {
	a, b := authorities[0](), authorities[1]()
	m := newMachine()
	old := request(1, content(a, a))
	m.mustInstall(t, old)
	m.mustInstall(t, request(2, content(a, a, b)))
	text, err := nodepod.ReadFile(m.resources, "etcd-pod-1/etcd-pod.yaml", nodepod.MaxManifestBytes)
	if err != nil {
		t.Fatal(err)
	}
	w := &durable.Writer{FS: m.manifests}
	w.File("etcd-pod.yaml", text)
	installed, err := m.Installed()
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(nodepod.Hashes(must(nodepod.FilesOf(old.Content))), installed.Generation.Record.Files); diff != "" {
		t.Errorf("files after going back (-want +got):\n%s", diff)
	}
	if got, want := m.mustInstall(t, request(3, content(a, a))), (Result{Changed: true, Directory: 1, Generation: 3}); got != want {
		t.Errorf("leaves for the old manifest: %+v", got)
	}
}

// TestRepair: installing the same revision again repairs all damage.
func TestRepair(t *testing.T) {
	a := authorities[0]()
	r := request(1, content(a, a))
	const g = "etcd-pod-1/generation-1"
	tests := map[string]struct {
		damage  func(m *memory, w *durable.Writer)
		restart bool
	}{
		"changed file": {func(m *memory, _ *durable.Writer) {
			node(m, g+"/configmaps/etcd-all-bundles/server-ca-bundle.crt").data = []byte("x")
		}, false},
		"missing file":   {func(_ *memory, w *durable.Writer) { w.Remove(g + "/secrets/etcd-all-certs/etcd-serving-master-0.key") }, false},
		"missing record": {func(_ *memory, w *durable.Writer) { w.Remove(g + "/" + nodepod.RecordName) }, false},
		"open file": {func(m *memory, _ *durable.Writer) {
			node(m, g+"/secrets/etcd-all-certs/etcd-serving-master-0.key").mode = 0o644
		}, false},
		"open generation":        {func(m *memory, _ *durable.Writer) { node(m, g).mode |= 0o055 }, false},
		"open directory":         {func(m *memory, _ *durable.Writer) { node(m, "etcd-pod-1").mode |= 0o055 }, false},
		"additional file":        {func(_ *memory, w *durable.Writer) { w.Write(g+"/configmaps/etcd-all-bundles/x", nil) }, false},
		"missing generation":     {func(_ *memory, w *durable.Writer) { w.Remove(g) }, false},
		"missing pointer":        {func(_ *memory, w *durable.Writer) { w.Remove("etcd-pod-1/current") }, false},
		"pointer elsewhere":      {func(_ *memory, w *durable.Writer) { w.Link("../other", "etcd-pod-1/current") }, false},
		"open manifest copy":     {func(m *memory, _ *durable.Writer) { node(m, "etcd-pod-1/etcd-pod.yaml").mode = 0o644 }, false},
		"missing manifest copy":  {func(_ *memory, w *durable.Writer) { w.Remove("etcd-pod-1/etcd-pod.yaml") }, false},
		"missing directory":      {func(_ *memory, w *durable.Writer) { w.Remove("etcd-pod-1") }, false},
		"file instead of a link": {func(_ *memory, w *durable.Writer) { w.Remove("etcd-pod-1/current"); w.Write("etcd-pod-1/current", nil) }, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			m.mustInstall(t, r)
			w := &durable.Writer{FS: m.resources}
			test.damage(m.resources.(*memory), w)
			if w.Err != nil {
				t.Fatal(w.Err)
			}
			if len(m.defects(t)) == 0 {
				t.Fatal("ReadDisk finds nothing")
			}
			if got := m.mustInstall(t, r); got.Restart != test.restart {
				t.Errorf("result %+v", got)
			}
			if diff := gocmp.Diff(nodepod.Defects(nil), m.defects(t)); diff != "" {
				t.Errorf("defects (-want +got):\n%s", diff)
			}
		})
	}
}

func node(m *memory, name string) *inode { return must(m.find(name)) }

// TestForeignManifest: a manifest of another program is replaced.
func TestForeignManifest(t *testing.T) {
	for name, text := range map[string]string{
		"no YAML": "{", "another pod": "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n",
		"annotated, mounts nothing": "apiVersion: v1\nkind: Pod\nmetadata: {name: x, annotations: {certrotation.dev/revision: '9'}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			(&durable.Writer{FS: m.manifests}).File("etcd-pod.yaml", []byte(text))
			if _, err := m.Installed(); err == nil || errors.Is(err, nodepod.ErrNotInstalled) {
				t.Errorf("Installed: %v", err)
			}
			if got := m.mustInstall(t, request(2, content(authorities[0](), authorities[0]()))); !got.Restart {
				t.Errorf("result %+v", got)
			}
		})
	}
}

// TestNameIsTaken: a link in the place of a directory is kept, and the error names it.
func TestNameIsTaken(t *testing.T) {
	for _, name := range []string{"etcd-pod-1", path.Join("etcd-pod-1", "generation-1")} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			w := &durable.Writer{FS: m.resources}
			if name != "etcd-pod-1" {
				w.Mkdir("etcd-pod-1")
			}
			w.Link("elsewhere", name)
			_, err := m.Install(t.Context(), request(1, content(authorities[0](), authorities[0]())))
			if err == nil || !strings.Contains(err.Error(), name+" is no directory") {
				t.Errorf("got error %v", err)
			}
			if _, err := m.Installed(); !errors.Is(err, nodepod.ErrNotInstalled) {
				t.Errorf("Installed: %v", err)
			}
		})
	}
}
