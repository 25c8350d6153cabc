// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// grace is the delay of parties of the kind gracePeriod, renewal of the kind renewed. Processes load promiseKept
// before their delay ends.
const (
	// Processes load shortly after an hour, or two thirds of one. A rule that ignores by how much clocks are off
	// counts them too early.
	grace       = time.Hour + maxOff*3/4
	renewal     = 40*time.Minute + maxOff*3/4
	promiseKept = maxOff / 2
	// cacheLag is how far the caches of a leader lag at most.
	cacheLag = 10 * time.Minute
)

const (
	signerValidity      = 365 * 24 * time.Hour
	leafValidity        = 90 * 24 * time.Hour
	shortSignerValidity = 60 * 24 * time.Hour
	shortLeafValidity   = 12 * 24 * time.Hour
)

// nodeRole is the label of the nodes that run a server.
const nodeRole = "role"

// topology is which members exist, what each verifies and presents, and by which evidence.
type topology struct {
	// servers is the number of members that share the server leaf, 0 for one server per node.
	servers int
	// serverKind is the evidence of the servers, clientKinds of the clients. Each client is a party of its own.
	serverKind  configv1alpha1.EvidenceKind
	clientKinds []configv1alpha1.EvidenceKind
	// peers says that servers verify each other, as etcd members do.
	peers bool
	// crossed says that servers and clients have their leaves from two trust domains.
	crossed bool
	// aggregate says that processes read from the aggregate instead of from the leaf and the bundle.
	aggregate bool
	// beside says that processes verify by the anchors beside a leaf of theirs, if they have one in that domain.
	beside bool
	// short says that certificates are valid for weeks only, so that they are due soon.
	short bool
	// balanced says that the processes of a member share an address. A probe meets one of them.
	balanced bool
	// handshake says that probes present leaves instead of reading the list of CAs that a server sends.
	handshake bool
	// pacing says that leaves whose reissue can wait are reissued at a rate of one a minute.
	pacing bool
	// pods says that the clients are pods, podServers that the servers are too. stateful says that names of pods
	// are reused. mistyped says that a selector first chooses no pod, retyped that it is changed to that before the
	// first rotation.
	pods, podServers, stateful, mistyped, retyped bool
	// started says that the clients read their files only at start, startedServers that the servers do. assumed
	// says that no start gate keeps older content from them. twoWorkloads says that each of these parties has two
	// workloads.
	started, startedServers, assumed, twoWorkloads bool
	// hooked says that kube-apiservers verify the servers by caBundles.
	hooked bool
	// issued says that another controller issues the leaves, issuedCA that it makes the CAs, too. outlived says that its
	// leaves live longer than its CAs.
	issued, issuedCA, outlived bool
}

// startsPods reports whether there are pods whose evidence is what they started with.
func (t topology) startsPods() bool { return t.started || t.startedServers }

// drawTopology draws a topology.
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
		// Evidence of the kind renewed needs a party that verifies leaves of the CA that signs its own leaf.
		if !t.aggregate && !t.crossed {
			clientKinds = append(slices.Clip(clientKinds), configv1alpha1.EvidenceRenewed)
		}
		t.clientKinds = append(t.clientKinds, one(d, "evidence of a client", clientKinds))
	}
	t.peers = in(d, 2, "peers") || len(t.clientKinds) == 0
	t.short, t.balanced = in(d, 3, "short validity"), in(d, 3, "behind one address")
	t.handshake, t.pacing = in(d, 4, "probes by handshake") && (t.peers || !t.crossed), in(d, 4, "pacing")
	t.beside = in(d, 3, "anchors beside the leaves") && !t.aggregate
	return t
}

// String describes the topology.
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
		{t.beside, ", everybody verifies by what is beside its leaf"},
		{t.short, ", certificates are valid for weeks"},
		{t.balanced, ", processes of a member are behind one address"},
		{t.handshake, ", probes present leaves"},
		{t.pacing, ", one leaf in a minute"},
		{t.pods, ", clients are pods"},
		{t.podServers, ", servers are pods"},
		{t.stateful, ", names of pods are used again"},
		{t.mistyped, ", a selector chooses none"},
		{t.retyped, ", a selector is replaced by one that chooses none"},
		{t.startsPods(), ", some read their files only when they start"},
		{t.assumed, " and have no start gates"},
		{t.twoWorkloads, " and are of two workloads"},
		{t.hooked, ", kube-apiservers call them as webhooks"},
		{t.issued, ", leaves are issued by cert-manager"},
		{t.issuedCA, " and its own CA"},
		{t.outlived, ", which they outlive"},
	} {
		if x.yes {
			b.WriteString(x.text)
		}
	}
	return b.String()
}

