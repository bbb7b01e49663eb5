//go:build !since_1_37

package main

import podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"

const servesPodsAPI = false

func (m managersDevices) GetAllocatableDevices() []*podresourcesapi.ContainerDevices {
	return inWords(m.ObservedManager.GetAllocatableDevices())
}

func (nothingElse) GetCPUs(string, string) []int64                              { return nil }
func (nothingElse) GetAllocatableCPUs() []int64                                 { return nil }
func (nothingElse) GetMemory(string, string) []*podresourcesapi.ContainerMemory { return nil }
func (nothingElse) GetAllocatableMemory() []*podresourcesapi.ContainerMemory    { return nil }
