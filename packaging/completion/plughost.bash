# bash completion for plughost. Commands, options and their values are what `--help` of this binary says.

# _plughost_help COMMAND…: the help's lines of commands and options, a word of each.
_plughost_help() {
  "$@" --help 2>/dev/null
}

_plughost() {
  local cur prev words cword
  _init_completion -n = || return
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
      *' DIR'*) _filedir -d; return ;;
      *' TEXT'* | *' FILE'*) _filedir; return ;;
    esac
  fi

  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_parse_help - < <(_plughost_help "$program" $command))" -- "$cur")
  elif [[ -z $command ]]; then
    local commands
    commands=$(_plughost_help "$program" | sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p')
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur")
  elif [[ $command == preset && $cword -gt 2 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$("$program" preset list 2>/dev/null | sed '1d;s/ .*//')" -- "$cur")
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
