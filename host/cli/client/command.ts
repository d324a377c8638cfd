/** The form of a command, and reading its arguments. The same declarations give help and completion. */
import { nearest } from '../../base/text/nearest.js';
import type { Io } from './io.js';
import type { Answer, RestClient } from './rest-client.js';

/** A mistake on the command line: exit code 2. */
export class UsageError extends Error {}

export interface Argument {
  readonly name: string;
  readonly isOptional?: boolean;
  /** Takes all words that are left, joined by blanks. */
  readonly isRest?: boolean;
  /** The only values allowed. */
  readonly values?: readonly string[];
}

export interface Flag {
  /** Long name; `short` is given with one dash. */
  readonly name: string;
  readonly short?: string;
  /** Name of the value in help; without it the flag is a switch. */
  readonly value?: string;
  readonly doc: string;
}

export interface Command {
  /** One or two words: `create stream`. */
  readonly path: string;
  readonly args?: readonly Argument[];
  readonly flags?: readonly Flag[];
  readonly doc: string;
  /** Does the work; returns the exit code, 0 when nothing is returned. */
  run(call: Call): Promise<number | undefined> | number | undefined;
}

/** Context and arguments of a command. */
export interface Call {
  readonly io: Io;
  readonly client: RestClient;
  readonly isJson: boolean;
  /** True when --timeout was not given, so that long work may take longer. */
  readonly hasOwnTimeout: boolean;
  /** Returns an argument; empty when it is missing. */
  arg(name: string): string;
  /** Returns the value of a flag, `true` for a switch. */
  flag(name: string): string | undefined;
  /** Prints an answer of the server: JSON as table, list or lines, text as it is. */
  print(answer: Answer): void;
}

export const globalFlags: readonly Flag[] = [
  { name: 'url', value: 'URL', doc: 'address of the server (HAUMEA_URL, etc/client.yaml, http://127.0.0.1:9081)' },
  { name: 'token', value: 'FILE', doc: 'file with the access token (HAUMEA_TOKEN holds the token itself)' },
  { name: 'timeout', value: 'SECONDS', doc: 'longest wait for an answer (default 30)' },
  { name: 'json', doc: 'print JSON' },
  { name: 'help', short: 'h', doc: 'show this help' },
];

export interface ParsedArgs {
  readonly args: ReadonlyMap<string, string>;
  readonly flags: ReadonlyMap<string, string>;
}

/** Finds the command that the first words name; the rest are its arguments. Flags may stand anywhere. */
export function findCommand(
  commands: readonly Command[],
  words: readonly string[],
): [Command, readonly string[]] | undefined {
  for (const length of [2, 1]) {
    const command = commands.find(({ path }) => path === words.slice(0, length).join(' '));
    if (command !== undefined) return [command, words.slice(length)];
  }
  return undefined;
}

/** Reads the words behind a command's name. */
export function parseArgs(command: Command, words: readonly string[]): ParsedArgs {
  const known = [...(command.flags ?? []), ...globalFlags];
  const flags = new Map<string, string>();
  const plain: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as string;
    // A lone dash stands for the standard streams, and a negative number is no flag.
    if (!/^--?[a-zA-Z]/.test(word)) {
      if (word === '--') plain.push(...words.slice(++i));
      else plain.push(word);
      if (word === '--') break;
      continue;
    }
    const [, given, inline] = /^--?([^=]+)(?:=(.*))?$/s.exec(word) as unknown as [string, string, string | undefined];
    const flag = known.find(({ name, short }) => given === name || given === short);
    if (flag === undefined) throw unknownFlag(word, given, known);
    if (flag.value === undefined) {
      // Older command lines write -s true.
      const next = words[i + 1];
      const value = inline ?? (flag.name !== 'json' && /^(true|false)$/.test(next ?? '') ? words[++i] : 'true');
      if (value !== 'true' && value !== 'false') throw new UsageError(`${word}: this flag takes no value`);
      flags.set(flag.name, value);
      continue;
    }
    const value = inline ?? words[++i];
    if (value === undefined) throw new UsageError(`${word} needs a value: ${flag.value}`);
    flags.set(flag.name, value);
  }
  return { args: flags.get('help') === 'true' ? new Map() : nameArgs(command, plain), flags };
}

function unknownFlag(word: string, given: string, known: readonly Flag[]): UsageError {
  const meant = nearest(
    given,
    known.map(({ name }) => name),
  );
  return new UsageError(`unknown flag ${word}${meant === undefined ? '' : `, did you mean --${meant}?`}`);
}

function nameArgs(command: Command, words: readonly string[]): Map<string, string> {
  const declared = command.args ?? [];
  const args = new Map<string, string>();
  for (const [i, { name, isOptional, isRest, values }] of declared.entries()) {
    const value = isRest ? words.slice(i).join(' ') : words[i];
    if (value === undefined || value === '') {
      if (!isOptional) throw new UsageError(`${name} is missing`);
      continue;
    }
    if (values !== undefined && !values.includes(value)) {
      throw new UsageError(`${name} must be one of ${values.join(', ')}, not ${value}`);
    }
    args.set(name, value);
  }
  const last = declared.at(-1);
  if (last?.isRest !== true && words.length > declared.length) {
    throw new UsageError(`unexpected argument ${words[declared.length]}`);
  }
  return args;
}

/** Returns the line of a command in help: `create rule NAME [JSON] [-f FILE]`. */
export function usageOf({ path, args = [], flags = [] }: Command): string {
  const parts = args.map(({ name, isOptional, values }) => {
    const text = values === undefined ? name.toUpperCase() : values.join('|');
    return isOptional ? `[${text}]` : text;
  });
  const options = flags.map(({ name, short, value }) => {
    return `[${short === undefined ? `--${name}` : `-${short}`}${value === undefined ? '' : ` ${value}`}]`;
  });
  return [path, ...parts, ...options].join(' ');
}
