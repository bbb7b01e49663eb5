# bash completion for plughost. Commands, options and their values are what `--help` of this binary says.

# _plughost_help COMMAND…: the help's lines of commands and options, a word of each.
_plughost_help() {
  "$@" --help 2>/dev/null
}

# _plughost_names PROGRAM [NAME]: the running daemon's resources, or NAME=ID of each device of one.
_plughost_names() {
  local i
  local -a control=()
  for ((i = 1; i < ${#words[@]} - 1; i++)); do
    [[ ${words[i]} == --control ]] && control=(--control "${words[i + 1]}")
  done
  timeout 2 "$1" status "${@:2}" "${control[@]}" -o name 2>/dev/null
}

# _plughost_offer PROGRAM [NAME]: those that fit. An id may be the serial number of whatever was plugged in: compgen -W would run
# what is in it, and the command line gets it quoted. bash breaks a word at each '=' and ':', and replaces what is after them.
_plughost_offer() {
  local name before=${cur%"${cur##*[=:]}"}
  while IFS= read -r name; do
    [[ $name == "$cur"* ]] || continue
    printf -v name %q "${name#"$before"}"
    COMPREPLY+=("$name")
  done < <(_plughost_names "$@")
}

_plughost() {
  local cur prev words cword
  _init_completion -n =: || return
  local program=${words[0]} command=
  [[ $cword -gt 1 ]] && command=${words[1]}

  # plughost run --log-level <here>: the help has TEXT:{debug,info,warn,error}
  if [[ $prev == -* ]]; then
    local option
    option=$(_plughost_help "$program" $command | grep -E "^  ([^ ]+,)?$prev(,| )")
    case $option in
      *'{'*'}'*)
        option=${option#*\{}
        option=${option%%\}*}
        mapfile -t COMPREPLY < <(compgen -W "${option//,/ }" -- "$cur")
        return
        ;;
      *'--resource NAME'* | *'--explain NAME'*) _plughost_offer "$program"; return ;;
      *' DIR'*) _filedir -d; return ;;
      *' TEXT'* | *' FILE'*) _filedir; return ;;
    esac
  fi

  if [[ $cur == -* ]]; then
    # A line has every spelling of an option: -o,--output or --try,--confirm.
    mapfile -t COMPREPLY < <(compgen -W "$(_plughost_help "$program" $command | sed -n 's/^  \(-[^ ]*\).*/\1/p' | tr , ' ')" -- "$cur")
  elif [[ -z $command ]]; then
    local commands
    commands=$(_plughost_help "$program" | sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p')
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur")
  elif [[ $command == preset && $cword -gt 2 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$("$program" preset list -o name 2>/dev/null)" -- "$cur")
  elif [[ $command == help ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_plughost_help "$program" | sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p')" -- "$cur")
  elif [[ $command == status ]]; then
    _plughost_offer "$program"
  elif [[ $command == @(drain|undrain|simulate) ]]; then
    # A whole resource, or after '=' one of its devices.
    if [[ $cur == *=* ]]; then
      _plughost_offer "$program" "${cur%%=*}"
    else
      _plughost_offer "$program"
      compopt -o nospace 2>/dev/null
    fi
  else
    # A first word of which there is a choice: the help has {list,show,enable,disable}.
    local choice=
    [[ $cword -eq 2 ]] &&
      choice=$(_plughost_help "$program" "$command" | sed -n '/^Positionals:/,/^Options:/s/^  [a-z]* [^ ]*{\([a-z,]*\)}.*/\1/p')
    if [[ -n $choice ]]; then
      mapfile -t COMPREPLY < <(compgen -W "${choice//,/ }" -- "$cur")
    else
      _filedir
    fi
  fi
} && complete -F _plughost plughost
