/** Completion scripts for shells, generated from the command table. */
import { type Command, type Flag, globalFlags } from './command.js';

export const shells = ['bash', 'zsh', 'fish'] as const;

type Shell = (typeof shells)[number];

interface Level {
  /** First word of the commands, or the whole command when it has one word only. */
  readonly verb: string;
  readonly doc: string;
  readonly nouns: readonly Command[];
}

/**
 * Returns the script for a shell; `extra` are the commands that are not requests, such as `serve`. `program` is what
 * runs us: where the shell finds no `haumea`, as in a checkout, the name is made to stand for it.
 */
export function completionScript(
  shell: Shell,
  commands: readonly Command[],
  extra: readonly Command[],
  program: string,
): string {
  const levels = levelsOf([...extra, ...commands]);
  const meaning = quoted(`node ${quoted(program)}`);
  if (shell === 'fish') return `type -q haumea; or alias haumea ${meaning}\n${fish(levels)}`;
  // A function: scripts of bash don't look at an alias.
  const name = `type haumea >/dev/null 2>&1 || haumea() { node ${shellQuoted(program)} "$@"; }`;
  const body = `${name}\n${bash(levels)}`;
  // zsh runs completion functions of bash.
  return shell === 'zsh' ? `#compdef haumea\nautoload -U +X bashcompinit && bashcompinit\n${body}` : body;
}

function levelsOf(commands: readonly Command[]): Level[] {
  const verbs = [...new Set(commands.map(({ path }) => path.split(' ', 1)[0] as string))];
  return verbs.map((verb) => {
    const nouns = commands.filter(({ path }) => path === verb || path.startsWith(`${verb} `));
    return {
      verb,
      nouns,
      doc: nouns.length === 1 ? (nouns[0] as Command).doc : `${verb} ${nouns.map(nounOf).join(', ')}`,
    };
  });
}

function nounOf({ path }: Command): string {
  return path.split(' ')[1] ?? '';
}

function spelled(flag: Flag): string {
  const { short } = flag;
  return short === undefined ? `--${flag.name}` : `-${short} --${flag.name}`;
}

function bash(levels: readonly Level[]): string {
  const globals = globalFlags.map(spelled).join(' ');
  const nouns = levels
    .filter(({ nouns }) => nouns.some(nounOf))
    .map(({ verb, nouns }) => `    ${verb}) words="${nouns.map(nounOf).join(' ')}" ;;`);
  const rest = levels.flatMap(({ nouns }) =>
    nouns.flatMap((command) => {
      const values = command.args?.flatMap(({ values = [] }) => values) ?? [];
      const words = [...values, ...(command.flags ?? []).map(spelled)];
      return words.length === 0 ? [] : [`    "${command.path}"*) words="${words.join(' ')} ${globals}" ;;`];
    }),
  );
  return `_haumea() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words="${globals}"
  local line="\${COMP_WORDS[*]:1:COMP_CWORD-1}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${levels.map(({ verb }) => verb).join(' ')}"
  elif [ "$COMP_CWORD" -eq 2 ]; then
    case "\${COMP_WORDS[1]}" in
${nouns.join('\n')}
    esac
  else
    case "$line" in
${rest.join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _haumea haumea
`;
}

function fish(levels: readonly Level[]): string {
  const lines = [
    'complete -c haumea -f',
    ...levels.flatMap((level) => [
      `complete -c haumea -n __fish_use_subcommand -a ${level.verb} -d ${quoted(level.doc)}`,
      ...level.nouns.flatMap((command) => fishCommand(level, command)),
    ]),
    ...globalFlags.map((flag) => fishFlag('', flag, flag.value === undefined ? '' : ' -r')),
  ];
  return `${lines.join('\n')}\n`;
}

/** The noun, the values of the arguments and the flags of a command. */
function fishCommand({ verb, nouns }: Level, command: Command): string[] {
  const noun = nounOf(command);
  const seen = `__fish_seen_subcommand_from ${verb}`;
  const unseen = `${seen}; and not __fish_seen_subcommand_from ${nouns.map(nounOf).join(' ')}`;
  const here = ` -n ${quoted(noun === '' ? seen : `${seen}; and __fish_seen_subcommand_from ${noun}`)}`;
  const values = command.args?.flatMap((arg) => arg.values ?? []) ?? [];
  return [
    ...(noun === '' ? [] : [`complete -c haumea -n ${quoted(unseen)} -a ${noun} -d ${quoted(command.doc)}`]),
    ...(values.length === 0 ? [] : [`complete -c haumea${here} -a ${quoted(values.join(' '))}`]),
    ...(command.flags ?? []).map((flag) => fishFlag(here, flag, flag.value === undefined ? '' : ' -r -F')),
  ];
}

function fishFlag(where: string, { name, short, doc }: Flag, needs: string): string {
  const one = short === undefined ? '' : short.length === 1 ? ` -s ${short}` : ` -o ${short}`;
  return `complete -c haumea${where} -l ${name}${one}${needs} -d ${quoted(doc)}`;
}

function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`;
}

/** For bash and zsh, which know no escapes between single quotes. */
function shellQuoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