// onNodes reports whether there is one server per node.
func (t topology) onNodes() bool { return t.servers == 0 }

func (t topology) serverLeaf() string {
	if t.onNodes() {
		return "server-" + configv1alpha1.NodePlaceholder
	}
	return "server"
}

func (t topology) leafLife() time.Duration {
	if t.short {
		return shortLeafValidity
	}
	return leafValidity
}

func (t topology) leaves() (server configv1alpha1.Leaf, clients []configv1alpha1.Leaf) {
	policy := configv1alpha1.IssuancePolicy{Key: configv1alpha1.Ed25519, Validity: &metav1.Duration{Duration: t.leafLife()}}
	server = configv1alpha1.Leaf{
		SecretName: t.serverLeaf(), IssuedSecretName: t.issuedIn(t.serverLeaf()), Usages: []configv1alpha1.Usage{configv1alpha1.ServerAuth}, Policy: policy,
		DNSNames: []string{"server.demo.svc"},
	}
	if t.onNodes() {
		server.ForEachNode, server.NodeAddresses = serverNodes(), true
	}
	if t.peers {
		server.Usages = append(server.Usages, configv1alpha1.ClientAuth)
	}
	for i := range t.clientKinds {
		name := fmt.Sprintf("client-%d", i)
		clients = append(clients, configv1alpha1.Leaf{
			SecretName: name, IssuedSecretName: t.issuedIn(name), CommonName: name, Usages: []configv1alpha1.Usage{configv1alpha1.ClientAuth}, Policy: policy,
		})
	}
	return server, clients
}

func serverNodes() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{nodeRole: "server"}}
}

func (t topology) evidenceOf(kind configv1alpha1.EvidenceKind) configv1alpha1.Evidence {
	out := configv1alpha1.Evidence{Kind: kind}
	switch kind {
	case configv1alpha1.EvidenceTLSProbe:
		out.TLSProbe = &configv1alpha1.TLSProbe{Endpoints: []configv1alpha1.ProbeEndpoint{{Address: "{node}:8443"}}}
		if t.servers > 0 {
			out.TLSProbe.Endpoints = nil
			for i := range t.servers {
				out.TLSProbe.Endpoints = append(out.TLSProbe.Endpoints,
					configv1alpha1.ProbeEndpoint{Member: fmt.Sprintf("server-%d", i), Address: fmt.Sprintf("10.0.0.%d:8443", i+1)})
			}
		}
		if t.handshake {
			out.TLSProbe.Proof = configv1alpha1.ProofHandshake
		}
	case configv1alpha1.EvidenceGracePeriod:
		out.GracePeriod = &metav1.Duration{Duration: grace}
	case configv1alpha1.EvidenceRenewed:
		out.Renewed = &configv1alpha1.RenewedEvidence{MinimumDelay: metav1.Duration{Duration: renewal}}
	case configv1alpha1.EvidenceWorkloadRollout:
		out.WorkloadRollout = &configv1alpha1.WorkloadRollout{StartGate: configv1alpha1.StartGateRequired}
		if t.assumed {
			out.WorkloadRollout.StartGate = configv1alpha1.StartGateAssumed
		}
	case configv1alpha1.EvidenceAcknowledgement, configv1alpha1.EvidenceStaticPodRevision, configv1alpha1.EvidenceMounted, configv1alpha1.EvidenceCABundle,
		configv1alpha1.EvidenceNone:
	}
	return out
}

