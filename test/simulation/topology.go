// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// grace of parties of the kind gracePeriod, and how much earlier their processes load.
const (
	grace       = time.Hour
	graceMargin = 10 * time.Minute
)

const (
	signerValidity = 365 * 24 * time.Hour
	leafValidity   = 90 * 24 * time.Hour
)

// topology is who talks to whom.
type topology struct {
	// servers is the number of members that share the server leaf; 0 if servers run one for each node.
	servers int
	// serverKind is their evidence, clientKinds those of the clients, each of which is a party of its own.
	serverKind  configv1alpha1.EvidenceKind
	clientKinds []configv1alpha1.EvidenceKind
	// peers says that servers verify each other, as members of etcd do.
	peers bool
	// crossed says that the leaves of servers and clients are signed in two trust domains.
	crossed bool
	// aggregate says that processes read from the aggregate instead of from the leaf and the bundle.
	aggregate bool
}

// drawTopology rolls one.
func drawTopology(d dice) topology {
	t := topology{servers: 1 + d.roll(3, "servers")}
	if t.servers == 3 {
		t.servers = 0
	}
	kinds := []configv1alpha1.EvidenceKind{
		configv1alpha1.EvidenceTLSProbe, configv1alpha1.EvidenceAcknowledgement, configv1alpha1.EvidenceGracePeriod,
	}
	t.aggregate = in(d, 4, "aggregate")
	if t.aggregate {
		kinds = kinds[:2]
	}
	t.serverKind = one(d, "evidence of the servers", kinds)
	t.crossed = in(d, 4, "two trust domains")
	for range d.roll(4, "clients") {
		clientKinds := kinds[1:]
		// What is proven by the renewal of its own leaf has to verify leaves of the same CA.
		if !t.aggregate && !t.crossed {
			clientKinds = append(slices.Clip(clientKinds), configv1alpha1.EvidenceRenewed)
		}
		t.clientKinds = append(t.clientKinds, one(d, "evidence of a client", clientKinds))
	}
	t.peers = in(d, 2, "peers") || len(t.clientKinds) == 0
	return t
}

// String says it in words.
func (t topology) String() string {
	var b strings.Builder
	if t.servers == 0 {
		fmt.Fprintf(&b, "a server on each node (%s)", t.serverKind)
	} else {
		fmt.Fprintf(&b, "%d servers (%s)", t.servers, t.serverKind)
	}
	fmt.Fprintf(&b, ", clients %v", t.clientKinds)
	for _, x := range []struct {
		yes  bool
		text string
	}{
		{t.peers, ", servers verify each other"},
		{t.crossed, ", servers and clients have a CA of their own"},
		{t.aggregate, ", everybody reads the aggregate"},
	} {
		if x.yes {
			b.WriteString(x.text)
		}
	}
	return b.String()
}

// onNodes says whether there is one server for each node.
func (t topology) onNodes() bool { return t.servers == 0 }

func (t topology) serverLeaf() string {
	if t.onNodes() {
		return "server-" + configv1alpha1.NodePlaceholder
	}
	return "server"
}

func (t topology) leaves() (server configv1alpha1.Leaf, clients []configv1alpha1.Leaf) {
	policy := configv1alpha1.IssuancePolicy{Key: configv1alpha1.Ed25519, Validity: &metav1.Duration{Duration: leafValidity}}
	server = configv1alpha1.Leaf{
		SecretName: t.serverLeaf(), Usages: []configv1alpha1.Usage{configv1alpha1.ServerAuth}, Policy: policy,
		DNSNames: []string{"server.demo.svc"},
	}
	if t.onNodes() {
		server.ForEachNode = &metav1.LabelSelector{}
	}
	if t.peers {
		server.Usages = append(server.Usages, configv1alpha1.ClientAuth)
	}
	for i := range t.clientKinds {
		name := fmt.Sprintf("client-%d", i)
		clients = append(clients, configv1alpha1.Leaf{
			SecretName: name, CommonName: name, Usages: []configv1alpha1.Usage{configv1alpha1.ClientAuth}, Policy: policy,
		})
	}
	return server, clients
}

