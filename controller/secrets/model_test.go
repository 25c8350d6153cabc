// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
	"certrotation.dev/test/apifake/sources"
)

// judgedConfig: servers verify clients, and clients servers. Each says what it has loaded.
const judgedConfig = `
trustDomains:
- name: web
  editions: {identity: ` + identity + `}
  signer: {secretName: ca}
  bundle: {configMapName: ca-bundle}
  leaves: []
  relyingParties:
  - {name: servers, verifies: {usages: [ClientAuth]}, presents: [], evidence: {kind: acknowledgement}}
  - {name: clients, verifies: {usages: [ServerAuth]}, presents: [], evidence: {kind: acknowledgement}}
`

// errAsked ends a write that only the model is asked about.
var errAsked = errors.New("only asked")

// judged is a controller of the authority ca whose writes certrotation's model judges, as the guard has it.
type judged struct {
	*world

	leaves []*kinds.CertificateSecretConfig
	state  edition.GroupRotation
	// made are the Secrets of the last reconciliation, by name. cas are the authorities, in the order of their making.
	made map[string]*corev1.Secret
	cas  []*pki.Certificate
	// onlyAsks ends each write. answer is the last one of the model.
	onlyAsks bool
	answer   string
}

func newJudged(t *testing.T, names ...string) *judged {
	t.Helper()
	w := &judged{world: newWorld(t), made: map[string]*corev1.Secret{}}
	config := &configv1alpha1.RotationConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: "web"}}
	if err := yaml.UnmarshalStrict([]byte(judgedConfig), &config.Spec); err != nil {
		t.Fatal(err)
	}
	d := &config.Spec.TrustDomains[0]
	for _, name := range names {
		of := ofKind[name]
		w.leaves = append(w.leaves, leaf(name, of.kind))
		d.Leaves = append(d.Leaves, configv1alpha1.Leaf{SecretName: name, CommonName: name + "-user", Usages: of.usages})
		p := &d.RelyingParties[of.presenter]
		p.Presents = append(p.Presents, name)
	}
	for at, usage := range []configv1alpha1.Usage{configv1alpha1.ClientAuth, configv1alpha1.ServerAuth} {
		if !slices.ContainsFunc(d.Leaves, func(l configv1alpha1.Leaf) bool { return slices.Contains(l.Usages, usage) }) {
			d.RelyingParties[at].Verifies = configv1alpha1.LeafSelection{Nothing: true}
		}
	}
	if err := w.api.Put(config); err != nil {
		t.Fatal(err)
	}
	w.api.Admit = w.admit
	return w
}

func (w *judged) admit(r *apifake.Request) error {
	var after *corev1.Secret
	if r.Verb != "delete" {
		after = r.Object.(*corev1.Secret)
	}
	if r.Verb == "create" {
		after.CreationTimestamp = metav1.NewTime(w.clock.Now())
	}
	before := sources.Live(w.api, space)
	domain := func(s *inventory.Sources) *trust.Domain { return inventory.Build(s).Domain("web") }
	found := trust.Judge(domain(before), domain(before.WithSecret(r.Name, after)), w.clock.Now())
	w.answer = allowed
	if len(found) > 0 {
		w.answer = string(found[0].Invariant)
	}
	switch {
	case w.onlyAsks:
		return errAsked
	case len(found) > 0:
		return denial(found[0].Invariant, found[0].Message)
	}
	return nil
}

func (w *judged) instance() *Instance {
	w.Helper()
	return w.world.instance(WithGroupRotation(&w.state, "ca"), WithConfiguration("web"))
}

// allowed is the answer of the model to a write that breaks nothing.
const allowed = "allowed"

var parties = []string{"servers", "clients"}

// ofKind are the leaves of each kind, by name. presenter is the relying party that presents it.
var ofKind = map[string]struct {
	kind      kinds.CertType
	usages    []configv1alpha1.Usage
	presenter int
}{
	"server": {kinds.ServerCert, []configv1alpha1.Usage{configv1alpha1.ServerAuth}, 0},
	"both":   {kinds.ServerClientCert, []configv1alpha1.Usage{configv1alpha1.ServerAuth, configv1alpha1.ClientAuth}, 0},
	"client": {kinds.ClientCert, []configv1alpha1.Usage{configv1alpha1.ClientAuth}, 1},
}

