// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodes runs real Kubernetes nodes on one Linux machine, as root: kubelet, containerd and runc. Each node has
// its own namespaces, so that each of three etcd members can have port 2379 and /var/lib/etcd. It needs what `make
// node-tools` builds and installs; [Supported] reports what else a machine lacks.
//
//	network, err := nodes.Start(ctx, nodes.Config{Dir: dir, Images: []string{etcdArchive}}) // no node yet, but a Gateway
//	c, err := cluster.Start(ctx, cluster.Config{Dir: dir2, Address: network.Gateway().String()})
//	err = network.Register(ctx, nodes.KubeconfigOf(c))
//	err = network.Add(ctx, "master-0", "master-1", "master-2")
//	err = network.Node("master-0").Label(ctx, client, map[string]string{"node-role.kubernetes.io/master": ""})
//
// The order is free. Nodes that start without a kubeconfig run the static pods of their /etc/kubernetes/manifests,
// and keep them after Register.
//
// To stop: [Network.StopKubelets], then the cluster, then [Network.Stop].
//
// # A node
//
// Process 1 of a node is `nodeinit init`, in new mount, process, network and UTS namespaces. Its root is a directory
// of this machine, with this machine's /usr, /dev and /sys and its own /run, /tmp and /proc. So a hostPath volume is
// the node's and not the machine's. When process 1 is killed, the kernel ends everything in the node at once and
// drops its mounts: that is [Node.PowerOff]. The same happens when a test binary is killed.
//
// The network of a Dir is 10.N.0.0/24 with N from 200 to 249, chosen at the first start, on the bridge crtN. This
// machine is .1 and the nodes start at .11; pods without hostNetwork have 10.N.NODE.0/24. Locks in
// /run/certrotation-nodes give each network on this machine its own number. Cgroups are /certrotation-N/NODE in every
// hierarchy. Everything in the kernel has one owner. The network, which holds the lock, owns the bridge and the
// cgroup /certrotation-N; a node owns all else.
//
// # The directory
//
//	network.json           number and addresses, for later starts on the same directory
//	NODE/root/             the node's disk (Node.Path)
//	NODE/logs/             init.log, containerd.log, kubelet.log
//	NODE/*.pid, processes/ see package cluster
//	images/pause.tar       the sandbox image
//
// # What is missing
//
// There is no kube-proxy and no name service: Services have no addresses, and names only with Config.NameService.
// Nothing schedules pods; package workernodes has a scheduler. Images come from archives, never from a registry.
// Nodes share the kernel, its clock and /dev: a node is no security boundary.
//
// # Goroutines
//
// Only the goroutine of each process runs in the background (see package cluster). A Network and its Nodes may be
// used from several goroutines.
package nodes
