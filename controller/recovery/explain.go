// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import "path/filepath"

// explainReissue says what is left for a person after a reissue.
func (r *recovery) explainReissue(p *Plan) {
	p.next("Run the same command on every other member. Each works alone: re-signed authorities keep key and subject, so all of them accept each other.")
	p.next("Start kubelet (systemctl start kubelet): it starts etcd from the new manifest. It serves when a majority of the members is back: `certrotation doctor` probes the peers.")
	if r.OutputDirectory == "" {
		p.next("Nothing was written for the API server (--output-dir was empty).")
		return
	}
	out := r.OutputDirectory
	p.next("Give the kube-apiserver of this node %s (--etcd-cafile) and the pair %s, .key (--etcd-certfile, --etcd-keyfile), and restart it.",
		filepath.Join(out, "etcd-ca-bundle.crt"), filepath.Join(out, "etcd-client.crt"))
	p.next("As soon as the API serves, before the certrotation controller runs: `kubectl apply --server-side --force-conflicts --field-manager=certrotation-recover -f %s`, so that "+
		"API and disk agree. Do this with the output of every node; the signers are the same in all of them. Until then the API knows the "+
		"expired signer only. A controller that runs leaves it alone while it sees, by a tlsProbe, members that were recovered, and says so.", filepath.Join(out, "manifests"))
	p.next("Then the controller reissues what else has expired and brings a revision of its own to the nodes, one at a time.")
	p.next("%s and %s hold private keys: remove them when the cluster is healthy.", out, r.asideDirectory())
}
