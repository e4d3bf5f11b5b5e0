/** `orrery completion SHELL`: a shell's completion script, made from the tables of commands and settings. */

import { type Setting, settingsOf } from "../settings/settings.ts";
import type { CommandIo, CommandRow, Program } from "./command.ts";
import { type Options, positionalsOf, UsageError } from "./options.ts";

/** Puts a text between single quotes, for every shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Escapes a text for zsh's `_arguments` and `_describe`, where brackets and colons have a meaning. */
function plain(text: string): string {
  return text.replaceAll(/[[\]:\\]/g, "\\$&");
}

/** The completion of a flag's value in each shell. */
function valueTextOf({ kind, choices, value }: Setting): Record<"bash" | "zsh" | "fish", string> {
  // The value is optional, so the next word is offered as well.
  if (kind === "flag") return { bash: "values='on off'", zsh: "::value:(on off)", fish: " -a 'on off'" };
  if (choices !== undefined) {
    const list = quote(choices.join(" "));
    const zsh = `:value:(${choices.map(plain).join(" ")})`;
    return { bash: `reply=${quote(`-W ${list}`)}`, zsh, fish: ` -x -a ${list}` };
  }
  if (value === "FILE") return { bash: "reply='-f'", zsh: ":file:_files", fish: " -r -F" };
  if (value?.startsWith("DIR")) {
    return { bash: "reply='-d'", zsh: ":folder:_files -/", fish: " -x -a '(__fish_complete_directories)'" };
  }
  return { bash: `reply=${quote("-W ''")}`, zsh: ":value: ", fish: " -x" };
}

function rowOf(row: CommandRow, settings: readonly Setting[]) {
  const { name, summary } = row;
  const positionals = positionalsOf(row);
  const flags = settingsOf(settings, name).map((setting) => ({ ...setting, value: valueTextOf(setting) }));
  return {
    name,
    summary,
    // Words that it takes besides its flags, if they are known.
    words: positionals.includes("SHELL") ? Object.keys(SHELLS) : [],
    takesFolder: positionals.some((word) => word !== "ID" && word !== "SHELL"),
    flags: [...flags, { flag: "help", meaning: "Show the options of the command.", value: undefined }],
  };
}

type Row = ReturnType<typeof rowOf>;
type Grammar = ReturnType<typeof grammarOf>;

function grammarOf(rows: readonly Row[]) {
  // First words, each with its summary; second words by the first, if any.
  const first = new Map<string, string>();
  const second = new Map<string, string[]>();
  for (const { name, summary } of rows) {
    const [word = "", verb] = name.split(" ");
    if (verb !== undefined) second.set(word, [...(second.get(word) ?? []), verb]);
    first.set(word, second.get(word)?.join(", ") ?? summary);
  }
  return { rows, first, second };
}

function bash({ rows, first, second }: Grammar): string {
  const families = [...second].map(
    ([family, verbs]) => `    ${family}) [[ $COMP_CWORD -eq 2 ]] && words=${quote(verbs.join(" "))} ;;`,
  );
  const commands = rows.map(({ name, flags, takesFolder, words }) => {
    const list = [...words, ...flags.map(({ flag }) => `--${flag}`)].join(" ");
    return `    ${quote(name)}) words=${quote(list)}; folders=${takesFolder ? 1 : 0} ;;`;
  });
  const values = rows.flatMap(({ name, flags }) =>
    flags.flatMap(({ flag, value }) =>
      value === undefined ? [] : [`    ${quote(`${name} --${flag}`)}) ${value.bash} ;;`],
    ),
  );
  return `# bash completion for orrery: source this file, or put it into the folder of your completions.
# What compgen offers is a line each: names of files have spaces. The bash of macOS has no mapfile.
_orrery_offer() {
  local offer
  while IFS= read -r offer; do COMPREPLY+=("\${offer#"$part"}"); done < <(compgen "$@" -- "$current")
}
_orrery() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]}
  local words='' folders=0 reply='' values='' whole='' at=$COMP_CWORD part=''
  # bash takes words apart at colons and at =. What stands before the last colon must not be replied again.
  while [[ $at -gt 1 && ( $current == :* || \${COMP_WORDS[at-1]} == *: ) ]]; do
    at=$((at - 1)); current=\${COMP_WORDS[at]}$current
  done
  previous=\${COMP_WORDS[at-1]}
  # Words come as they were typed, with quotes; what is offered gets them from bash.
  case $current in
    "'"*) current=\${current:1} ;;
    '"'*) current=\${current:1}; current=\${current//\\\\/} ;;
    *) current=\${current//\\\\/} ;;
  esac
  if [[ $current == *:* ]]; then part=\${current%:*}:; fi
  if [[ $current == = ]]; then current=''; whole==; fi
  if [[ $previous == = ]]; then previous=\${COMP_WORDS[at-2]}; whole==; fi
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    _orrery_offer -W ${quote([...first.keys(), "--help", "--version"].join(" "))}
    return
  fi
  case $command in
${families.join("\n")}
  esac
  case $command in
    ${[...second.keys()].join("|")}) command="$command \${COMP_WORDS[2]}" ;;
  esac
  case "$command $previous" in
${values.join("\n")}
  esac
  if [[ -n $reply ]]; then
    eval "_orrery_offer $reply"
    return
  fi
  if [[ -n $whole ]]; then
    _orrery_offer -W "$values"
    return
  fi
  case $command in
${commands.join("\n")}
  esac
  _orrery_offer -W "$values $words"
  if [[ $folders -eq 1 && $current != -* ]]; then _orrery_offer -d; fi
}
complete -o filenames -F _orrery orrery
`;
}

