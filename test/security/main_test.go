// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import "testing"

// consents is the border that objects have to consent.
func consents() []edit {
	return []edit{
		{
			file: "registry/trust/consent.go",
			old:  `return configuration != "" && annotations[AnnotationConfiguration] == configuration`,
			new:  `return configuration != ""`,
		},
		{
			file: "registry/view/inventory/parse_secret.go",
			old:  `return meta.Annotations[trust.AnnotationConfiguration] != ""`,
			new:  `return true`,
		},
	}
}

// TestClaims attacks a running system.
func TestClaims(t *testing.T) {
	w := newWorld(t)
	for _, c := range []claim{
		{name: "unmanaged", attack: attackUnmanaged, border: []edit{
			{"registry/view/inventory/managed.go", `opts.LabelSelector = trust.LabelManaged + "=" + trust.ManagedValue`, `opts.LabelSelector = ""`},
			{"registry/view/inventory/managed.go", `case namespace.GetLabels()[trust.LabelManaged] == trust.ManagedValue:`, `case true:`},
		}},
		{name: "existing CA", attack: attackExistingCA, border: consents()},
		{name: "collected", attack: attackCopies, border: consents()},
		{name: "copies", attack: attackNamespace, border: []edit{
			{"registry/trust/copies.go", `if !slices.Contains(accepted, c.Copy) {`, `if false && !slices.Contains(accepted, c.Copy) {`},
		}},
		{name: "pod shape", attack: attackNode, border: []edit{
			{"registry/revision/permits.go", `return errors.Join(j.faults...)`, `return nil`},
		}},
		{name: "node keys", attack: attackNodeKeys, border: []edit{{
			"controller/rollout/staticpod/nodecopy.go", `keys := pairKeys(l.rollout.Leaves[node.Name])`,
			"var keys []string\n\tfor _, leaves := range l.rollout.Leaves {\n\t\tkeys = append(keys, pairKeys(leaves)...)\n\t}",
		}}},
		{name: "addresses", attack: attackAddress, border: []edit{
			{"registry/address/judge.go", "\tip, err := netip.ParseAddr(text)\n\tif err != nil {\n\t\treturn doubt(", "\tip, err := netip.ParseAddr(text)\n\tif err == nil {\n\t\treturn nil\n\t}\n\tif err != nil {\n\t\treturn doubt("},
		}},
		{name: "evidence", attack: attackEvidence, border: []edit{
			{"registry/certificaterotation/reporter.go", `return a.authorizedByName(ctx, t, who, trust.ReportName(t.name, party, member))`, `return nil`},
		}},
		{name: "evidence of pods", attack: attackPodEvidence, border: []edit{
			{"registry/trust/podreport.go", `case len(pods) == 0:`, `case true:`},
		}},
		{name: "gate", attack: attackGate, border: []edit{
			{"registry/trust/judge_configuration.go", `return judgeConfiguration(configurationRules(), name, before, after, now)`, `return judgeConfiguration(nil, name, before, after, now)`},
		}},
		{name: "ports", attack: attackPorts, border: []edit{
			{"cmd/certrotation/app/ports/callers.go", `case !anonymous(a.GetUser()):`, `case true:`},
		}},
		{name: "dial", attack: attackDial, border: []edit{
			{"controller/dial/dialer.go", `if refusal := d.Judge(at); refusal != nil {`, `if refusal := d.Judge(at); false {`},
		}},
		{name: "keys", attack: attackKeys, border: []edit{
			{"controller/rotation/content.go", `	secret.Data[inventory.ActiveKeyKey] = key
`, `	secret.Data[inventory.ActiveKeyKey] = key
	println(string(key))
`},
		}},
		{name: "reader", attack: attackReader, border: consents()},
	} {
		w.hold(t, c)
	}
	t.Run("stolen token", func(t *testing.T) {
		w.use(t, w.ours)
		testStolenToken(t, w)
	})
}

// TestModelClaims attacks the model and what one process does, where that is all there is to attack.
func TestModelClaims(t *testing.T) {
	for _, c := range []modelClaim{
		{name: "sequences", inside: "registry/trust", test: "TestSequencesOfEdits", border: []edit{
			{"registry/trust/judge_bundle.go", `if users := j.before.neededBy(ca); len(users) > 0 {`, `if users := j.before.neededBy(ca); false {`},
		}},
		{name: "bounds", inside: "registry/view/inventory", test: "TestTooLargeConfiguration", border: []edit{
			{"registry/view/inventory/expand.go", `if err := b.checkExtent(cfg); err != nil {`, `if err := b.checkExtent(cfg); false {`},
		}},
		{name: "fair queues", inside: "controller/fairqueue", test: "TestSilenceOfOneNamespace", border: []edit{
			{"controller/fairqueue/queue.go", `return max(1, workers/2)`, `return workers`},
		}},
		{name: "memory", inside: "registry/view/inventory", test: "TestHeapHoldsNoParsedKey", border: []edit{
			{"registry/pki/checkedkeys.go", `	_, err := matchKey(cert, keyPEM)
	c.keys.insert(`, `	key, err := matchKey(cert, keyPEM)
	leaked = append(leaked, key)
	c.keys.insert(`},
			{"registry/pki/checkedkeys.go", `type checkedKey struct {`, `var leaked []any

type checkedKey struct {`},
		}},
	} {
		holdInModel(t, c)
	}
}
