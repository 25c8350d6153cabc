// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/controller/secrets"
	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/pki"
)

// Names of configurations.
const (
	ca, caClient, caEtcd, caEtcdPeer   = "ca", "ca-client", "ca-etcd", "ca-etcd-peer"
	caFrontProxy, caKubelet            = "ca-front-proxy", "ca-kubelet"
	serviceAccountKey, encryptionKey   = "service-account-key", "etcd-encryption-key"
	etcdServer, etcdPeer, etcdClient   = "etcd-server", "etcd-peer", "etcd-client"
	apiServer, frontProxy, kubeletUser = "kube-apiserver", "front-proxy", "kube-apiserver-kubelet"
	administrator, node                = "admin", "node"
)

func authorities() []string {
	return []string{ca, caClient, caEtcd, caEtcdPeer, caFrontProxy, caKubelet}
}

// leaf is a certificate and its authority.
type leaf struct {
	authority string
	config    kinds.CertificateSecretConfig
}

func leaves(namespace string) []leaf {
	members := []string{"localhost"}
	for i := range 3 {
		members = append(members, fmt.Sprintf("etcd-%d.etcd.%s.svc", i, namespace))
	}
	return []leaf{
		{caEtcd, kinds.CertificateSecretConfig{Name: etcdServer, CommonName: etcdServer, DNSNames: members, CertType: kinds.ServerClientCert}},
		{caEtcdPeer, kinds.CertificateSecretConfig{Name: etcdPeer, CommonName: etcdPeer, DNSNames: members, CertType: kinds.ServerClientCert}},
		{caEtcd, kinds.CertificateSecretConfig{Name: etcdClient, CommonName: etcdClient, CertType: kinds.ClientCert}},
		{ca, kinds.CertificateSecretConfig{
			Name: apiServer, CommonName: apiServer, CertType: kinds.ServerCert,
			DNSNames: []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kube-apiserver." + namespace + ".svc", "localhost"},
		}},
		{caFrontProxy, kinds.CertificateSecretConfig{Name: frontProxy, CommonName: "front-proxy-client", CertType: kinds.ClientCert}},
		{caKubelet, kinds.CertificateSecretConfig{Name: kubeletUser, CommonName: "system:kube-apiserver:kubelet", CertType: kinds.ClientCert}},
		{caKubelet, kinds.CertificateSecretConfig{Name: node, CommonName: "system:node:" + node, DNSNames: []string{node + "." + namespace + ".svc"}, CertType: kinds.ServerCert}},
		{caClient, kinds.CertificateSecretConfig{Name: administrator, CommonName: administrator, Organization: []string{"system:masters"}, CertType: kinds.ClientCert}},
	}
}

// generated are the Secrets of a reconciliation.
type generated struct {
	// bundles by authority, certificates by name.
	bundles, certificates map[string]*corev1.Secret
	// signs are the keys of service accounts, encrypts those of stored objects: the first is used, all are accepted.
	signs, encrypts []*corev1.Secret
	// composed is the Secret with the files that are made of them.
	composed string
}

// generate asks for everything, authorities first.
func generate(ctx context.Context, instance *secrets.Instance, namespace string, of *edition.CredentialRotations) (*generated, error) {
	out := &generated{bundles: map[string]*corev1.Secret{}, certificates: map[string]*corev1.Secret{}}
	for _, name := range authorities() {
		config := &kinds.CertificateSecretConfig{Name: name, CommonName: name, CertType: kinds.CACert, Key: pki.ECDSAP256}
		if _, err := instance.Generate(ctx, config, secrets.Persist(), secrets.InPhase(of.Of(edition.Authorities))); err != nil {
			return nil, err
		}
		out.bundles[name], _ = instance.Get(name)
	}
	for _, l := range leaves(namespace) {
		l.config.Key = pki.ECDSAP256
		secret, err := instance.Generate(ctx, &l.config, secrets.SignedInPhase(of.Of(edition.Authorities), l.authority))
		if err != nil {
			return nil, err
		}
		out.certificates[l.config.Name] = secret
	}
	for _, key := range []struct {
		config kinds.Config
		state  *edition.GroupRotation
		into   *[]*corev1.Secret
	}{
		{&kinds.RSASecretConfig{Name: serviceAccountKey, Bits: 3072}, of.Of(edition.ServiceAccountKey), &out.signs},
		{&kinds.ETCDEncryptionKeySecretConfig{Name: encryptionKey, Provider: "secretbox", SecretLength: 32}, of.Of(edition.ETCDEncryptionKey), &out.encrypts},
	} {
		if _, err := instance.Generate(ctx, key.config, secrets.Persist(), secrets.InPhase(key.state)); err != nil {
			return nil, err
		}
		*key.into = secrets.KeysInPhase(instance, key.state, key.config.GetName())
	}
	return out, nil
}
