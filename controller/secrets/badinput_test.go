// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/pki"
)

// TestBadInput: each invalid input has a named error, and nothing is written.
func TestBadInput(t *testing.T) {
	t.Parallel()
	negative := -time.Hour
	changed := func(of kinds.CertType, change func(*kinds.CertificateSecretConfig)) kinds.Config {
		out := leaf("x", of)
		change(out)
		return out
	}
	for name, test := range map[string]struct {
		config  kinds.Config
		options []GenerateOption
		want    error
	}{
		"a signer for a password":         {config: password("x"), options: []GenerateOption{SignedByCA("ca")}, want: ErrWrongOption},
		"a signer for no certificate":     {config: &kinds.ControlPlaneSecretConfig{Name: "x"}, options: []GenerateOption{SignedByCA("ca")}, want: ErrWrongOption},
		"a bare name for a password":      {config: password("x"), options: []GenerateOption{IgnoreConfigChecksumForCASecretName()}, want: ErrWrongOption},
		"a bare name for a leaf":          {config: leaf("x", kinds.ClientCert), options: []GenerateOption{IgnoreConfigChecksumForCASecretName()}, want: ErrWrongOption},
		"a strategy that is none":         {config: password("x"), options: []GenerateOption{Rotate("sometimes")}, want: ErrWrongOption},
		"a validity before it begins":     {config: password("x"), options: []GenerateOption{Validity(negative)}, want: ErrWrongOption},
		"an age that is none":             {config: password("x"), options: []GenerateOption{IgnoreOldSecretsAfter(negative)}, want: ErrWrongOption},
		"more than all of the validity":   {config: password("x"), options: []GenerateOption{RenewAfterValidityPercentage(101)}, want: ErrWrongOption},
		"a CA that is not known":          {config: leaf("x", kinds.ServerCert), options: []GenerateOption{SignedByCA("other")}, want: ErrUnknownCA},
		"a namespace of somebody else":    {config: password("x"), options: []GenerateOption{Namespace("kube-system")}, want: ErrNamespaceNotManaged},
		"a client that nobody signs":      {config: leaf("x", kinds.ClientCert), want: kinds.ErrNoSigner},
		"a name that no Secret can have":  {config: password("X_"), want: kinds.ErrInvalidConfig},
		"no name":                         {config: password(""), want: kinds.ErrInvalidConfig},
		"a name that no label can have":   {config: password(strings.Repeat("x", 64)), want: kinds.ErrInvalidConfig},
		"a password of no length":         {config: &kinds.BasicAuthSecretConfig{Name: "x"}, want: kinds.ErrInvalidConfig},
		"a certificate of no type":        {config: changed("x", func(*kinds.CertificateSecretConfig) {}), want: kinds.ErrInvalidConfig},
		"an RSA key that is too small":    {config: &kinds.RSASecretConfig{Name: "x", Bits: 1024}, want: kinds.ErrInvalidConfig},
		"an algorithm that is none":       {config: changed(kinds.CACert, func(c *kinds.CertificateSecretConfig) { c.Key = "DES" }), want: pki.ErrKeyAlgorithm},
		"a certificate of negative years": {config: changed(kinds.CACert, func(c *kinds.CertificateSecretConfig) { c.Validity = &negative }), want: kinds.ErrInvalidConfig},
		"a request that is none": {
			config:  changed(kinds.ServerCert, func(c *kinds.CertificateSecretConfig) { c.RequestPEM = []byte("x") }),
			options: []GenerateOption{SignedByCA("ca")}, want: kinds.ErrInvalidRequest,
		},
		"a key outside, and no Keys": {config: changed(kinds.CACert, func(c *kinds.CertificateSecretConfig) { c.KeyOutside = true }), want: ErrNoKey},
		"a leaf with its key outside": {
			config: changed(kinds.ServerCert, func(c *kinds.CertificateSecretConfig) { c.KeyOutside = true }), options: []GenerateOption{SignedByCA("ca")},
			want: kinds.ErrInvalidConfig,
		},
		"what has no hash": {config: unhashable{C: make(chan int)}, want: edition.ErrUnhashable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			i := w.instance()
			w.generate(i, authority("ca"))
			before := w.api.Writes()
			if _, err := i.Generate(t.Context(), test.config, test.options...); !errors.Is(err, test.want) {
				t.Fatalf("%v, want %v", err, test.want)
			}
			if got := w.api.Writes(); got != before {
				t.Errorf("%d writes", got-before)
			}
		})
	}
}

type unhashable struct{ C chan int }

func (unhashable) GetName() string                        { return "x" }
func (unhashable) Generate(time.Time) (kinds.Data, error) { return kinds.Map{}, nil }

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := New(t.Context(), w.clock, w.api.Client.CoreV1(), identity); !errors.Is(err, ErrNoNamespace) {
		t.Errorf("%v, want %v", err, ErrNoNamespace)
	}
	if _, err := New(t.Context(), w.clock, w.api.Client.CoreV1(), "a b", WithNamespaces(space)); !errors.Is(err, kinds.ErrInvalidConfig) {
		t.Errorf("%v, want %v", err, kinds.ErrInvalidConfig)
	}
}

