package main

import (
	"errors"
	"fmt"
	"sort"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
)

type command struct {
	// admits says that the command waits its turn behind those that admit or start pods.
	admits bool
	// apart says that the command waits for nothing, and nothing for it.
	apart bool
	run   func(k *kubelet, words []string) (any, error)
}

var commands = map[string]command{
	"allocate": {admits: true, run: allocate},
	"dra":      {admits: true, run: dra},
	"options":  {admits: true, run: options},
	"hints":    {admits: true, run: hints},
	"call":     {apart: true, run: call},
	"free":     {run: free},
	"capacity": {run: capacity},
	"devices":  {run: devices},
	"start":    {run: func(k *kubelet, _ []string) (any, error) { return nil, k.start() }},
	"cancel":   {run: onResource((*devicemanager.ObservedManager).Cancel)},
	"double":   {admits: true, run: onResource((*devicemanager.ObservedManager).Double)},
	"again":    {admits: true, run: onResource((*devicemanager.ObservedManager).Again)},
	"drop":     {run: onResource((*devicemanager.ObservedManager).Drop)},
	"forget":   {run: onResource((*devicemanager.ObservedManager).Forget)},
	"keep":     {run: onResource((*devicemanager.ObservedManager).Keep)},
	"swallow":  {run: onResource(quietly((*devicemanager.ObservedManager).Swallow))},
	"validate": {run: onResource((*devicemanager.ObservedManager).Validate)},
	"refuse":   {run: onResource(quietly((*devicemanager.ObservedManager).Refuse))},
	"accept":   {run: onResource(quietly((*devicemanager.ObservedManager).Accept))},
	"stop":     {run: func(k *kubelet, _ []string) (any, error) { return nil, k.stop() }},
	"restart":  {run: restart},
	"quit":     {run: quit},
}

// containerStart is what a container of a pod gets.
type containerStart struct {
	Pod         string                                   `json:"pod"`
	Allocations map[string]devicemanager.Allocation      `json:"allocations"`
	Options     *devicemanager.DeviceRunContainerOptions `json:"options"`
}

// allocate admits a pod, and starts its container. A pod that is rejected is gone, as in the kubelet.
func allocate(k *kubelet, words []string) (any, error) {
	pod, err := parsePod("allocate", words)
	if err != nil {
		return nil, err
	}
	return admit(k, pod)
}

// dra does the same for a pod whose devices DRA gives, by the status that the scheduler wrote. Kubernetes to 1.33 has no such status.
func dra(k *kubelet, words []string) (any, error) {
	pod, err := parsePod("dra", words)
	if err != nil {
		return nil, err
	}
	if err := leaveToDRA(pod); err != nil {
		return nil, err
	}
	return admit(k, pod)
}

func admit(k *kubelet, pod *v1.Pod) (any, error) {
	manager, err := k.running()
	if err != nil {
		return nil, err
	}
	k.pods.add(pod)
	if verdict := manager.Admit(pod); !verdict.Admit {
		k.pods.remove(pod.Name)
		return nil, fmt.Errorf("%s: %s", verdict.Reason, verdict.Message)
	}
	return startContainer(manager, pod)
}

// options starts the container of an admitted pod once more.
func options(k *kubelet, words []string) (any, error) {
	if len(words) != 1 {
		return nil, errors.New("usage: options POD")
	}
	manager, err := k.running()
	if err != nil {
		return nil, err
	}
	pod, found := k.pods.find(words[0])
	if !found {
		return nil, fmt.Errorf("no pod %s", words[0])
	}
	return startContainer(manager, pod)
}

func startContainer(manager *devicemanager.ObservedManager, pod *v1.Pod) (any, error) {
	options, err := manager.RunOptions(pod, &pod.Spec.Containers[0])
	if err != nil {
		return nil, fmt.Errorf("container start: %w", err)
	}
	return containerStart{pod.Name, manager.Allocations()[pod.Name][containerName], options}, nil
}

type hint struct {
	Nodes     []int `json:"nodes"`
	Preferred bool  `json:"preferred"`
}

// hints gives the topology hints for a pod that need not be admitted: null for a resource without a preference.
func hints(k *kubelet, words []string) (any, error) {
	pod, err := parsePod("hints", words)
	if err != nil {
		return nil, err
	}
	manager, err := k.running()
	if err != nil {
		return nil, err
	}
	resources := map[string][]hint{}
	for resource, given := range manager.Hints(pod, &pod.Spec.Containers[0]) {
		if given == nil {
			resources[resource] = nil
			continue
		}
		resources[resource] = []hint{}
		for _, one := range given {
			resources[resource] = append(resources[resource], hint{one.NUMANodeAffinity.GetBits(), one.Preferred})
		}
	}
	return resources, nil
}

// free lets a pod go, and takes its devices back. The checkpoint follows when the manager next writes it.
func free(k *kubelet, words []string) (any, error) {
	if len(words) != 1 {
		return nil, errors.New("usage: free POD")
	}
	manager, err := k.running()
	if err != nil {
		return nil, err
	}
	if _, found := k.pods.find(words[0]); !found {
		return nil, fmt.Errorf("no pod %s", words[0])
	}
	k.pods.remove(words[0])
	manager.TakeBack()
	return nil, nil
}

// capacity does what the kubelet does for the node's status, and that includes forgetting resources.
func capacity(k *kubelet, _ []string) (any, error) {
	manager, err := k.running()
	if err != nil {
		return nil, err
	}
	capacity, allocatable, removed := manager.Capacity()
	sort.Strings(removed)
	return struct {
		Capacity    map[string]int64 `json:"capacity"`
		Allocatable map[string]int64 `json:"allocatable"`
		Removed     []string         `json:"removed"`
	}{counts(capacity), counts(allocatable), removed}, nil
}

func counts(list v1.ResourceList) map[string]int64 {
	counts := map[string]int64{}
	for resource, quantity := range list {
		counts[string(resource)] = quantity.Value()
	}
	return counts
}

func devices(k *kubelet, _ []string) (any, error) {
	manager, err := k.running()
	if err != nil {
		return nil, err
	}
	return manager.Devices(), nil
}

func restart(k *kubelet, _ []string) (any, error) {
	if err := k.stop(); err != nil {
		return nil, err
	}
	return nil, k.start()
}

func quit(k *kubelet, _ []string) (any, error) {
	if err := k.stop(); err != nil && !errors.Is(err, errStopped) {
		return nil, err
	}
	return nil, nil
}

// parsePod reads RESOURCE N [RESOURCE N ...] POD.
func parsePod(command string, words []string) (*v1.Pod, error) {
	usage := fmt.Errorf("usage: %s RESOURCE N [RESOURCE N ...] POD", command)
	if len(words) < 3 || len(words)%2 == 0 {
		return nil, usage
	}
	name, pairs := words[len(words)-1], words[:len(words)-1]
	wants := map[string]int64{}
	for i := 0; i < len(pairs); i += 2 {
		count, err := strconv.ParseInt(pairs[i+1], 10, 32)
		if err != nil || count < 1 {
			return nil, usage
		}
		wants[pairs[i]] = count
	}
	return newPod(name, wants), nil
}
