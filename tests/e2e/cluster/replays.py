"""The lists of what is replayed with real pods.

Each is a function of the cluster: its text says what is shown, its result gives figures. It fails by an
exception; facts.NotShown says that this machine lacks something.
"""

from access import device_ownership, not_root, user_namespaces
from assumed import (assumed_api_away, assumed_restarts, crowded, demo, env_and_patches, equal_pods, equal_pods_all, failed_marks,
                     guess_killed, late_annotation, never_taken, only_card, several_containers, sick_card, told_by_kubelet, unequal_cards,
                     without_isolation)
from boot import boots, boots_all
from changes import drained_device, init_containers, kubelet_restart, plughost_restart, reload, trial, unhealthy_device
from chart import chart_dry_run, chart_upgrade
from containers import annotation, cdi, cdi_entries, device_node, mount
from daemonset import configmap_edit, rolling_update
from recipes import recipes
from scheduling import checkpoint, gopher, simulated_gpus, two_resources
from with_api import (api_server_away, api_server_away_long, certificate_rotation, device_events, forgotten_history, kubelet_identity,
                      node_label, node_resources, node_resources_kubelet, rights)

ALL = [
    gopher, simulated_gpus, two_resources, checkpoint,
    device_node, mount, annotation, cdi, cdi_entries, recipes,
    not_root, device_ownership, user_namespaces,
    kubelet_restart, init_containers, plughost_restart, boots, unhealthy_device, drained_device, reload, trial, configmap_edit, rolling_update,
    chart_dry_run, chart_upgrade,
    kubelet_identity, node_resources, node_resources_kubelet, node_label, device_events, rights, api_server_away, forgotten_history, certificate_rotation,
    env_and_patches, demo, equal_pods, told_by_kubelet, several_containers, late_annotation, never_taken, assumed_api_away, failed_marks,
    assumed_restarts, guess_killed, without_isolation, unequal_cards, sick_card, only_card,
]

# They take minutes: `./run --slow`.
SLOW = [boots_all, api_server_away_long, equal_pods_all, crowded]
