//go:build !before_1_27 && !since_1_37

package main

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"
	apisgrpc "k8s.io/kubernetes/pkg/kubelet/apis/grpc"
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
)

// podResourcesLister gives the kubelet's own server of pod resources, and the limits that it has there.
func podResourcesLister(devices podresources.DevicesProvider, pods podresources.PodsProvider) (podresourcesapi.PodResourcesListerServer, []grpc.ServerOption, error) {
	providers := podresources.PodResourcesProviders{
		Pods:             pods,
		Devices:          devices,
		Cpus:             nothingElse{},
		Memory:           nothingElse{},
		DynamicResources: nothingDynamic{},
	}
	const service, rate, burst = "podresources", podresources.DefaultQPS, podresources.DefaultBurstTokens
	var limit grpc.ServerOption
	switch limited := any(apisgrpc.WithRateLimiter).(type) {
	case func(context.Context, string, int32, int32) grpc.ServerOption:
		limit = limited(context.Background(), service, rate, burst)
	case func(string, int32, int32) grpc.ServerOption:
		limit = limited(service, rate, burst)
	default:
		return nil, nil, errors.New("this version's WithRateLimiter is unknown")
	}
	switch lister := any(podresources.NewV1PodResourcesServer).(type) {
	case func(context.Context, podresources.PodResourcesProviders) podresourcesapi.PodResourcesListerServer:
		return lister(context.Background(), providers), []grpc.ServerOption{limit}, nil
	case func(podresources.PodResourcesProviders) podresourcesapi.PodResourcesListerServer:
		return lister(providers), []grpc.ServerOption{limit}, nil
	}
	return nil, nil, errors.New("this version's NewV1PodResourcesServer is unknown")
}

type nothingDynamic struct{}

func (nothingDynamic) GetDynamicResources(*v1.Pod, *v1.Container) []*podresourcesapi.DynamicResource {
	return nil
}
