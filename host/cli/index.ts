/**
 * The command line client: every command is a request to the REST interface of a running server. Exit codes: 0 done,
 * 1 the server or a rule reports an error, 2 the command line is wrong.
 */
import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { isObject } from '../base/structures/is-object.js';
import { nearest } from '../base/text/nearest.js';
import { type Call, type Command, findCommand, globalFlags, parseArgs, UsageError, usageOf } from './client/command.js';
import { commands } from './client/commands.js';
import { completionScript, shells } from './client/completion.js';
import { type Io, processIo } from './client/io.js';
import { readable } from './client/print.js';
import { type Answer, RequestError, RestClient } from './client/rest-client.js';
import { clientSettings } from './client/settings.js';
import { pluginCommands } from './plugin/commands.js';
import { stateCommands } from './state/commands.js';

/** Commands that run here instead of asking a server; only named for completion. */
const localCommands: readonly Command[] = [
  { path: 'serve', doc: 'run the engine with its REST interface', run: () => 2 },
  { path: 'bench', doc: 'measure throughput and latency', run: () => 2 },
  { path: 'demo', doc: 'show the engine at work', run: () => 2 },
];

const completion: Command = {
  path: 'completion',
  args: [{ name: 'shell', values: shells }],
  doc: 'print a completion script: source <(haumea completion bash)',
  run: (call) => {
    const program = programOf(process.argv[1]);
    call.io.out(completionScript(call.arg('shell') as (typeof shells)[number], all, localCommands, program));
    return 0;
  },
};

const all: readonly Command[] = [...commands, ...pluginCommands, ...stateCommands, completion];

/** The program itself: npx calls it by a link in its cache, which goes with that. */
function programOf(path: string | undefined): string {
  const called = resolve(path ?? 'haumea.mjs');
  return existsSync(called) ? realpathSync(called) : called;
}

/** First words of the client's commands. */
export const verbs: readonly string[] = [...new Set(all.map(({ path }) => path.split(' ', 1)[0] as string))];

/** Lists the commands for the help of the program. */
export function clientHelp(): string {
  const lines = all.map((command) => [usageOf(command), command.doc] as const);
  const width = Math.max(...lines.map(([usage]) => usage.length).filter((length) => length <= 44));
  const shown = lines.map(([usage, doc]) =>
    usage.length > width ? `  ${usage}\n  ${' '.repeat(width)}  ${doc}\n` : `  ${usage.padEnd(width)}  ${doc}\n`,
  );
  return `${shown.join('')}\n${flagHelp(globalFlags)}`;
}

/** Runs a command line such as `['show', 'rules']`; resolves with the exit code. */
export async function main(argv: readonly string[], io: Io = processIo): Promise<number> {
  const words = [...argv];
  // Global flags may stand in front of the command.
  const start = firstWord(words);
  const found = findCommand(all, words.slice(start));
  if (found === undefined) return unknown(words.slice(start), words, io);
  const [command, rest] = found;
  let isJson = words.includes('--json') || words.includes('-json');
  try {
    const { args, flags } = parseArgs(command, [...words.slice(0, start), ...rest]);
    if (flags.get('help') === 'true') {
      io.out(commandHelp(command));
      return 0;
    }
    isJson = flags.get('json') === 'true';
    const client = new RestClient(await clientSettings(flags, io.env));
    const call: Call = {
      io,
      client,
      isJson,
      hasOwnTimeout: flags.has('timeout'),
      arg: (name) => args.get(name) ?? '',
      flag: (name) => flags.get(name),
      print: (answer) => io.out(isJson ? jsonText(answer) : plainText(answer)),
    };
    return (await command.run(call)) ?? 0;
  } catch (error) {
    if (error instanceof UsageError) {
      io.err(`haumea: ${error.message}\nusage: haumea ${usageOf(command)}\n`);
      return 2;
    }
    if (!(error instanceof RequestError)) throw error;
    io.err(
      isJson
        ? `${JSON.stringify({ error: error.code, status: error.status, message: error.message })}\n`
        : `haumea: ${error.message}\n`,
    );
    return 1;
  }
}

/** Index of the first word that is neither a global flag nor its value. */
function firstWord(words: readonly string[]): number {
  let at = 0;
  while (at < words.length && (words[at] as string).startsWith('-')) {
    const name = (words[at] as string).replace(/^--?/, '');
    const takesNext = globalFlags.some((flag) => flag.name === name && flag.value !== undefined);
    at += takesNext ? 2 : 1;
  }
  return Math.min(at, words.length);
}

function unknown(words: readonly string[], given: readonly string[], io: Io): number {
  const [verb, noun] = words;
  const isHelp = given.some((word) => word === '--help' || word === '-h');
  const nouns = all.filter(({ path }) => path.startsWith(`${verb} `));
  if (isHelp || verb === undefined) {
    const shown = nouns.map((command) => `  haumea ${usageOf(command)}\n`).join('');
    const text = shown === '' ? `usage: haumea <command>\n\n${clientHelp()}` : `usage:\n${shown}`;
    if (isHelp) io.out(text);
    else io.err(text);
    return isHelp ? 0 : 2;
  }
  if (nouns.length === 0) {
    const meant = nearest(verb, [...localCommands.map(({ path }) => path), ...verbs]);
    io.err(`haumea: unknown command ${verb}${meant === undefined ? '' : `, did you mean ${meant}?`}\n`);
    return 2;
  }
  const known = nouns.map(({ path }) => path.slice(verb.length + 1));
  const meant = noun === undefined ? undefined : nearest(noun, known);
  const what =
    noun === undefined
      ? `${verb} what?`
      : `${verb} does not know ${noun}${meant === undefined ? '' : `, did you mean ${meant}?`}`;
  io.err(`haumea: ${what}\n${nouns.map((command) => `  haumea ${usageOf(command)}\n`).join('')}`);
  return 2;
}

function commandHelp(command: Command): string {
  const own = command.flags ?? [];
  const flags = `${own.length === 0 ? '' : `${flagHelp(own)}\n`}${flagHelp(globalFlags)}`;
  return `usage: haumea ${usageOf(command)}\n\n${command.doc}\n\n${flags}`;
}

function flagHelp(flags: typeof globalFlags): string {
  const lines = flags.map(({ name, short, value, doc }) => {
    const names = short === undefined ? `--${name}` : `-${short}, --${name}`;
    return [value === undefined ? names : `${names} ${value}`, doc] as const;
  });
  const width = Math.max(...lines.map(([names]) => names.length));
  return lines.map(([names, doc]) => `  ${names.padEnd(width)}  ${doc}\n`).join('');
}

function plainText(answer: Answer): string {
  // Some warnings are in the header alone.
  const more = answer.warnings.filter((warning) => !answer.text.includes(warning));
  return bodyText(answer) + more.map((warning) => `Warning: ${warning}\n`).join('');
}

function bodyText({ text, json }: Answer): string {
  // One object in each line, as explain answers, is no JSON as a whole and shown as it is.
  if (json !== undefined) return readable(json);
  return text === '' ? 'done\n' : text.endsWith('\n') ? text : `${text}\n`;
}

function jsonText({ text, json }: Answer): string {
  const value = json !== undefined && (isObject(json) || Array.isArray(json)) ? json : { message: text.trim() };
  return `${JSON.stringify(value, null, 2)}\n`;
}
