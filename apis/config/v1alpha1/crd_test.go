// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// definition is a CustomResourceDefinition of manifests/crds, with the validation of an API server.
type definition struct {
	crd        *apiextensions.CustomResourceDefinition
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

func readDefinition(t *testing.T, resource string) *definition {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../../manifests/crds", GroupName+"_"+resource+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	written := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, written); err != nil {
		t.Fatal(err)
	}
	scheme.Default(written)
	d := &definition{crd: &apiextensions.CustomResourceDefinition{}}
	if err := scheme.Convert(written, d.crd, nil); err != nil {
		t.Fatal(err)
	}
	declared, err := apiextensions.GetSchemaForVersion(d.crd, SchemeGroupVersion.Version)
	if err != nil {
		t.Fatal(err)
	}
	if d.structural, err = schema.NewStructural(declared.OpenAPIV3Schema); err != nil {
		t.Fatal(err)
	}
	if d.schema, _, err = validation.NewSchemaValidator(declared.OpenAPIV3Schema); err != nil {
		t.Fatal(err)
	}
	d.rules = cel.NewValidator(d.structural, true, celconfig.PerCallLimit)
	return d
}

// judge validates an object as an API server does: unknown fields and the schema, and without errors the CEL
// rules.
func (d *definition) judge(t *testing.T, object any) field.ErrorList {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := utiljson.Unmarshal(data, &content); err != nil {
		t.Fatal(err)
	}
	var errs field.ErrorList
	for _, path := range pruning.PruneWithOptions(content, d.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		errs = append(errs, field.Forbidden(field.NewPath(path), "unknown"))
	}
	errs = append(errs, validation.ValidateCustomResource(nil, content, d.schema)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, d.structural, content)...)
	if len(errs) > 0 {
		return errs
	}
	errs, _ = d.rules.Validate(t.Context(), nil, d.structural, content, nil, celconfig.RuntimeCELCostBudget)
	return errs
}

// TestDefinitionsAreValid checks definitions as an API server does: structural schema, rules that compile, bounded
// cost of rules.
func TestDefinitionsAreValid(t *testing.T) {
	for _, tc := range []struct {
		resource, shortName string
		status              bool
		columns             []string
	}{
		{resource: "rotationconfigurations", shortName: "rotconf", status: true, columns: []string{"Accepted", "Ready", "Reason", "Message", "Age"}},
		{resource: "rotationrecords", shortName: "rotrec", columns: []string{"Domain", "Kind", "Subject", "Age"}},
	} {
		t.Run(tc.resource, func(t *testing.T) {
			crd := readDefinition(t, tc.resource).crd
			if errs := crdvalidation.ValidateCustomResourceDefinition(t.Context(), crd); len(errs) > 0 {
				t.Errorf("definition: %v", errs.ToAggregate())
			}
			names := crd.Spec.Names
			if names.Plural != tc.resource || !slices.Equal(names.ShortNames, []string{tc.shortName}) || crd.Spec.Scope != apiextensions.NamespaceScoped {
				t.Errorf("names %+v, scope %s", names, crd.Spec.Scope)
			}
			if got := crd.Spec.Subresources != nil && crd.Spec.Subresources.Status != nil; got != tc.status {
				t.Errorf("has a status: %t, want %t", got, tc.status)
			}
			var columns []string
			for _, column := range crd.Spec.AdditionalPrinterColumns {
				columns = append(columns, column.Name)
			}
			if diff := cmp.Diff(tc.columns, columns); diff != "" {
				t.Errorf("columns (-want +got):\n%s", diff)
			}
		})
	}
}

func configuration(spec *RotationConfigurationSpec) *RotationConfiguration {
	cfg := &RotationConfiguration{Spec: *spec}
	cfg.APIVersion, cfg.Kind, cfg.Name, cfg.Namespace = SchemeGroupVersion.String(), Kind, "mine", "ns"
	return cfg
}