// parties are the relying parties of a domain: they present or verify its leaves.
func (t topology) parties(server *configv1alpha1.Leaf, clients []configv1alpha1.Leaf) []configv1alpha1.RelyingParty {
	var out []configv1alpha1.RelyingParty
	servers := configv1alpha1.RelyingParty{Name: "servers", Evidence: t.evidenceOf(t.serverKind)}
	for i := range t.servers {
		servers.Members = append(servers.Members, fmt.Sprintf("server-%d", i))
	}
	if t.onNodes() {
		servers.ForEachNode = serverNodes()
	}
	if t.podServers {
		t.ofPods(&servers)
	}
	if t.hooked && server != nil {
		out = append(out, configv1alpha1.RelyingParty{
			Name: "kube-apiserver", Verifies: configv1alpha1.LeafSelection{Usages: []configv1alpha1.Usage{configv1alpha1.ServerAuth}},
			Evidence: configv1alpha1.Evidence{Kind: configv1alpha1.EvidenceCABundle, CABundle: &configv1alpha1.CABundleEvidence{
				MinimumDelay: metav1.Duration{Duration: injectionDelay},
			}},
		})
	}
	if len(clients) > 0 || t.peers {
		servers.Verifies.Usages = []configv1alpha1.Usage{configv1alpha1.ClientAuth}
	} else {
		servers.Verifies.Nothing = true
	}
	for i, kind := range t.clientKinds {
		name := fmt.Sprintf("client-%d", i)
		client := configv1alpha1.RelyingParty{Name: name, Evidence: t.evidenceOf(kind)}
		if server != nil {
			client.Verifies.Usages = []configv1alpha1.Usage{configv1alpha1.ServerAuth}
		} else {
			client.Verifies.Nothing = true
		}
		if i < len(clients) {
			client.Presents = []string{clients[i].SecretName}
		}
		if t.pods {
			t.ofPods(&client)
		}
		out = append(out, client)
	}
	if server != nil {
		servers.Presents = []string{server.SecretName}
	}
	return append(out, servers)
}

func (t topology) trustDomain(name string, leaves []configv1alpha1.Leaf, parties []configv1alpha1.RelyingParty) configv1alpha1.TrustDomain {
	validity, rate := signerValidity, int32(0)
	if t.short {
		validity = shortSignerValidity
	}
	if t.pacing {
		rate = 1
	}
	bundle := configv1alpha1.Bundle{ConfigMapName: name + "-bundle"}
	if t.hooked && slices.ContainsFunc(parties, func(p configv1alpha1.RelyingParty) bool { return p.Evidence.Kind == configv1alpha1.EvidenceCABundle }) {
		bundle.InjectInto = []configv1alpha1.InjectionTarget{hookTarget()}
	}
	out := configv1alpha1.TrustDomain{
		Name: name, ReissuePerMinute: rate,
		Signer: configv1alpha1.Signer{SecretName: name + "-signer", Policy: configv1alpha1.IssuancePolicy{
			Key: configv1alpha1.Ed25519, Validity: &metav1.Duration{Duration: validity},
		}},
		Bundle: bundle, Leaves: leaves, RelyingParties: parties,
	}
	if t.issued {
		out.Issuer = configv1alpha1.IssuerCertManager
	}
	if t.issuedCA {
		out.Signer.IssuedSecretName = t.issuedIn(name + "-ca")
	}
	return out
}

// configurationName is the name of the configuration to which every object consents.
const configurationName = "pki"

// consenting returns the metadata of an object that a person makes for the configuration.
func consenting() metav1.ObjectMeta {
	return metav1.ObjectMeta{Annotations: map[string]string{trust.AnnotationConfiguration: configurationName}}
}

// configuration returns the topology as an operator would write it.
func (t topology) configuration() *configv1alpha1.RotationConfiguration {
	server, clients := t.leaves()
	all := append([]configv1alpha1.Leaf{server}, clients...)
	cfg := &configv1alpha1.RotationConfiguration{ObjectMeta: metav1.ObjectMeta{Name: configurationName}}
	if t.crossed && len(clients) > 0 {
		cfg.Spec.TrustDomains = append(cfg.Spec.TrustDomains,
			t.trustDomain("serving", all[:1], t.parties(&server, nil)), t.trustDomain("clients", clients, t.parties(nil, clients)))
	} else {
		cfg.Spec.TrustDomains = append(cfg.Spec.TrustDomains, t.trustDomain("service", all, t.parties(&server, clients)))
	}
	if t.aggregate {
		cfg.Spec.Aggregate = &configv1alpha1.Aggregate{SecretName: "all-pairs", ConfigMapName: "all-bundles"}
		for _, d := range cfg.Spec.TrustDomains {
			cfg.Spec.Aggregate.Bundles = append(cfg.Spec.Aggregate.Bundles,
				configv1alpha1.AggregatedBundle{Key: d.Name + ".crt", ConfigMapName: d.Bundle.ConfigMapName})
		}
		for _, l := range all {
			cfg.Spec.Aggregate.Leaves = append(cfg.Spec.Aggregate.Leaves, l.SecretName)
		}
	}
	return cfg
}
