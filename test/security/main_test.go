// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import "testing"

// borders are attacked in a running system.
func borders() []border {
	return []border{
		{claims: []claim{{"unmanaged", attackUnmanaged}}, without: []edit{
			{"registry/view/inventory/managed.go", `opts.LabelSelector = trust.LabelManaged + "=" + trust.ManagedValue`, `opts.LabelSelector = ""`},
			{"registry/view/inventory/managed.go", `case namespace.GetLabels()[trust.LabelManaged] == trust.ManagedValue:`, `case true:`},
		}},
		// Objects must consent.
		{claims: []claim{{"existing CA", attackExistingCA}, {"collected", attackCopies}, {"reader", attackReader}}, without: []edit{
			{
				"registry/trust/consent.go",
				`return configuration != "" && annotations[AnnotationConfiguration] == configuration`, `return configuration != ""`,
			},
			{"registry/view/inventory/parse_secret.go", `return meta.Annotations[trust.AnnotationConfiguration] != ""`, `return true`},
		}},
		{claims: []claim{{"copies", attackNamespace}}, without: []edit{
			{"registry/trust/copies.go", `if !slices.Contains(accepted, c.Copy) {`, `if false && !slices.Contains(accepted, c.Copy) {`},
		}},
		{claims: []claim{{"pod shape", attackNode}}, without: []edit{
			{"registry/nodepod/permits.go", `return errors.Join(j.faults...)`, `return nil`},
		}},
		{claims: []claim{{"node keys", attackNodeKeys}}, without: []edit{{
			"controller/rollout/staticpod/nodecopy.go", `keys := pairKeys(l.rollout.Leaves[node.Name])`,
			"var keys []string\n\tfor _, leaves := range l.rollout.Leaves {\n\t\tkeys = append(keys, pairKeys(leaves)...)\n\t}",
		}}},
		{claims: []claim{{"addresses", attackAddress}}, without: []edit{
			{"registry/address/judge.go", "\tip, err := netip.ParseAddr(text)\n\tif err != nil {\n\t\treturn doubt(", "\tip, err := netip.ParseAddr(text)\n\tif err == nil {\n\t\treturn nil\n\t}\n\tif err != nil {\n\t\treturn doubt("},
		}},
		{claims: []claim{{"evidence", attackEvidence}}, without: []edit{
			{"registry/certificaterotation/reporter.go", `return a.authorizedByName(ctx, t, who, trust.ReportName(t.name, party, member))`, `return nil`},
		}},
		{claims: []claim{{"evidence of pods", attackPodEvidence}}, without: []edit{
			{"registry/trust/reports.go", `case len(pods) == 0:`, `case true:`},
		}},
		{claims: []claim{{"gate", attackGate}}, without: []edit{
			{"registry/trust/judge_configuration.go", `return judgeConfiguration(configurationRules(), name, before, after, now)`, `return judgeConfiguration(nil, name, before, after, now)`},
		}},
		{claims: []claim{{"ports", attackPorts}}, without: []edit{
			{"cmd/certrotation/app/process/callers.go", `case !anonymous(a.GetUser()):`, `case true:`},
		}},
		{claims: []claim{{"dial", attackDial}}, without: []edit{
			{"controller/dial/dialer.go", `if refusal := d.Judge(at); refusal != nil {`, `if refusal := d.Judge(at); false {`},
		}},
		{claims: []claim{{"keys", attackKeys}}, without: []edit{
			{"controller/rotation/content.go", `	secret.Data[inventory.ActiveKeyKey] = key
`, `	secret.Data[inventory.ActiveKeyKey] = key
	println(string(key))
`},
		}},
	}
}

// modelBorders are attacked in the model, or in one process, where no more is needed.
func modelBorders() []modelBorder {
	return []modelBorder{
		{name: "sequences", inside: "registry/trust", test: "TestSequencesOfEdits", without: []edit{
			{"registry/trust/judge_bundle.go", `if users := j.before.neededBy(ca); len(users) > 0 {`, `if users := j.before.neededBy(ca); false {`},
		}},
		{name: "bounds", inside: "registry/view/inventory", test: "TestTooLargeConfiguration", without: []edit{
			{"registry/view/inventory/expand.go", `if err := b.checkExtent(cfg); err != nil {`, `if err := b.checkExtent(cfg); false {`},
		}},
		{name: "fair queues", inside: "controller/internal/worker", test: "TestSilenceOfOneNamespace", without: []edit{
			{"controller/internal/worker/fair.go", `return max(1, workers/2)`, `return workers`},
		}},
		{name: "memory", inside: "registry/view/inventory", test: "TestHeapHoldsNoParsedKey", without: []edit{
			{"registry/pki/checkedkeys.go", `	_, err := matchKey(cert, keyPEM)
	c.keys.recent.Add(`, `	key, err := matchKey(cert, keyPEM)
	leaked = append(leaked, key)
	c.keys.recent.Add(`},
			{"registry/pki/checkedkeys.go", `type checkedKey struct {`, `var leaked []any

type checkedKey struct {`},
		}},
	}
}

// TestClaims makes each attack on the shipped build.
func TestClaims(t *testing.T) {
	w := newWorld(t)
	for _, b := range borders() {
		for _, c := range b.claims {
			c.fails(t, w)
		}
	}
	claim{"stolen token", attackStolenToken}.fails(t, w)
}

// TestExtendedClaims makes each attack on a build without its border.
func TestExtendedClaims(t *testing.T) {
	w := newWorld(t)
	for _, verb := range []string{"create", "update", "patch", "delete"} {
		restore := w.loosen(t, verb)
		claim{"stolen token that may " + verb, attackStolenToken}.succeeds(t, w)
		restore()
	}
	for _, b := range borders() {
		w.use(t, program(t, b.without))
		for _, c := range b.claims {
			c.succeeds(t, w)
		}
	}
}

// TestExtendedModelClaims runs the test of each model border without that border.
func TestExtendedModelClaims(t *testing.T) {
	for _, b := range modelBorders() {
		b.breaks(t)
	}
}

// TestBorders checks that the extended tests match the source: the texts that they edit exist, and so do the tests
// of the model's borders.
func TestBorders(t *testing.T) {
	for _, b := range borders() {
		overlay(t, b.without)
	}
	for _, b := range modelBorders() {
		overlay(t, b.without)
		b.exists(t)
	}
}
