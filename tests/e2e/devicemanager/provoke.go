package main

import (
	"errors"
	"strconv"
	"strings"

	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
)

// onResource makes a command of what a manager does to one resource.
func onResource(do func(*devicemanager.ObservedManager, string) error) func(*kubelet, []string) (any, error) {
	return func(k *kubelet, words []string) (any, error) {
		if len(words) != 1 {
			return nil, errors.New("exactly one RESOURCE is needed")
		}
		manager, err := k.running()
		if err != nil {
			return nil, err
		}
		return nil, do(manager, words[0])
	}
}

func quietly(do func(*devicemanager.ObservedManager, string)) func(*devicemanager.ObservedManager, string) error {
	return func(manager *devicemanager.ObservedManager, resource string) error {
		do(manager, resource)
		return nil
	}
}

// call asks a resource's plugin through the manager's own client, for no pod and with any ids.
func call(k *kubelet, words []string) (any, error) {
	usage := errors.New("usage: call RESOURCE allocate|prestart ID ..., or call RESOURCE prefer SIZE AVAILABLE MUST, ids with commas or -")
	if len(words) < 2 {
		return nil, usage
	}
	manager, err := k.running()
	if err != nil {
		return nil, err
	}
	resource, ids := words[0], words[2:]
	switch words[1] {
	case "allocate":
		return manager.AskAllocate(resource, ids)
	case "prestart":
		return manager.AskPreStart(resource, ids)
	case "prefer":
		if len(ids) != 3 {
			return nil, usage
		}
		size, err := strconv.ParseInt(ids[0], 10, 32)
		if err != nil {
			return nil, usage
		}
		return manager.AskPreferred(resource, listOf(ids[1]), listOf(ids[2]), int(size))
	}
	return nil, usage
}

func listOf(word string) []string {
	if word == "-" {
		return nil
	}
	return strings.Split(word, ",")
}