func evidenceOf(kind configv1alpha1.EvidenceKind, addresses int) configv1alpha1.Evidence {
	out := configv1alpha1.Evidence{Kind: kind}
	switch kind {
	case configv1alpha1.EvidenceTLSProbe:
		out.TLSProbe = &configv1alpha1.TLSProbe{Addresses: []string{"{node}:8443"}}
		if addresses > 0 {
			out.TLSProbe.Addresses = nil
			for i := range addresses {
				out.TLSProbe.Addresses = append(out.TLSProbe.Addresses, fmt.Sprintf("10.0.0.%d:8443", i+1))
			}
		}
	case configv1alpha1.EvidenceGracePeriod:
		out.GracePeriod = &metav1.Duration{Duration: grace}
	case configv1alpha1.EvidenceAcknowledgement, configv1alpha1.EvidenceRenewed, configv1alpha1.EvidenceStaticPodRevision:
	}
	return out
}

// parties are the relying parties of a domain: those that present its leaves and those that verify them.
func (t topology) parties(server *configv1alpha1.Leaf, clients []configv1alpha1.Leaf) []configv1alpha1.RelyingParty {
	servers := configv1alpha1.RelyingParty{Name: "servers", Evidence: evidenceOf(t.serverKind, t.servers)}
	for i := range t.servers {
		servers.Members = append(servers.Members, fmt.Sprintf("server-%d", i))
	}
	if t.onNodes() {
		servers.ForEachNode = &metav1.LabelSelector{}
	}
	servers.Verifies.Usages = []configv1alpha1.Usage{configv1alpha1.ClientAuth}
	out := []configv1alpha1.RelyingParty{}
	for i, kind := range t.clientKinds {
		name := fmt.Sprintf("client-%d", i)
		client := configv1alpha1.RelyingParty{Name: name, Evidence: evidenceOf(kind, 1)}
		client.Verifies.Usages = []configv1alpha1.Usage{configv1alpha1.ServerAuth}
		if i < len(clients) {
			client.Presents = []string{clients[i].SecretName}
		}
		out = append(out, client)
	}
	if server != nil {
		servers.Presents = []string{server.SecretName}
	}
	return append(out, servers)
}

func trustDomain(name string, leaves []configv1alpha1.Leaf, parties []configv1alpha1.RelyingParty) configv1alpha1.TrustDomain {
	return configv1alpha1.TrustDomain{
		Name: name,
		Signer: configv1alpha1.Signer{SecretName: name + "-signer", Policy: configv1alpha1.IssuancePolicy{
			Key: configv1alpha1.Ed25519, Validity: &metav1.Duration{Duration: signerValidity},
		}},
		Bundle: configv1alpha1.Bundle{ConfigMapName: name + "-bundle"}, Leaves: leaves, RelyingParties: parties,
	}
}

// configuration is the topology as an operator would write it.
func (t topology) configuration() (*corev1.ConfigMap, error) {
	server, clients := t.leaves()
	all := append([]configv1alpha1.Leaf{server}, clients...)
	cfg := configv1alpha1.RotationConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: configv1alpha1.SchemeGroupVersion.String(), Kind: "RotationConfiguration"},
	}
	if t.crossed && len(clients) > 0 {
		cfg.TrustDomains = append(cfg.TrustDomains,
			trustDomain("serving", all[:1], t.parties(&server, nil)), trustDomain("clients", clients, t.parties(nil, clients)))
	} else {
		cfg.TrustDomains = append(cfg.TrustDomains, trustDomain("service", all, t.parties(&server, clients)))
	}
	if t.aggregate {
		cfg.Aggregate = &configv1alpha1.Aggregate{SecretName: "all-pairs", ConfigMapName: "all-bundles"}
		for _, d := range cfg.TrustDomains {
			cfg.Aggregate.Bundles = append(cfg.Aggregate.Bundles,
				configv1alpha1.AggregatedBundle{Key: d.Name + ".crt", ConfigMapName: d.Bundle.ConfigMapName})
		}
		for _, l := range all {
			cfg.Aggregate.Leaves = append(cfg.Aggregate.Leaves, l.SecretName)
		}
	}
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, fmt.Errorf("encode the configuration of %s: %w", t, err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "certrotation-config", Labels: map[string]string{configv1alpha1.ConfigLabel: ""}},
		Data:       map[string]string{configv1alpha1.ConfigKey: string(text)},
	}, nil
}
