#pragma once
// Default paths.

namespace plughost {

inline constexpr const char* kConfigFile = "/etc/plughost/config.yaml";
inline constexpr const char* kPresetDirectory = "/usr/share/plughost/plugins.d";
inline constexpr const char* kControlSocket = "/run/plughost/control.sock";
inline constexpr const char* kStateDirectory = "/var/lib/plughost";
inline constexpr const char* kKubeletDirectory = "/var/lib/kubelet/device-plugins";
inline constexpr const char* kKubeletCheckpoint =
    "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";

}  // namespace plughost