// reconcile makes everything in the phase, and returns what the model has held.
func (w *judged) reconcile() []string {
	w.Helper()
	w.pass(time.Hour)
	i := w.instance()
	w.made["ca"] = w.generate(i, authority("ca"), InPhase(&w.state))
	if ca := w.certificatesOf(w.made["ca"], kinds.DataKeyCertificateCA)[0]; !slices.ContainsFunc(w.cas, ca.Equal) {
		w.cas = append(w.cas, ca)
	}
	w.made["bundle"], _ = i.Get("ca")
	for _, l := range w.leaves {
		w.made[l.Name] = w.generate(i, l, SignedInPhase(&w.state, "ca"))
	}
	w.cleanup(i)
	var held []string
	for _, step := range i.Plan().Of(edition.Hold) {
		held = append(held, step.Name)
	}
	return held
}

// loads has a party load what was made last, and say so.
func (w *judged) loads(party string) {
	w.Helper()
	o := trust.Observation{
		Instance: "process", Kind: trust.Acknowledgement, ObservedAt: w.clock.Now(), StartedAt: w.clock.Now(), Expires: w.clock.Now().Add(30 * day),
	}
	for _, ca := range w.certificatesOf(w.made["bundle"], kinds.DataKeyCertificateBundle) {
		o.Trusts = append(o.Trusts, ca.Fingerprint)
	}
	for _, l := range w.leaves {
		if parties[ofKind[l.Name].presenter] == party {
			o.Presents = append(o.Presents, w.certificatesOf(w.made[l.Name], kinds.DataKeyCertificate)[0].Fingerprint)
		}
	}
	evidence, err := record.OfEvidence(space, "web", party, party, []trust.Observation{o})
	if err != nil {
		w.Fatalf("%v", err)
	}
	if err := w.api.Put(evidence); err != nil {
		w.Fatalf("%v", err)
	}
}

// asks returns the answer of the model to the write that a request of the controller needs, "" if it needs none.
func (w *judged) asks(config kinds.Config, options ...GenerateOption) string {
	w.Helper()
	w.onlyAsks, w.answer = true, ""
	defer func() { w.onlyAsks = false }()
	if _, err := w.instance().Generate(w.ctx, config, options...); err != nil && !errors.Is(err, errAsked) {
		w.Fatalf("%v", err)
	}
	return w.answer
}

// describe returns which authority has signed each leaf, and what the model says of the other one; then the bundle, and
// what the model says of one with only the current authority: "or" if it allows that, "not" if it refuses.
func (w *judged) describe() string {
	w.Helper()
	number := func(of func(*pki.Certificate) bool) int { return slices.IndexFunc(w.cas, of) + 1 }
	alternative := func(answer string, to int) string {
		switch answer {
		case "":
			return ""
		case allowed:
			return fmt.Sprintf(" or %d", to)
		}
		return fmt.Sprintf(" not %d", to)
	}
	var anchors []string
	current, other := number(w.certificatesOf(w.made["ca"], kinds.DataKeyCertificateCA)[0].Equal), 0
	for _, ca := range w.certificatesOf(w.made["bundle"], kinds.DataKeyCertificateBundle) {
		n := number(ca.Equal)
		anchors, other = append(anchors, fmt.Sprint(n)), other+n
	}
	var out []string
	for _, l := range w.leaves {
		by := number(w.certificatesOf(w.made[l.Name], kinds.DataKeyCertificate)[0].SignedBy)
		text := fmt.Sprintf("%s %d", l.Name, by)
		for _, option := range []SignedByCAOption{UseCurrentCA, UseOldCA} {
			text += alternative(w.asks(l, SignedByCA("ca", option, LoadMissingCAFromCluster)), other-by)
		}
		out = append(out, text)
	}
	bundle := "bundle " + strings.Join(anchors, ",") + alternative(w.asks(authority("ca"), Rotate(KeepOld), IgnoreOldSecrets()), current)
	return strings.Join(append(out, bundle), "; ")
}

