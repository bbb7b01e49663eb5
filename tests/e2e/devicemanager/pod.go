package main

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const containerName = "main"

// newPod gives a pod of one container that wants so many devices of each resource. Its UID is its name.
func newPod(name string, wants map[string]int64) *v1.Pod {
	devices := v1.ResourceList{}
	for wanted, count := range wants {
		devices[v1.ResourceName(wanted)] = *resource.NewQuantity(count, resource.DecimalSI)
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name:      containerName,
			Resources: v1.ResourceRequirements{Limits: devices, Requests: devices},
		}}},
	}
}

// leaveToDRA writes into the pod's status that DRA gives it what it wants. It uses JSON, because Kubernetes to 1.33 has no such type.
func leaveToDRA(pod *v1.Pod) error {
	mappings := []map[string]string{}
	for wanted := range pod.Spec.Containers[0].Resources.Limits {
		mappings = append(mappings, map[string]string{"containerName": containerName, "resourceName": string(wanted), "requestName": "devices"})
	}
	status, err := json.Marshal(map[string]any{
		"extendedResourceClaimStatus": map[string]any{"resourceClaimName": pod.Name, "requestMappings": mappings},
	})
	if err != nil {
		return err
	}
	return json.Unmarshal(status, &pod.Status)
}