// TestDefinitionAdmitsWhatIsValid: the schema admits what Validate accepts, as written and as loaded.
func TestDefinitionAdmitsWhatIsValid(t *testing.T) {
	d := readDefinition(t, "rotationconfigurations")
	specs := map[string]*RotationConfigurationSpec{"by hand": validConfig(), "with a rollout": rolloutConfig()}
	var files []string
	for pattern, atLeast := range map[string]int{"testdata/*.yaml": 8, "../../../manifests/base/configuration.yaml": 1, "../../../manifests/samples/*/configuration.yaml": 3} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) < atLeast {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		specs[file] = &cfg.Spec
	}
	for name, spec := range specs {
		t.Run(name, func(t *testing.T) {
			if errs := d.judge(t, configuration(spec)); len(errs) > 0 {
				t.Errorf("as it is written: %v", errs.ToAggregate())
			}
			loaded, err := Load(spec, "ns")
			if err != nil {
				t.Fatal(err)
			}
			if errs := d.judge(t, configuration(loaded)); len(errs) > 0 {
				t.Errorf("as it is loaded: %v", errs.ToAggregate())
			}
		})
	}
}

// TestDefinitionRefuses: the schema refuses what it can check alone, by the expected rule. Validate refuses it
// too, for objects from files.
func TestDefinitionRefuses(t *testing.T) {
	d := readDefinition(t, "rotationconfigurations")
	const domain = "spec.trustDomains[0]"
	const evidence = domain + ".relyingParties[0].evidence"
	for _, tc := range []struct {
		name   string
		mutate func(*RotationConfigurationSpec)
		path   string
		detail string
	}{
		{name: "nothing", mutate: func(c *RotationConfigurationSpec) { *c = RotationConfigurationSpec{} }, path: "spec", detail: "a trust domain or a preset"},
		{
			name: "parameters of another preset",
			mutate: func(c *RotationConfigurationSpec) {
				*c = RotationConfigurationSpec{Preset: &Preset{Name: PresetMTLSService, OpenShiftEtcd: &OpenShiftEtcdPreset{}}}
			},
			path: "spec.preset", detail: "mtlsService",
		},
		{
			name:   "unknown preset",
			mutate: func(c *RotationConfigurationSpec) { c.Preset = &Preset{Name: "kafka"} },
			path:   "spec.preset.name", detail: "kafka",
		},
		{
			name:   "nobody",
			mutate: func(c *RotationConfigurationSpec) { c.TrustDomains[0].RelyingParties = nil },
			path:   domain, detail: "without one nothing could be proven",
		},
		{
			name:   "two domains of one name",
			mutate: func(c *RotationConfigurationSpec) { c.TrustDomains[1].Name = "web" },
			path:   "spec.trustDomains[1]", detail: "Duplicate",
		},
		{
			name:   "a leaf for each node without a place for its name",
			mutate: onNodeLeaf(func(l *Leaf) { l.SecretName = "node" }),
			path:   "spec.trustDomains[1].leaves[0]", detail: "{node}",
		},
		{
			name:   "a place for the name of no node",
			mutate: onLeaf(func(l *Leaf) { l.SecretName = "web-{node}" }),
			path:   domain + ".leaves[0]", detail: "{node}",
		},
		{name: "addresses of no node", mutate: onLeaf(func(l *Leaf) { l.NodeAddresses = true }), path: domain + ".leaves[0]", detail: "nodeAddresses"},
		{name: "no usages", mutate: onLeaf(func(l *Leaf) { l.Usages = nil }), path: domain + ".leaves[0].usages", detail: "array"},
		{name: "unknown usage", mutate: onLeaf(func(l *Leaf) { l.Usages[0] = "CodeSigning" }), path: domain + ".leaves[0].usages[0]", detail: "ServerAuth"},
		{name: "unknown key", mutate: onPolicy(func(p *IssuancePolicy) { p.Key = "DSA" }), path: domain + ".signer.policy.key", detail: "ECDSA-P256"},
		{name: "no validity", mutate: onPolicy(func(p *IssuancePolicy) { p.Validity = duration(0) }), path: domain + ".signer.policy.validity", detail: "between 1m and 876000h"},
		{name: "renewal after the end", mutate: onPolicy(func(p *IssuancePolicy) { p.RenewAtPercent = 100 }), path: domain + ".signer.policy.renewAtPercent", detail: "99"},
		{name: "a long backdate", mutate: onPolicy(func(p *IssuancePolicy) { p.Backdate = duration(25 * time.Hour) }), path: domain + ".signer.policy.backdate", detail: "24h"},
		{
			name:   "reporters that are nobody",
			mutate: onParty(func(p *RelyingParty) { p.Reporters = &Reporters{} }),
			path:   domain + ".relyingParties[0].reporters", detail: "name a user",
		},
		{
			name:   "a wildcard for a user",
			mutate: onParty(func(p *RelyingParty) { p.Reporters = &Reporters{Users: []string{"system:node:*"}} }),
			path:   domain + ".relyingParties[0].reporters.users[0]", detail: "system:node:*",
		},
		{
			name:   "a member twice in a name",
			mutate: onParty(func(p *RelyingParty) { p.Reporters = &Reporters{Users: []string{"{member}-{member}"}} }),
			path:   domain + ".relyingParties[0].reporters.users[0]", detail: "{member}-{member}",
		},
		{
			name:   "a group of each member",
			mutate: onParty(func(p *RelyingParty) { p.Reporters = &Reporters{Groups: []string{"of-{member}"}} }),
			path:   domain + ".relyingParties[0].reporters.groups[0]", detail: "of-{member}",
		},
		{
			name:   "a service account of another namespace",
			mutate: onParty(func(p *RelyingParty) { p.Reporters = &Reporters{ServiceAccounts: []string{"other:{member}"}} }),
			path:   domain + ".relyingParties[0].reporters.serviceAccounts[0]", detail: "other:{member}",
		},
		{
			name:   "members and nodes",
			mutate: onNodeParty(func(p *RelyingParty) { p.Members = []string{"a"} }),
			path:   "spec.trustDomains[1].relyingParties[0]", detail: "only one of these",
		},
		{
			name:   "nothing and something",
			mutate: onParty(func(p *RelyingParty) { p.Verifies.Nothing = true }),
			path:   domain + ".relyingParties[0].verifies", detail: "excludes",
		},
		{
			name:   "a party that does nothing",
			mutate: onParty(func(p *RelyingParty) { p.Verifies, p.Presents = LeafSelection{Nothing: true}, nil }),
			path:   domain + ".relyingParties[0]", detail: "or both",
		},
		{name: "unknown evidence", mutate: onParty(func(p *RelyingParty) { p.Evidence.Kind = "hope" }), path: evidence + ".kind", detail: "tlsProbe"},
		{name: "a probe without parameters", mutate: onParty(func(p *RelyingParty) { p.Evidence.TLSProbe = nil }), path: evidence, detail: "tlsProbe"},
		{
			name:   "parameters of a probe with another kind",
			mutate: onParty(func(p *RelyingParty) { p.Evidence.Kind = EvidenceAcknowledgement }),
			path:   evidence, detail: "tlsProbe",
		},
		{name: "a probe of nowhere", mutate: onProbe(func(p *TLSProbe) { p.Endpoints = nil }), path: domain + ".relyingParties[0]", detail: "a tlsProbe needs endpoints"},
		{
			name:   "an endpoint without a port",
			mutate: onProbe(func(p *TLSProbe) { p.Endpoints[0].Address = "a" }),
			path:   evidence + ".tlsProbe.endpoints[0].address", detail: "match",
		},
		{name: "unknown proof", mutate: onProbe(func(p *TLSProbe) { p.Proof = "Hope" }), path: evidence + ".tlsProbe.proof", detail: "Handshake"},
		{name: "a grace period without one", mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceGracePeriod} }), path: evidence, detail: "gracePeriod"},
		{
			name:   "a grace period of nothing",
			mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceGracePeriod, GracePeriod: duration(0)} }),
			path:   evidence + ".gracePeriod", detail: "between 1s and 8760h",
		},
		{name: "renewed without a delay", mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceRenewed} }), path: evidence, detail: "after which delay"},
		{
			name: "renewed without a leaf to look at",
			mutate: onParty(func(p *RelyingParty) {
				p.Presents, p.Evidence = nil, Evidence{Kind: EvidenceRenewed, Renewed: &RenewedEvidence{MinimumDelay: *duration(time.Second)}}
			}),
			path: domain + ".relyingParties[0]", detail: "leaves that the party presents",
		},
		{
			name: "a short lease",
			mutate: onParty(func(p *RelyingParty) {
				p.Evidence = Evidence{Kind: EvidenceAcknowledgement, Lease: duration(time.Second)}
			}),
			path: evidence + ".lease", detail: "between 1m and 720h",
		},
		{
			name: "a lease of another kind",
			mutate: onParty(func(p *RelyingParty) {
				p.Evidence = Evidence{Kind: EvidenceNone, Reason: "x", Lease: duration(time.Hour)}
			}),
			path: evidence, detail: "acknowledgement",
		},
		{name: "none without a reason", mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceNone} }), path: evidence, detail: "reason"},
		{
			name:   "a reason with another kind",
			mutate: onParty(func(p *RelyingParty) { p.Evidence.Reason = "x" }),
			path:   evidence, detail: "reason",
		},
		{
			name:   "a rollout without nodes",
			mutate: onParty(func(p *RelyingParty) { p.Evidence = Evidence{Kind: EvidenceStaticPodRevision} }),
			path:   domain + ".relyingParties[0]", detail: "forEachNode",
		},
		{
			name:   "unlisted leaves that need no time",
			mutate: func(c *RotationConfigurationSpec) { c.TrustDomains[0].UnlistedLeaves = &UnlistedLeaves{} },
			path:   domain + ".unlistedLeaves.drain", detail: "between 1s and 8760h",
		},
		{
			name:   "a rollout to every node",
			mutate: func(c *RotationConfigurationSpec) { c.Rollout.StaticPod.NodeSelector = metav1.LabelSelector{} },
			path:   "spec.rollout.staticPod.nodeSelector", detail: "at least 1",
		},
		{
			name:   "a quorum that is asked in the clear",
			mutate: func(c *RotationConfigurationSpec) { c.Rollout.StaticPod.Quorum.Endpoint = "http://{node}:2379" },
			path:   "spec.rollout.staticPod.quorum.endpoint", detail: "match",
		},
		{name: "a copy of no kind", mutate: func(c *RotationConfigurationSpec) { c.Copies[0].Kind = "Pod" }, path: "spec.copies[0].kind", detail: "ConfigMap"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := rolloutConfig()
			tc.mutate(spec)
			errs := d.judge(t, configuration(spec))
			if !slices.ContainsFunc(errs, func(err *field.Error) bool {
				return err.Field == tc.path && strings.Contains(err.Error(), tc.detail)
			}) {
				t.Errorf("want an error of %s about %q, got %v", tc.path, tc.detail, errs.ToAggregate())
			}
			if len(Validate(spec, "ns")) == 0 {
				t.Error("Validate accepts it")
			}
		})
	}
}