// move is what happens before a reconciliation: a party loads what was made last, the caller says that the phase is over,
// or an operation.
func (w *judged) move(what string) {
	w.Helper()
	of := edition.Circumstances{Settled: true}
	switch {
	case slices.Contains(parties, what):
		w.loads(what)
	case what == "over":
		w.state = w.state.Reconciled(of, w.clock.Now())
	default:
		var err error
		if w.state, err = w.state.Do(edition.Operation(what), of, w.clock.Now()); err != nil {
			w.Fatalf("%v", err)
		}
	}
}

// TestPhasesBeforeTheModel: in each phase the model allows what the library writes if the parties have loaded what the phase
// says, and refuses what would be early. Numbers are authorities.
//
// One write is always early: the first reconciliation of Preparing has clients signed by an authority that it has just
// published. The model holds it; without evidence the caller restarts servers before clients.
//
// In the other direction, phases wait longer than the model, for clients that no evidence shows: in Prepared it allows new
// servers ("1 or 2"), and the end of an authority whose leaves are all of clients.
//
// It allows leaves of the former authority as long as all trust it: an abort moves them back.
func TestPhasesBeforeTheModel(t *testing.T) {
	all := []string{"server", "both", "client"}
	type step struct{ moves, want string }
	for _, tt := range []struct {
		name   string
		leaves []string
		steps  []step
	}{
		{"a rotation", all, []step{
			{"", "never rotated: server 1; both 1; client 1; bundle 1"},
			{"servers clients rotate-ca-start", "Preparing: server 1 not 2; both 1 not 2; client 1 not 2; bundle 2,1 not 2; held client"},
			{"servers", "Preparing: server 1 not 2; both 1 not 2; client 2 or 1; bundle 2,1 not 2"},
			{"clients over", "Prepared: server 1 or 2; both 1 or 2; client 2 or 1; bundle 2,1 not 2"},
			{"rotate-ca-complete", "Completing: server 2 or 1; both 2 or 1; client 2 or 1; bundle 2,1 not 2"},
			{"servers clients over", "Completing: server 2; both 2; client 2; bundle 2"},
			{"servers clients over", "Completed: server 2; both 2; client 2; bundle 2"},
		}},
		{"phases that run ahead", all, []step{
			{"", "never rotated: server 1; both 1; client 1; bundle 1"},
			{"servers clients rotate-ca-start", "Preparing: server 1 not 2; both 1 not 2; client 1 not 2; bundle 2,1 not 2; held client"},
			{"over", "Prepared: server 1 not 2; both 1 not 2; client 1 not 2; bundle 2,1 not 2; held client"},
			{"rotate-ca-complete", "Completing: server 1 not 2; both 1 not 2; client 1 not 2; bundle 2,1 not 2; held both client server"},
			{"over", "Completing: server 1 not 2; both 1 not 2; client 1 not 2; bundle 2,1 not 2; held both ca-bundle client server"},
			{"servers", "Completing: server 1 not 2; both 1 not 2; client 2 or 1; bundle 2,1 not 2; held both ca-bundle server"},
			{"clients", "Completing: server 2 or 1; both 2 or 1; client 2 or 1; bundle 2,1 not 2; held ca ca-bundle"},
			{"servers", "Completing: server 2; both 2; client 2; bundle 2"},
		}},
		{"of servers alone", []string{"server"}, []step{
			{"", "never rotated: server 1; bundle 1"},
			{"servers clients rotate-ca-start", "Preparing: server 1 not 2; bundle 2,1 not 2"},
			{"clients over", "Prepared: server 1 or 2; bundle 2,1 not 2"},
			{"rotate-ca-complete", "Completing: server 2 or 1; bundle 2,1 not 2"},
			{"servers over", "Completing: server 2; bundle 2"},
			{"over", "Completed: server 2; bundle 2"},
		}},
		{"of peers alone", []string{"both"}, []step{
			{"", "never rotated: both 1; bundle 1"},
			{"servers clients rotate-ca-start", "Preparing: both 1 not 2; bundle 2,1 not 2"},
			{"clients", "Preparing: both 1 not 2; bundle 2,1 not 2"},
			{"servers over", "Prepared: both 1 or 2; bundle 2,1 not 2"},
			{"rotate-ca-complete", "Completing: both 2 or 1; bundle 2,1 not 2"},
			{"servers over", "Completing: both 2; bundle 2"},
			{"over", "Completed: both 2; bundle 2"},
		}},
		{"of clients alone", []string{"client"}, []step{
			{"", "never rotated: client 1; bundle 1"},
			{"servers clients rotate-ca-start", "Preparing: client 1 not 2; bundle 2,1 not 2; held client"},
			{"servers", "Preparing: client 2 or 1; bundle 2,1 not 2"},
			{"clients over", "Prepared: client 2 or 1; bundle 2,1 or 2"},
			{"rotate-ca-complete", "Completing: client 2 or 1; bundle 2,1 or 2"},
			{"over", "Completing: client 2; bundle 2"},
			{"over", "Completed: client 2; bundle 2"},
		}},
		{"an abort in Preparing", all, []step{
			{"", "never rotated: server 1; both 1; client 1; bundle 1"},
			{"servers clients rotate-ca-start", "Preparing: server 1 not 2; both 1 not 2; client 1 not 2; bundle 2,1 not 2; held client"},
			{"servers", "Preparing: server 1 not 2; both 1 not 2; client 2 or 1; bundle 2,1 not 2"},
			{"rotate-ca-abort", "Completing: server 1 not 2; both 1 not 2; client 1 or 2; bundle 1,2 not 1"},
			{"over", "Completing: server 1; both 1; client 1; bundle 1,2 not 1; held ca-bundle"},
			{"servers clients", "Completing: server 1; both 1; client 1; bundle 1"},
			{"over", "Completed: server 1; both 1; client 1; bundle 1"},
		}},
		{"an abort of clients alone", []string{"client"}, []step{
			{"", "never rotated: client 1; bundle 1"},
			{"servers clients rotate-ca-start", "Preparing: client 1 not 2; bundle 2,1 not 2; held client"},
			{"servers", "Preparing: client 2 or 1; bundle 2,1 not 2"},
			{"clients over", "Prepared: client 2 or 1; bundle 2,1 or 2"},
			{"rotate-ca-abort", "Completing: client 1 or 2; bundle 1,2 not 1"},
			{"over", "Completing: client 1; bundle 1,2 not 1; held ca-bundle"},
			{"servers clients", "Completing: client 1; bundle 1"},
			{"over", "Completed: client 1; bundle 1"},
		}},
		{"an abort in Prepared", all, []step{
			{"", "never rotated: server 1; both 1; client 1; bundle 1"},
			{"servers clients rotate-ca-start", "Preparing: server 1 not 2; both 1 not 2; client 1 not 2; bundle 2,1 not 2; held client"},
			{"servers", "Preparing: server 1 not 2; both 1 not 2; client 2 or 1; bundle 2,1 not 2"},
			{"clients over", "Prepared: server 1 or 2; both 1 or 2; client 2 or 1; bundle 2,1 not 2"},
			{"rotate-ca-abort", "Completing: server 1 or 2; both 1 or 2; client 1 or 2; bundle 1,2 not 1"},
			{"over", "Completing: server 1; both 1; client 1; bundle 1,2 not 1; held ca-bundle"},
			{"servers clients", "Completing: server 1; both 1; client 1; bundle 1"},
			{"over", "Completed: server 1; both 1; client 1; bundle 1"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newJudged(t, tt.leaves...)
			for _, s := range tt.steps {
				for move := range strings.FieldsSeq(s.moves) {
					w.move(move)
				}
				held := w.reconcile()
				got := w.state.PhaseText() + ": " + w.describe()
				if len(held) > 0 {
					got += "; held " + strings.Join(held, " ")
				}
				if got != s.want {
					t.Errorf("after %q\ngot  %s\nwant %s", s.moves, got, s.want)
				}
			}
		})
	}
}