// TestSecretsOfOthers: a Secret that was edited by hand or belongs to another manager stays until a person
// decides.
func TestSecretsOfOthers(t *testing.T) {
	t.Parallel()
	mutable := func(s *corev1.Secret) { s.Immutable = nil }
	other := func(t *testing.T) *corev1.Secret {
		return newWorld(t).instanceOf(t, authority("ca"))
	}
	for name, test := range map[string]struct {
		config kinds.Config
		edit   func(*testing.T, *corev1.Secret)
		// want is nil if the edit is repaired.
		want error
	}{
		"made mutable":               {authority("ca"), func(_ *testing.T, s *corev1.Secret) { mutable(s) }, nil},
		"labels lost":                {password("user"), func(_ *testing.T, s *corev1.Secret) { delete(s.Labels, edition.LabelManagedBy) }, nil},
		"label of its identity lost": {password("user"), func(_ *testing.T, s *corev1.Secret) { delete(s.Labels, edition.LabelManagerIdentity) }, nil},
		"another identity":           {password("user"), func(_ *testing.T, s *corev1.Secret) { s.Labels[edition.LabelManagerIdentity] = "other" }, ErrForeignSecret},
		"all labels lost":            {password("user"), func(_ *testing.T, s *corev1.Secret) { s.Labels = nil }, ErrForeignSecret},
		"managed by something else":  {password("user"), func(_ *testing.T, s *corev1.Secret) { s.Labels[edition.LabelManagedBy] = "Helm" }, ErrForeignSecret},
		"the label that gives its data": {password("user"), func(_ *testing.T, s *corev1.Secret) {
			s.Labels = map[string]string{edition.LabelUseDataForName: "user"}
		}, nil},
		"data lost":                       {password("user"), func(_ *testing.T, s *corev1.Secret) { mutable(s); s.Data = nil }, ErrEditedSecret},
		"a key of another certificate":    {authority("ca"), func(t *testing.T, s *corev1.Secret) { mutable(s); s.Data["ca.key"] = other(t).Data["ca.key"] }, ErrEditedSecret},
		"no certificate":                  {authority("ca"), func(_ *testing.T, s *corev1.Secret) { mutable(s); s.Data["ca.crt"] = []byte("x") }, ErrEditedSecret},
		"a time that is no number":        {password("user"), func(_ *testing.T, s *corev1.Secret) { s.Labels[edition.LabelIssuedAtTime] = "yesterday" }, nil},
		"a time of an authority, changed": {authority("ca"), func(_ *testing.T, s *corev1.Secret) { s.Labels[edition.LabelValidUntilTime] = "0" }, nil},
		"a checksum that is not its own":  {authority("ca"), func(_ *testing.T, s *corev1.Secret) { s.Labels[edition.LabelChecksumConfig] = "0" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			before := w.generate(w.instance(), test.config)
			edited := before.DeepCopy()
			test.edit(t, edited)
			w.put(edited)
			left := w.stored()[edited.Name]
			_, err := w.instance().Generate(t.Context(), test.config)
			if !errors.Is(err, test.want) {
				t.Fatalf("%v, want %v", err, test.want)
			}
			after := w.stored()[edited.Name]
			switch {
			case test.want != nil && after.ResourceVersion != left.ResourceVersion:
				t.Error("it was changed")
			case test.want == nil && (!maps.Equal(withoutNew(after.Labels), withoutNew(before.Labels)) || after.Immutable == nil || !*after.Immutable):
				t.Errorf("it was not put right: %v", after.Labels)
			}
		})
	}
}

// withoutNew returns labels without the generation, which a taken over Secret does not have.
func withoutNew(labels map[string]string) map[string]string {
	out := maps.Clone(labels)
	delete(out, edition.LabelGeneration)
	return out
}

func (w *world) instanceOf(t *testing.T, config kinds.Config) *corev1.Secret {
	t.Helper()
	return w.generate(w.instance(), config)
}

// TestBundleEditedByHand: a bundle that differs from its configuration is an error.
func TestBundleEditedByHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.instance()
	w.generate(i, authority("ca"))
	bundle, _ := i.Get("ca")
	bundle.Immutable, bundle.Data = nil, map[string][]byte{"bundle.crt": []byte("x")}
	w.put(bundle)
	if _, err := w.instance().Generate(t.Context(), authority("ca")); !errors.Is(err, ErrEditedSecret) {
		t.Errorf("%v, want %v", err, ErrEditedSecret)
	}
}