// TestDefinitionRefusesWhatDoesNotDecode: clients decode lists as a whole. One stored object that they cannot
// decode hides all others.
func TestDefinitionRefusesWhatDoesNotDecode(t *testing.T) {
	d := readDefinition(t, "rotationconfigurations")
	for _, text := range []string{"5y", "1d", "", " ", "1 h", "1h 30m", "h", "99999999999h", "9223372036854775808ns", "1e3h", "∞", "+"} {
		t.Run(text, func(t *testing.T) {
			var object map[string]any
			data, err := json.Marshal(configuration(validConfig()))
			if err != nil {
				t.Fatal(err)
			}
			if err := utiljson.Unmarshal(data, &object); err != nil {
				t.Fatal(err)
			}
			domains, _, err := unstructured.NestedSlice(object, "spec", "trustDomains")
			if err != nil {
				t.Fatal(err)
			}
			domains[0].(map[string]any)["stageDeadline"] = text
			if err := unstructured.SetNestedSlice(object, domains, "spec", "trustDomains"); err != nil {
				t.Fatal(err)
			}
			if errs := d.judge(t, object); len(errs) == 0 {
				t.Errorf("admitted the duration %q", text)
			}
		})
	}
}

func TestDefinitionOfRecords(t *testing.T) {
	d := readDefinition(t, "rotationrecords")
	for _, tc := range []struct {
		name string
		spec RotationRecordSpec
		want string
	}{
		{name: "a roster", spec: RotationRecordSpec{Kind: RecordRoster, Roster: &RecordedRoster{}}},
		{name: "a kind without its field", spec: RotationRecordSpec{Kind: RecordWaiver}, want: "exactly the field that kind names"},
		{
			name: "two fields",
			spec: RotationRecordSpec{Kind: RecordRoster, Roster: &RecordedRoster{}, Request: &RecordedRequest{Kind: RequestRotate}},
			want: "exactly the field that kind names",
		},
		{name: "a kind that is not known", spec: RotationRecordSpec{Kind: "Wish"}, want: "supported values"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.spec.TrustDomain = "web"
			record := &RotationRecord{Spec: tc.spec}
			record.APIVersion, record.Kind = SchemeGroupVersion.String(), "RotationRecord"
			errs := d.judge(t, record)
			switch {
			case tc.want == "" && len(errs) > 0:
				t.Errorf("refused: %v", errs.ToAggregate())
			case tc.want != "" && (len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), tc.want)):
				t.Errorf("want an error with %q, got %v", tc.want, errs.ToAggregate())
			}
		})
	}
}
