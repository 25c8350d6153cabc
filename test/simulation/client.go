// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// client is the connection of a leader to the server. It lacks what a controller does not need: a call of that
// panics, and a panic of the controller is a violation.
type client struct {
	kubernetes.Interface
	leader *leader
}

func (c *client) CoreV1() typedcorev1.CoreV1Interface { return &core{leader: c.leader} }

type core struct {
	typedcorev1.CoreV1Interface
	leader *leader
}

func (c *core) Secrets(string) typedcorev1.SecretInterface { return &secretClient{leader: c.leader} }

func (c *core) ConfigMaps(string) typedcorev1.ConfigMapInterface {
	return &configMapClient{leader: c.leader}
}

type secretClient struct {
	typedcorev1.SecretInterface
	leader *leader
}

func (c *secretClient) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Secret, error) {
	if err := c.leader.read(); err != nil {
		return nil, err
	}
	if secret := c.leader.world.api.secrets[name]; secret != nil {
		return secret, nil
	}
	return nil, apierrors.NewNotFound(secretResource, name)
}

func (c *secretClient) Create(_ context.Context, secret *corev1.Secret, _ metav1.CreateOptions) (*corev1.Secret, error) {
	return written(c.leader, "Secret/"+secret.Name, func() (*corev1.Secret, error) {
		return c.leader.world.api.createSecret(secret, c.leader.world.clock.now())
	})
}

func (c *secretClient) Update(_ context.Context, secret *corev1.Secret, _ metav1.UpdateOptions) (*corev1.Secret, error) {
	return written(c.leader, "Secret/"+secret.Name, func() (*corev1.Secret, error) {
		return c.leader.world.api.updateSecret(secret, c.leader.world.clock.now())
	})
}

type configMapClient struct {
	typedcorev1.ConfigMapInterface
	leader *leader
}

func (c *configMapClient) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.ConfigMap, error) {
	if err := c.leader.read(); err != nil {
		return nil, err
	}
	if cm := c.leader.world.api.configMaps[name]; cm != nil {
		return cm, nil
	}
	return nil, apierrors.NewNotFound(configMapResource, name)
}

func (c *configMapClient) Create(_ context.Context, cm *corev1.ConfigMap, _ metav1.CreateOptions) (*corev1.ConfigMap, error) {
	return written(c.leader, "ConfigMap/"+cm.Name, func() (*corev1.ConfigMap, error) {
		return c.leader.world.api.createConfigMap(cm, c.leader.world.clock.now())
	})
}

func (c *configMapClient) Update(_ context.Context, cm *corev1.ConfigMap, _ metav1.UpdateOptions) (*corev1.ConfigMap, error) {
	return written(c.leader, "ConfigMap/"+cm.Name, func() (*corev1.ConfigMap, error) {
		return c.leader.world.api.updateConfigMap(cm, c.leader.world.clock.now())
	})
}
