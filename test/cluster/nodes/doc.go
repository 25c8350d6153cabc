// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodes runs real Kubernetes nodes on one Linux machine, as root: kubelet, containerd and runc, each node in
// namespaces of its own, so that three etcd members can each have port 2379 and /var/lib/etcd. It needs what `make
// node-tools` builds and installs; [Supported] says what else a machine lacks.
//
//	network, err := nodes.Start(ctx, nodes.Config{Dir: dir, Images: []string{etcdArchive}})   // no node yet, but a Gateway
//	c, err := cluster.Start(ctx, cluster.Config{Dir: dir2, Address: network.Gateway().String()})
//	err = network.Register(ctx, nodes.KubeconfigOf(c))
//	err = network.Add(ctx, "master-0", "master-1", "master-2")
//	err = network.Node("master-0").Label(ctx, client, map[string]string{"node-role.kubernetes.io/master": ""})
//
// The order is free: nodes that start before there is a kubeconfig run the static pods of their /etc/kubernetes/manifests,
// and go on with them when Register comes.
//
// To stop: [Network.StopKubelets], then the cluster, then [Network.Stop].
//
// # A node
//
// Process 1 of a node is `nodeinit init`, in new mount, process, network and UTS namespaces. It has its own root: a
// directory of this machine, with this machine's /usr, /dev and /sys in it and a /run, /tmp and /proc of its own. So a
// hostPath volume is the node's and not the machine's, and when process 1 is killed, the kernel ends everything in the node
// at once and forgets its mounts: that is [Node.PowerOff], and also the end of a test binary that is killed.
//
// The network of a Dir is 10.N.0.0/24 with N from 200 to 249, chosen at the first start, on the bridge crtN; .1 is this
// machine, the nodes begin at .11, and pods without hostNetwork have 10.N.NODE.0/24. Two networks on one machine have two
// numbers, by locks in /run/certrotation-nodes. Cgroups are /certrotation-N/NODE in every hierarchy. Nothing in the kernel
// has two owners: the bridge and the cgroup /certrotation-N are of the network, which holds the lock, all else of one node.
//
// # The directory
//
//	network.json           number and addresses; a later start on the same directory uses them again
//	NODE/root/             the node's disk (Node.Path)
//	NODE/logs/             init.log, containerd.log, kubelet.log
//	NODE/*.pid, processes/ see package cluster
//	images/pause.tar       the sandbox image
//
// # What is missing
//
// There is no kube-proxy and no name service: Services have no addresses, and names only where Config.NameService is set. Nothing places pods: package workernodes has a scheduler. Images come from archives, never from a registry. The kernel, its
// clock and /dev are shared: a node is no security boundary.
//
// # Goroutines
//
// Nothing runs in the background but the goroutine of each process (see package cluster). A Network and its Nodes may be
// used from several goroutines.
package nodes
