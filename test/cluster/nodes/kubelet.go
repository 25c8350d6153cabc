// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// ManifestDir is the directory of a node's static pod manifests.
	ManifestDir    = "/etc/kubernetes/manifests"
	kubeletConfig  = "/etc/kubernetes/kubelet.yaml"
	kubeconfigFile = "/etc/kubernetes/kubelet.kubeconfig"
	clientCAFile   = "/etc/kubernetes/kubelet-client-ca.crt"
	healthPort     = 10248
)

// kubeletConfiguration makes kubelet read its files every second and restart a container that failed again after one
// second. It never evicts a pod because the machine's disk is full. The feature gate is on by default from Kubernetes
// 1.35.
const kubeletConfiguration = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[1]s
healthzBindAddress: %[1]s
healthzPort: %[2]d
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: false}
  x509: {clientCAFile: %[3]q}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: %[4]s
containerRuntimeEndpoint: unix://` + containerdSocket + `
crashLoopBackOff: {maxContainerRestartPeriod: 1s}
enforceNodeAllocatable: []
evictionHard: {memory.available: 1Mi, nodefs.available: 0%%, nodefs.inodesFree: 0%%, imagefs.available: 0%%, imagefs.inodesFree: 0%%}
failCgroupV1: false
failSwapOn: false
featureGates: {KubeletCrashLoopBackOffMax: true}
fileCheckFrequency: 1s
imageGCHighThresholdPercent: 100
makeIPTablesUtilChains: false
nodeStatusReportFrequency: 10s
nodeStatusUpdateFrequency: 2s
registerWithTaints: []
resolvConf: ""
staticPodPath: ` + ManifestDir + `
syncFrequency: 2s
volumePluginDir: /var/lib/kubelet/volume-plugins
volumeStatsAggPeriod: -1s
`

// nameService is added with Config.NameService.
const nameService = `clusterDNS: [%s]
clusterDomain: cluster.local
`

// startKubelet starts kubelet with the current kubeconfig. The caller holds n.mu.
func (n *Node) startKubelet(ctx context.Context) error {
	if n.kubelet == nil || !n.kubelet.Running() {
		registers, clientCA, err := n.writeKubeconfig()
		if err != nil {
			return err
		}
		text := fmt.Sprintf(kubeletConfiguration, n.IP(), healthPort, clientCA, cgroupOfNode(n.network.number, n.name))
		if n.network.cfg.NameService {
			text += fmt.Sprintf(nameService, n.network.Gateway())
		}
		if err := n.write(kubeletConfig, text); err != nil {
			return err
		}
		if err := os.MkdirAll(n.Path(ManifestDir), 0o755); err != nil {
			return err
		}
		args := []string{
			"--config=" + kubeletConfig, "--hostname-override=" + n.name, "--node-ip=" + n.IP().String(), "--root-dir=/var/lib/kubelet", "--v=2",
		}
		if registers {
			args = append(args, "--kubeconfig="+kubeconfigFile)
		}
		n.kubelet = n.process("kubelet", args...)
		if _, err := n.launch(ctx, n.kubelet); err != nil {
			return err
		}
	}
	return n.kubelet.WaitReady(ctx, n.kubeletHealthy)
}

// writeKubeconfig copies this node's kubeconfig to the node. Clients with a certificate of the CA in it may use
// kubelet: in clusters of this repository kube-apiserver and administrators.
func (n *Node) writeKubeconfig() (registers bool, clientCA string, err error) {
	n.network.mu.Lock()
	source := n.network.kubeconfig
	n.network.mu.Unlock()
	if source == nil {
		return false, "", nil
	}
	path, err := source(n.name)
	if err != nil {
		return false, "", fmt.Errorf("kubeconfig of the node: %w", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return false, "", fmt.Errorf("kubeconfig of the node: %w", err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err == nil {
		err = rest.LoadTLSFiles(config)
	}
	if err != nil {
		return false, "", fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	return true, clientCAFile, errors.Join(n.write(kubeconfigFile, string(text)), n.write(clientCAFile, string(config.CAData)))
}

func (n *Node) kubeletHealthy(ctx context.Context) error {
	url := fmt.Sprintf("http://%s:%d/healthz", n.IP(), healthPort)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	// Not the default transport: a proxy does not reach the nodes.
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return nil
}

// StopKubelet ends kubelet; the containers keep running. kubelet stays off until StartKubelet, also over a loss of
// power.
func (n *Node) StopKubelet(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.noKubelet = true
	if n.kubelet == nil {
		return nil
	}
	return n.kubelet.Stop(ctx)
}

// StopKubelets calls StopKubelet for all nodes. Call it before stopping a kube-apiserver on the gateway, which saves
// 20 s: kube-apiserver waits for the watches of kubelets to end. It also waits for its own requests if the network,
// and so its address, goes first.
func (w *Network) StopKubelets(ctx context.Context) error {
	return each(w.Nodes(), func(n *Node) error { return n.StopKubelet(ctx) })
}

// StartKubelet starts kubelet and returns when it is healthy.
func (n *Node) StartKubelet(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.noKubelet = false
	return n.startKubelet(ctx)
}