func TestAdoptionByLabel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	foreign := func(name string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name, Labels: map[string]string{edition.LabelUseDataForName: "user"}},
			Data:       map[string][]byte{"username": []byte("root"), "password": []byte("known"), "other": []byte("kept")},
		}
	}
	w.put(foreign("first"))
	w.put(foreign("second"))
	if _, err := w.instance().Generate(t.Context(), password("user")); !errors.Is(err, ErrAmbiguousAdoption) {
		t.Errorf("%v, want %v", err, ErrAmbiguousAdoption)
	}
	if err := w.api.Drop(foreign("second")); err != nil {
		t.Fatal(err)
	}
	i := w.instance()
	taken := w.generate(i, password("user"))
	if string(taken.Data["password"]) != "known" || string(taken.Data["other"]) != "kept" {
		t.Errorf("it has %q", taken.Data)
	}
	if step := w.step(i.Plan(), taken.Name); step.Action != edition.Adopt || !strings.Contains(step.Reason, "first") {
		t.Errorf("the plan says %s", step.String())
	}
	w.cleanup(i)
	// A rotation makes new data although the label still exists.
	for range 2 {
		w.pass(time.Hour)
		w.times["user"] = w.clock.Now()
		i = w.instance()
		if rotated := w.generate(i, password("user")); string(rotated.Data["password"]) == "known" {
			t.Fatal("a rotation has taken the old data")
		}
		w.cleanup(i)
	}
	broken := foreign("broken")
	broken.Labels[edition.LabelUseDataForName] = "ca"
	w.put(broken)
	if _, err := w.instance().Generate(t.Context(), authority("ca")); !errors.Is(err, ErrEditedSecret) {
		t.Errorf("%v, want %v", err, ErrEditedSecret)
	}
}

// TestHundredReplicas start at once in an empty namespace, and end with the same objects.
func TestHundredReplicas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const replicas = 100
	instances := make([]*Instance, replicas)
	for at := range instances {
		instances[at] = w.instance()
	}
	results := make([]string, replicas)
	var wait sync.WaitGroup
	for at, i := range instances {
		wait.Go(func() {
			ca, err := i.Generate(t.Context(), authority("ca"), Rotate(KeepOld))
			if err != nil {
				t.Error(err)
				return
			}
			server, err := i.Generate(t.Context(), leaf("server", kinds.ServerCert), SignedByCA("ca"))
			if err != nil {
				t.Error(err)
				return
			}
			bundle, _ := i.Get("ca")
			results[at] = fmt.Sprintf("%s %s %s %s", ca.Name, server.Name, bundle.Name, edition.DataChecksum(server.Data))
		})
	}
	wait.Wait()
	for at := range results {
		if results[at] != results[0] {
			t.Fatalf("%s and %s", results[0], results[at])
		}
	}
	if got := w.names(); len(got) != 3 {
		t.Errorf("there are %q", got)
	}
}

// TestParallel: one instance generates in parallel, as a graph of tasks does.
func TestParallel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.instance()
	w.generate(i, authority("ca"))
	var wait sync.WaitGroup
	for at := range 50 {
		wait.Go(func() {
			if _, err := i.Generate(t.Context(), leaf(fmt.Sprintf("leaf-%d", at%25), kinds.ServerCert), SignedByCA("ca")); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got := len(w.stored()); got != 27 {
		t.Errorf("%d secrets, want an authority, its bundle and 25 leaves", got)
	}
	w.cleanup(i)
	if got := len(w.stored()); got != 27 {
		t.Errorf("%d secrets after the cleanup", got)
	}
}

// TestTimeGoesBack: a replica with an outdated view does not recreate what was replaced. It uses existing Secrets.
func TestTimeGoesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.times["user"] = begin.Add(-time.Hour)
	former := w.generate(w.instance(), password("user"))
	// Two rotations in the same second are one.
	for range 2 {
		w.times["user"] = begin
		i := w.instance()
		w.generate(i, password("user"))
		w.times["user"] = begin.Add(-time.Hour)
		if again := w.generate(w.instance(), password("user")); again.Name != former.Name {
			t.Errorf("it is %s, want %s", again.Name, former.Name)
		}
	}
	w.times["user"] = begin
	i := w.instance()
	current := w.generate(i, password("user"))
	w.cleanup(i)
	w.has(current.Name)
	w.times["user"] = begin.Add(-time.Hour)
	if _, err := w.instance().Generate(t.Context(), password("user")); !errors.Is(err, ErrRotationBefore) {
		t.Errorf("%v, want %v", err, ErrRotationBefore)
	}
	w.has(current.Name)
	// A clock that jumps back renews and recreates nothing.
	w.times = map[string]time.Time{}
	w.clock.SetTime(begin.Add(-365 * day))
	if again := w.generate(w.instance(), password("user")); again.Name != current.Name {
		t.Errorf("it is %s, want %s", again.Name, current.Name)
	}
}

// TestAskedTwice: a run that asks for one name with two configurations keeps both Secrets.
func TestAskedTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := w.instance()
	longer := password("user")
	longer.PasswordLength++
	first, second := w.generate(i, password("user")), w.generate(i, longer)
	w.cleanup(i)
	w.has(first.Name, second.Name)
	w.cleanup(i)
	i = w.instance()
	w.generate(i, longer)
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			if err := i.Cleanup(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	w.has(second.Name)
}
