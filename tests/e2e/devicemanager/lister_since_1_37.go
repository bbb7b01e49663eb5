//go:build since_1_37

package main

import (
	"context"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"
	apisgrpc "k8s.io/kubernetes/pkg/kubelet/apis/grpc"
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
)

// servesPodsAPI: such a kubelet serves its pods, too. Plugins may tell it by that.
const servesPodsAPI = true

// podResourcesLister gives the kubelet's own server of pod resources, and the limits that it has there.
func podResourcesLister(devices podresources.DevicesProvider, pods podresources.PodsProvider) (podresourcesapi.PodResourcesListerServer, []grpc.ServerOption, error) {
	limit := apisgrpc.WithRateLimiter(context.Background(), "podresources", podresources.DefaultQPS, podresources.DefaultBurstTokens)
	return podresources.NewV1PodResourcesServer(context.Background(), podresources.PodResourcesProviders{
		Pods:             pods,
		Devices:          devices,
		Cpus:             nothingElse{},
		Memory:           nothingElse{},
		DynamicResources: nothingElse{},
	}), []grpc.ServerOption{limit}, nil
}

func (m managersDevices) GetAllocatableDevices(logger klog.Logger) []*podresourcesapi.ContainerDevices {
	return inWords(m.ObservedManager.GetAllocatableDevices(logger))
}

func (nothingElse) GetCPUs(*v1.Pod, *v1.Container) []int64 { return nil }
func (nothingElse) GetPodCPUs(string) []int64              { return nil }
func (nothingElse) GetAllocatableCPUs() []int64            { return nil }
func (nothingElse) GetMemory(klog.Logger, *v1.Pod, *v1.Container) []*podresourcesapi.ContainerMemory {
	return nil
}
func (nothingElse) GetPodMemory(klog.Logger, string) []*podresourcesapi.ContainerMemory { return nil }
func (nothingElse) GetAllocatableMemory(klog.Logger) []*podresourcesapi.ContainerMemory { return nil }
func (nothingElse) GetDynamicResources(klog.Logger, *v1.Pod, *v1.Container) []*podresourcesapi.DynamicResource {
	return nil
}
