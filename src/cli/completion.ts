/** `orrery completion SHELL`: what a shell needs to complete command lines, made from the tables of commands and settings. */

import { type Setting, settingsOf } from "../settings/settings.ts";
import type { CommandIo, CommandRow } from "./command.ts";
import { type Options, UsageError } from "./options.ts";

/** What may stand behind a flag: some words, on or off or nothing, a file, a folder, anything, or nothing at all. */
type Argument = readonly string[] | "switch" | "file" | "folder" | "any" | "none";

function argumentOf({ kind, choices, value }: Setting): Argument {
  if (kind === "flag") return "switch";
  if (choices !== undefined) return choices;
  if (value === "FILE") return "file";
  return value?.startsWith("DIR") ? "folder" : "any";
}

/** What is offered for a boolean. */
const SWITCH = ["on", "off"] as const;

/** One command with its flags. */
interface Row {
  readonly name: string;
  readonly summary: string;
  readonly takesFolder: boolean;
  /** Words that it takes beside its flags, where they are known. */
  readonly words: readonly string[];
  readonly flags: readonly { readonly flag: string; readonly meaning: string; readonly argument: Argument }[];
}

const HELP = { flag: "help", meaning: "Show the options of the command.", argument: "none" } as const;

function rowsOf(commands: readonly CommandRow[], settings: readonly Setting[]): Row[] {
  return commands.map(({ name, summary, positionals }) => ({
    name,
    summary,
    takesFolder: positionals.some((word) => word !== "ID" && word !== "SHELL"),
    words: positionals.includes("SHELL") ? Object.keys(SHELLS) : [],
    flags: [
      ...settingsOf(settings, name).map((setting) => ({
        flag: setting.flag,
        meaning: setting.meaning,
        argument: argumentOf(setting),
      })),
      HELP,
    ],
  }));
}

/** First words of all commands, and the second words of those that have two. */
function words(all: readonly Row[]): { first: string[]; second: Map<string, string[]> } {
  const second = new Map<string, string[]>();
  for (const { name } of all) {
    const [family, verb] = name.split(" ");
    if (verb !== undefined) second.set(family!, [...(second.get(family!) ?? []), verb]);
  }
  return { first: [...new Set(all.map(({ name }) => name.split(" ")[0]!))], second };
}

/** A text between single quotes, for every shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Sets what bash's function replies with behind a flag. */
function valuesInBash(argument: Exclude<Argument, "none">): string {
  if (argument === "file") return "reply='-f'";
  if (argument === "folder") return "reply='-d'";
  if (argument === "any") return `reply=${quote("-W ''")}`;
  // A boolean's value may be left out, so what comes next is offered as well.
  if (argument === "switch") return `values=${quote(SWITCH.join(" "))}`;
  return `reply=${quote(`-W ${quote(argument.join(" "))}`)}`;
}

function bash(all: readonly Row[]): string {
  const { first, second } = words(all);
  const families = [...second].map(
    ([family, verbs]) => `    ${family}) [[ $COMP_CWORD -eq 2 ]] && words=${quote(verbs.join(" "))} ;;`,
  );
  const commands = all.map(({ name, flags, takesFolder, words }) => {
    const list = [...words, ...flags.map(({ flag }) => `--${flag}`)].join(" ");
    return `    ${quote(name)}) words=${quote(list)}; folders=${takesFolder ? 1 : 0} ;;`;
  });
  const values = all.flatMap(({ name, flags }) =>
    flags.flatMap(({ flag, argument }) =>
      argument === "none" ? [] : [`    ${quote(`${name} --${flag}`)}) ${valuesInBash(argument)} ;;`],
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
    _orrery_offer -W ${quote([...first, "--help", "--version"].join(" "))}
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

function zsh(all: readonly Row[]): string {
  const { first, second } = words(all);
  /** A text inside `_arguments` and `_describe`, where brackets and colons have a meaning. */
  const plain = (text: string): string => text.replaceAll(/[[\]:\\]/g, "\\$&");
  const action = (argument: Argument): string => {
    if (argument === "file") return ":file:_files";
    if (argument === "folder") return ":folder:_files -/";
    if (argument === "any") return ":value: ";
    // Two colons: it may be left out.
    if (argument === "switch") return `::value:(${SWITCH.join(" ")})`;
    return `:value:(${(argument as string[]).map(plain).join(" ")})`;
  };
  const commands = all.map(({ name, flags, takesFolder, words }) => {
    const specs = flags.map(({ flag, meaning, argument }) =>
      quote(
        argument === "none"
          ? `--${flag}[${plain(meaning)}]`
          : `*--${flag}=[${plain(meaning)}]${action(argument)}`,
      ),
    );
    const word = words.length > 0 ? ` ${quote(`:word:(${words.join(" ")})`)}` : "";
    const rest = takesFolder ? ` ${quote("*:folder:_files -/")}` : word;
    return `    ${quote(name)}) _arguments ${specs.join(" ")}${rest} ;;`;
  });
  const summaryOf = (word: string): string =>
    all.find(({ name }) => name === word)?.summary ?? `${second.get(word)?.join(", ")}`;
  const described = first.map((word) => quote(`${word}:${plain(summaryOf(word))}`));
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

function fish(all: readonly Row[]): string {
  const { first, second } = words(all);
  const lines = ["# fish completion for orrery: put it as orrery.fish into the folder of your completions."];
  const line = (condition: string, rest: string): void => {
    lines.push(`complete -c orrery -n ${quote(condition)} ${rest}`);
  };
  lines.push("complete -c orrery -f");
  for (const word of first) {
    const summary = all.find(({ name }) => name === word)?.summary ?? second.get(word)!.join(", ");
    line("__fish_use_subcommand", `-a ${word} -d ${quote(summary)}`);
  }
  for (const [family, verbs] of second) {
    const none = `__fish_seen_subcommand_from ${family}; and not __fish_seen_subcommand_from ${verbs.join(" ")}`;
    for (const verb of verbs) {
      const { summary } = all.find(({ name }) => name === `${family} ${verb}`)!;
      line(none, `-a ${verb} -d ${quote(summary)}`);
    }
  }
  for (const { name, flags, takesFolder, words } of all) {
    const seen = name
      .split(" ")
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join("; and ");
    if (takesFolder) line(seen, "-a '(__fish_complete_directories)'");
    if (words.length > 0) line(seen, `-a ${quote(words.join(" "))}`);
    for (const { flag, meaning, argument } of flags) {
      const value =
        argument === "none"
          ? ""
          : argument === "file"
            ? " -r -F"
            : argument === "folder"
              ? " -x -a '(__fish_complete_directories)'"
              : argument === "any"
                ? " -x"
                : argument === "switch"
                  ? ` -a ${quote(SWITCH.join(" "))}`
                  : ` -x -a ${quote((argument as string[]).join(" "))}`;
      line(seen, `-l ${flag}${value} -d ${quote(meaning)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

const SHELLS: Readonly<Record<string, (all: readonly Row[]) => string>> = { bash, zsh, fish };

/** Runs the command. */
export async function completion(
  options: Options<"completion">,
  io: CommandIo,
  commands: readonly CommandRow[],
  settings: readonly Setting[],
): Promise<void> {
  const shell = options.positionals[0]!;
  const make = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
  if (make === undefined) throw new UsageError(`SHELL: must be one of ${Object.keys(SHELLS).join(", ")}`);
  io.print(make(rowsOf(commands, settings)));
}
