// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package holes

import "strings"

// namespace of all stories.
const namespace = "demo"

// setting is the system with which a story begins.
type setting struct {
	// config is the spec of the configuration.
	config string
	// nodes by name. A node whose name begins with "lost-" has no address.
	nodes []string
	// empty says that the story begins before the bootstrap.
	empty bool
}

// mesh is an etcd cluster: each member is server and client of all others. There is one other client. The nodes
// read the aggregate.
var mesh = setting{nodes: []string{"n1", "n2", "n3"}, config: meshConfig}

const meshConfig = `
trustDomains:
- name: etcd
  signer: {secretName: signer}
  bundle: {configMapName: bundle}
  leaves:
  - {secretName: "peer-{node}", forEachNode: {matchLabels: {role: master}}, nodeAddresses: true, usages: [ServerAuth, ClientAuth]}
  - {secretName: client, commonName: client, usages: [ClientAuth]}
  relyingParties:
  - name: members
    forEachNode: {matchLabels: {role: master}}
    presents: ["peer-{node}"]
    evidence: {kind: acknowledgement}
  - {name: apiserver, verifies: {usages: [ServerAuth]}, presents: [client], evidence: {kind: acknowledgement}}
aggregate:
  secretName: all-certs
  leaves: ["peer-{node}", client]
  configMapName: all-bundles
  bundles: [{key: server-ca.crt, configMapName: bundle}]
`

// web is a server and two clients that verify each other.
var web = setting{config: webConfig}

const webConfig = `
trustDomains:
- name: web
  signer: {secretName: signer}
  bundle: {configMapName: bundle}
  leaves:
  - {secretName: server, dnsNames: [web.demo.svc], usages: [ServerAuth]}
  - {secretName: client-a, commonName: client-a, usages: [ClientAuth]}
  - {secretName: client-b, commonName: client-b, usages: [ClientAuth]}
  relyingParties:
  - {name: server, verifies: {usages: [ClientAuth]}, presents: [server], evidence: {kind: acknowledgement}}
  - {name: client-a, verifies: {usages: [ServerAuth]}, presents: [client-a], evidence: {kind: acknowledgement}}
  - {name: client-b, verifies: {usages: [ServerAuth]}, presents: [client-b], evidence: {kind: acknowledgement}}
`

// probed is web with a server that is probed.
var probed = setting{config: strings.Replace(webConfig,
	"presents: [server], evidence: {kind: acknowledgement}", "presents: [server], evidence: {kind: tlsProbe, tlsProbe: {endpoints: [{address: '10.0.0.1:443', serverName: web.demo.svc}]}}", 1)}

// grace is a server whose clients cannot be observed: they load within a day.
var grace = setting{config: graceConfig}

const graceConfig = `
trustDomains:
- name: web
  signer: {secretName: signer}
  bundle: {configMapName: bundle}
  leaves:
  - {secretName: server, dnsNames: [web.demo.svc], usages: [ServerAuth]}
  relyingParties:
  - {name: server, verifies: {nothing: true}, presents: [server], evidence: {kind: acknowledgement}}
  - {name: clients, verifies: {usages: [ServerAuth]}, evidence: {kind: gracePeriod, gracePeriod: 24h}}
`
