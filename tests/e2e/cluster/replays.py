"""The lists of what is replayed with real pods.

Each is a function of the cluster: its text says what is shown, its result gives figures. It fails by an
exception; facts.NotShown says that this machine lacks something.
"""

from assumed import (assumed_api_away, assumed_restarts, crowded, demo, env_and_patches, equal_pods, equal_pods_all,
                     failed_marks, guess_killed, late_annotation, never_taken, node_resources, only_card, several_containers, sick_card,
                     unequal_cards, without_isolation)
from changes import drained_device, kubelet_restart, plughost_restart, reload, trial, unhealthy_device
from chart import chart_dry_run, chart_upgrade
from containers import annotation, cdi, device_node, mount
from daemonset import configmap_edit
from dra import dra_admin, dra_beside, dra_claim, dra_extended, dra_memory, dra_parts, dra_replicas, dra_shared, dra_template
from dra_account import dra_account
from dra_asked import dra_asked, dra_given_back, dra_health_streams, dra_leftovers
from dra_faults import dra_faults, dra_faults_long
from dra_health import dra_device_missing, dra_device_waits, dra_drained, dra_evict, dra_unhealthy
from dra_moves import dra_move, dra_reboot
from dra_net import dra_net
from dra_slices import (dra_api_away, dra_api_away_long, dra_claim_waits, dra_credentials, dra_gates_off, dra_growth, dra_history,
                        dra_hotplug, dra_kubelet_restart, dra_node_remade, dra_plughost_killed, dra_registration, dra_sandbox,
                        dra_slice_deleted, dra_stopped, dra_tampered, dra_thousand)
from scheduling import checkpoint, gopher, simulated_gpus, two_resources
from with_api import (api_server_away, api_server_away_long, certificate_rotation, device_events, forgotten_history,
                      kubelet_identity, node_label, rights)

ALL = [
    gopher, simulated_gpus, two_resources, checkpoint,
    device_node, mount, annotation, cdi,
    kubelet_restart, plughost_restart, unhealthy_device, drained_device, reload, trial, configmap_edit,
    chart_dry_run, chart_upgrade,
    kubelet_identity, node_label, device_events, rights, api_server_away, forgotten_history, certificate_rotation,
    env_and_patches, demo, equal_pods, several_containers, late_annotation, never_taken, assumed_api_away, failed_marks,
    assumed_restarts, guess_killed, unequal_cards, sick_card, node_resources, only_card, without_isolation,
]

# Dynamic Resource Allocation: `./run --dra`, and docs/conformance.md says which of its lines each shows.
DRA = [
    dra_registration, dra_claim, dra_template, dra_shared, dra_admin, dra_replicas, dra_memory, dra_parts, dra_extended, dra_beside,
    dra_kubelet_restart, dra_plughost_killed, dra_slice_deleted, dra_hotplug, dra_growth, dra_thousand,
    dra_api_away, dra_sandbox, dra_claim_waits, dra_credentials, dra_account, dra_history, dra_gates_off, dra_node_remade,
    dra_asked, dra_given_back,
    dra_unhealthy, dra_health_streams, dra_drained, dra_evict, dra_device_waits, dra_reboot, dra_move, dra_net, dra_faults,
]

# They take minutes: `./run --slow`.
SLOW = [api_server_away_long, equal_pods_all, crowded]

SLOW_DRA = [dra_stopped, dra_tampered, dra_device_missing, dra_leftovers, dra_api_away_long, dra_faults_long]