function zsh({ rows, first, second }: Grammar): string {
  const commands = rows.map(({ name, flags, takesFolder, words }) => {
    const specs = flags.map(({ flag, meaning, value }) => {
      const about = `[${plain(meaning)}]`;
      return quote(value === undefined ? `--${flag}${about}` : `*--${flag}=${about}${value.zsh}`);
    });
    const word = words.length > 0 ? ` ${quote(`:word:(${words.join(" ")})`)}` : "";
    const rest = takesFolder ? ` ${quote("*:folder:_files -/")}` : word;
    return `    ${quote(name)}) _arguments ${specs.join(" ")}${rest} ;;`;
  });
  const described = Array.from(first, ([word, summary]) => quote(`${word}:${plain(summary)}`));
  const families = [...second].map(
    ([family, verbs]) =>
      `    ${family}) if (( CURRENT == 3 )); then compadd ${verbs.join(" ")}; return; fi; command="$command $words[3]"; shift words; (( CURRENT-- )) ;;`,
  );
  return `#compdef orrery
# zsh completion for orrery: put it as _orrery into a folder of your fpath.
_orrery() {
  local command=$words[2]
  if (( CURRENT == 2 )); then
    local -a commands=(${described.join(" ")})
    _describe command commands
    return
  fi
  case $command in
${families.join("\n")}
  esac
  shift words; (( CURRENT-- ))
  case $command in
${commands.join("\n")}
  esac
}
if [[ $funcstack[1] == _orrery ]]; then _orrery "$@"; else compdef _orrery orrery; fi
`;
}

function fish({ rows, first, second }: Grammar): string {
  const lines = ["# fish completion for orrery: put it as orrery.fish into the folder of your completions."];
  const line = (condition: string, rest: string): void => {
    lines.push(`complete -c orrery -n ${quote(condition)} ${rest}`);
  };
  lines.push("complete -c orrery -f");
  for (const [word, summary] of first) line("__fish_use_subcommand", `-a ${word} -d ${quote(summary)}`);
  for (const [family, verbs] of second) {
    const none = `__fish_seen_subcommand_from ${family}; and not __fish_seen_subcommand_from ${verbs.join(" ")}`;
    for (const verb of verbs) {
      const { summary } = rows.find(({ name }) => name === `${family} ${verb}`)!;
      line(none, `-a ${verb} -d ${quote(summary)}`);
    }
  }
  for (const { name, flags, takesFolder, words } of rows) {
    const seen = name
      .split(" ")
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join("; and ");
    if (takesFolder) line(seen, "-a '(__fish_complete_directories)'");
    if (words.length > 0) line(seen, `-a ${quote(words.join(" "))}`);
    for (const { flag, meaning, value } of flags) {
      line(seen, `-l ${flag}${value?.fish ?? ""} -d ${quote(meaning)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

const SHELLS: Readonly<Record<string, (grammar: Grammar) => string>> = { bash, zsh, fish };

export async function completion(
  options: Options<"completion">,
  io: CommandIo,
  { commands, settings }: Program,
): Promise<void> {
  const shell = options.positionals[0]!;
  const make = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
  if (make === undefined) throw new UsageError(`SHELL: must be one of ${Object.keys(SHELLS).join(", ")}`);
  io.print(make(grammarOf(commands.map((row) => rowOf(row, settings)))));
}
