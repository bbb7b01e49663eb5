package main

import (
	"errors"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
)

var errStopped = errors.New("the kubelet is stopped")

// kubelet is a succession of device managers in one directory, and the pods that outlive them.
// Thread-safe, but for start and stop, which the reader of commands calls.
type kubelet struct {
	socket         string
	registry       string // the directory of plugins_registry; empty: none
	podResources   string // its socket; empty: none
	podsAPI        string // its socket, from 1.37 on; empty: none
	nodes          []int  // of NUMA
	topologyPolicy string
	topologyScope  string
	out            *output

	mutex   sync.Mutex
	number  int
	manager *devicemanager.ObservedManager // nil while stopped
	leave   chan struct{}                  // closed when the manager's watch of the registry is to end
	servers []*grpc.Server                 // of its pod resources and its pods
	pods    podSet
}

// start makes a new manager, as a kubelet's process does when it starts.
func (k *kubelet) start() error {
	if _, err := k.running(); err == nil {
		return errors.New("the kubelet runs already")
	}
	k.mutex.Lock()
	k.number++
	observer := incarnation{k.out, k.number}
	k.mutex.Unlock()
	manager, err := devicemanager.NewObservedManager(k.socket, k.nodes, k.topologyPolicy, k.topologyScope, observer)
	if err != nil {
		return err
	}
	// A kubelet serves them before its device manager listens.
	var servers []*grpc.Server
	if k.podResources != "" {
		// Below the kubelet's root, as its pod resources are.
		k.pods.directory = filepath.Join(filepath.Dir(filepath.Dir(k.podResources)), "pods")
		if err := os.MkdirAll(k.pods.directory, 0o750); err != nil {
			return err
		}
		lister, err := servePodResources(k.podResources, manager, &k.pods)
		if err != nil {
			return err
		}
		servers = append(servers, lister)
	}
	if k.podsAPI != "" && servesPodsAPI {
		pods := grpc.NewServer() // without a service: it only tells which kubelet this is
		if err := serveOn(k.podsAPI, pods); err != nil {
			return err
		}
		servers = append(servers, pods)
	}
	if err := manager.Listen(k.pods.list); err != nil {
		return err
	}
	// A kubelet learns of its pods from the API server. Here the checkpoint must tell: pods that
	// nobody names are free to take from.
	for pod, containers := range manager.Allocations() {
		k.pods.addAllocated(pod, containers[containerName])
	}
	leave := make(chan struct{})
	k.mutex.Lock()
	k.manager = manager
	k.leave = leave
	k.servers = servers
	k.mutex.Unlock()
	observer.started(k.socket)
	if k.registry != "" {
		go manager.WatchRegistry(k.registry, leave)
	}
	return nil
}

// stop ends the manager's streams and unlinks its socket. A call that hangs in a plugin fails.
func (k *kubelet) stop() error {
	manager, err := k.running()
	if err != nil {
		return err
	}
	k.mutex.Lock()
	k.manager = nil
	close(k.leave)
	servers := k.servers
	observer := incarnation{k.out, k.number}
	k.mutex.Unlock()
	observer.stopping()
	for _, server := range servers {
		server.Stop()
	}
	if err := manager.Close(); err != nil {
		return err
	}
	observer.stopped()
	return nil
}

func (k *kubelet) running() (*devicemanager.ObservedManager, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.manager == nil {
		return nil, errStopped
	}
	return k.manager, nil
}

// podSet is the pods that are admitted and not yet gone. Each has a directory, as a kubelet's pods have.
// Thread-safe.
type podSet struct {
	directory string // empty: the pods have none

	mutex sync.Mutex
	pods  map[string]*v1.Pod
}

func (s *podSet) list() []*v1.Pod {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	pods := make([]*v1.Pod, 0, len(s.pods))
	for _, pod := range s.pods {
		pods = append(pods, pod)
	}
	return pods
}

func (s *podSet) find(name string) (*v1.Pod, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	pod, found := s.pods[name]
	return pod, found
}

func (s *podSet) add(pod *v1.Pod) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.pods == nil {
		s.pods = map[string]*v1.Pod{}
	}
	s.pods[pod.Name] = pod
	if s.directory != "" {
		if err := os.MkdirAll(filepath.Join(s.directory, string(pod.UID)), 0o750); err != nil {
			fail(err)
		}
	}
}

func (s *podSet) remove(name string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if pod, found := s.pods[name]; found && s.directory != "" {
		if err := os.RemoveAll(filepath.Join(s.directory, string(pod.UID))); err != nil {
			fail(err)
		}
	}
	delete(s.pods, name)
}

// addAllocated makes a pod that asks for what it was given, unless there is one of that name.
func (s *podSet) addAllocated(name string, allocations map[string]devicemanager.Allocation) {
	if _, found := s.find(name); found {
		return
	}
	wants := map[string]int64{}
	for resource, allocation := range allocations {
		wants[resource] = int64(len(allocation.IDs))
	}
	s.add(newPod(name, wants))
}
