// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Defaults of the preset hosted-etcd.
const (
	defaultHostedName             = "etcd"
	defaultHostedDeployment       = "kube-apiserver"
	defaultEtcdClientPort   int32 = 2379
	defaultEtcdPeerPort     int32 = 2380
)

// hostedEtcd makes the parts of the preset hosted-etcd from its parameters, with their defaults.
type hostedEtcd struct {
	params HostedEtcdPreset
	// names of the leaves of the members. The first is the name of the headless Service.
	names  []string
	policy IssuancePolicy
}

// newHostedEtcd copies the parameters, which may be nil, and sets their defaults.
func newHostedEtcd(params *HostedEtcdPreset, namespace string) *hostedEtcd {
	h := &hostedEtcd{}
	if params != nil {
		h.params = *params.DeepCopy()
	}
	p := &h.params
	p.Name = cmp.Or(p.Name, defaultHostedName)
	p.StatefulSet = cmp.Or(p.StatefulSet, p.Name)
	p.StartGate = cmp.Or(p.StartGate, StartGateRequired)
	p.Deployment = cmp.Or(p.Deployment, defaultHostedDeployment)
	p.ClientPort, p.PeerPort = cmp.Or(p.ClientPort, defaultEtcdClientPort), cmp.Or(p.PeerPort, defaultEtcdPeerPort)
	if p.MemberSelector == nil {
		p.MemberSelector = appSelector(p.StatefulSet)
	}
	if p.APIServerSelector == nil {
		p.APIServerSelector = appSelector(p.Deployment)
	}
	if len(p.Services) == 0 {
		p.Services = []string{p.StatefulSet}
	}
	for _, service := range p.Services {
		name := service + "." + namespace + ".svc"
		h.names = append(h.names, name, "*."+name, name+".cluster.local", "*."+name+".cluster.local")
	}
	h.names = append(append(h.names, "localhost"), p.DNSNames...)
	h.policy = IssuancePolicy{Key: cmp.Or(p.Key, DefaultKeyAlgorithm)}
	return h
}

// appSelector selects the label that kubectl gives the pods of a new Deployment.
func appSelector(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

func (h *hostedEtcd) signer() string     { return h.params.Name + "-signer" }
func (h *hostedEtcd) bundle() string     { return h.params.Name + "-ca-bundle" }
func (h *hostedEtcd) server() string     { return h.params.Name + "-server" }
func (h *hostedEtcd) apiServer() string  { return h.params.Name + "-client" }
func (h *hostedEtcd) asker() string      { return h.params.Name + "-quorum" }
func (h *hostedEtcd) peer() string       { return h.params.Name + "-peer" }
func (h *hostedEtcd) peerSigner() string { return h.peer() + "-signer" }
func (h *hostedEtcd) peerBundle() string { return h.peer() + "-ca-bundle" }

func (h *hostedEtcd) client(name string) string { return h.apiServer() + "-" + name }

// expand makes two domains: a CA that signs for clients must not let a client join as a peer.
func (h *hostedEtcd) expand() *RotationConfigurationSpec {
	return &RotationConfigurationSpec{TrustDomains: []TrustDomain{h.peers(), h.clients()}}
}

// peers is the domain in which each member verifies the others, as server and as client.
func (h *hostedEtcd) peers() TrustDomain {
	return TrustDomain{
		Name:   h.peer(),
		Signer: Signer{SecretName: h.peerSigner(), Policy: h.policy},
		Bundle: Bundle{ConfigMapName: h.peerBundle()},
		Leaves: []Leaf{h.memberLeaf(h.peer())},
		// The probe presents no leaf of this CA: only members have one. etcd shows what it has loaded before it refuses
		// the probe.
		RelyingParties: []RelyingParty{h.started(nil), h.probed("etcd-peer", h.params.PeerPort, h.peer(), "")},
	}
}

// clients is the domain in which the members and their clients verify each other.
func (h *hostedEtcd) clients() TrustDomain {
	domain := TrustDomain{
		Name:   h.params.Name,
		Signer: Signer{SecretName: h.signer(), Policy: h.policy},
		Bundle: Bundle{ConfigMapName: h.bundle()},
		Leaves: []Leaf{h.memberLeaf(h.server()), h.clientLeaf(h.apiServer())},
	}
	var sidecars []string
	parties := []RelyingParty{h.ofAPIServer()}
	for i := range h.params.Clients {
		client := &h.params.Clients[i]
		leaf := h.client(client.Name)
		domain.Leaves = append(domain.Leaves, h.clientLeaf(leaf))
		if client.Selector == nil {
			sidecars = append(sidecars, leaf)
			continue
		}
		parties = append(parties, h.ofClient(client, leaf))
	}
	if !h.params.RestartedElsewhere {
		domain.Leaves = append(domain.Leaves, h.clientLeaf(h.asker()))
		parties = append(parties, h.ofQuorum())
	}
	domain.RelyingParties = append([]RelyingParty{
		h.started(sidecars), h.probed("etcd-server", h.params.ClientPort, h.server(), h.apiServer()),
	}, parties...)
	return domain
}

// memberLeaf has both usages. Peers are servers and clients of each other, and etcd dials its own client port with
// its serving leaf, for its HTTP gateway. All members share it, as all pods of a StatefulSet mount the same
// Secrets.
func (h *hostedEtcd) memberLeaf(name string) Leaf {
	return Leaf{
		SecretName:  name,
		CommonName:  name,
		DNSNames:    slices.Clone(h.names),
		IPAddresses: append([]string{"127.0.0.1", "::1"}, h.params.IPAddresses...),
		Usages:      []Usage{ClientAuth, ServerAuth},
		Policy:      h.policy,
	}
}

func (h *hostedEtcd) clientLeaf(name string) Leaf {
	return Leaf{SecretName: name, CommonName: name, Usages: []Usage{ClientAuth}, Policy: h.policy}
}
