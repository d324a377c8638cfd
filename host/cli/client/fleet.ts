/** Commands for many servers: they read the list of servers themselves, and ask each of them. */
import { join } from 'node:path';
import { HaumeaError } from '../../base/errors.js';
import { chosenOf, type FleetServer, readFleet } from '../../fleet/list.js';
import type { FleetItem, Reached, ServerStatus } from '../../fleet/look.js';
import type { Pushed, PushedServer } from '../../fleet/push.js';
import { linesOf } from '../../sdk/differences.js';
import { type Call, type Command, UsageError } from './command.js';
import { fileFlag, readText } from './input.js';
import { table } from './print.js';

const flags: Command['flags'] = [
  { name: 'servers', value: 'FILE', doc: 'the list of servers (etc/fleet.yaml)' },
  { name: 'group', value: 'NAME', doc: 'only the servers of this group' },
];

async function serversOf(call: Call): Promise<readonly FleetServer[]> {
  const file = call.flag('servers') ?? join(call.io.env.KuiperBaseKey || '.', 'etc', 'fleet.yaml');
  return asUsage(async () => chosenOf(await readFleet(file), { group: call.flag('group') }));
}

/** What is wrong with the list or the file is a mistake of who calls. */
async function asUsage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof HaumeaError ? new UsageError(error.message) : error;
  }
}

function optionsOf(call: Call): { timeoutMs?: number } {
  const seconds = call.flag('timeout');
  return seconds === undefined ? {} : { timeoutMs: Number(seconds) * 1000 };
}

function print(call: Call, value: unknown, text: () => string): void {
  call.io.out(call.isJson ? `${JSON.stringify(value, undefined, 2)}\n` : text());
}

/** Lines for the servers that have told nothing. */
function silent(servers: readonly Reached[]): string {
  return servers.map(({ name, reason }) => (reason === undefined ? '' : `${name} tells nothing: ${reason}\n`)).join('');
}

const isSilent = ({ reason }: Reached) => reason !== undefined;

async function status(call: Call): Promise<number> {
  const servers = await serversOf(call);
  const { fleetStatus } = await import('../../fleet/look.js');
  const all = await fleetStatus(servers, optionsOf(call));
  print(call, all, () =>
    table(all.map(statusRow), ['server', 'url', 'groups', 'version', 'rules', 'in trouble', 'state']),
  );
  return all.some((one) => isSilent(one) || (one.overview?.troubled ?? 0) > 0) ? 1 : 0;
}

function statusRow({ name, url, groups, reason, overview }: ServerStatus): Record<string, unknown> {
  const rules = Object.entries(overview?.rules ?? {}).map(([state, count]) => `${count} ${state}`);
  return {
    server: name,
    url,
    groups: groups.join(', '),
    version: overview?.version,
    rules: overview === undefined ? undefined : rules.join(', ') || 'none',
    'in trouble': overview?.troubled,
    state: reason ?? 'answers',
  };
}

async function rules(call: Call): Promise<number> {
  const servers = await serversOf(call);
  const { fleetRules } = await import('../../fleet/look.js');
  const found = await fleetRules(servers, optionsOf(call));
  const names = found.servers.filter((one) => !isSilent(one)).map(({ name }) => name);
  print(call, found, () => {
    const rows = found.rules.map(({ id, isSame, on }) => {
      const cells = on.map(({ server, status: state, variant }) => [server, isSame ? state : `${state} (${variant})`]);
      return { rule: id, same: isSame ? 'yes' : 'no', ...Object.fromEntries(cells) };
    });
    const shown = rows.length === 0 ? 'There are no rules\n' : table(rows, ['rule', 'same', ...names]);
    return shown + silent(found.servers);
  });
  return found.servers.some(isSilent) || found.rules.some(({ isSame }) => !isSame) ? 1 : 0;
}

async function diff(call: Call): Promise<number> {
  const servers = await serversOf(call);
  const { fleetDifferences } = await import('../../fleet/look.js');
  const found = await fleetDifferences(servers, optionsOf(call));
  const count = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;
  print(call, found, () => {
    const head = `${count(found.items.length, 'item')} differ, ${found.same} are the same\n`;
    return `${head}${found.items.map(itemText).join('')}${silent(found.servers)}`;
  });
  return found.servers.some(isSilent) || found.items.length > 0 ? 1 : 0;
}

function itemText({ section, name, variants, missing }: FleetItem): string {
  const [most, ...others] = variants;
  const without = missing.length === 0 ? '' : `  missing on ${missing.join(', ')}\n`;
  const parts = others.map(({ servers, text }) => `  ${servers.join(', ')}:\n${lines(most?.text ?? '', text)}`);
  return `\n${section} ${name}, on ${most?.servers.join(', ')}\n${without}${parts.join('')}`;
}

const lines = (before: string, after: string) =>
  linesOf(before, after)
    .filter(({ sign }) => sign !== ' ')
    .map(({ sign, text }) => `    ${sign} ${text}\n`)
    .join('');

async function pushRuleset(call: Call): Promise<number> {
  const file = call.flag('file');
  if (file === undefined) throw new UsageError('a ruleset is missing: -f FILE');
  const content = readText(file);
  const servers = await serversOf(call);
  const { push } = await import('../../fleet/push.js');
  const isDryRun = call.flag('dry-run') === 'true';
  const options = { ...optionsOf(call), isDryRun, skipsAway: call.flag('skip-away') === 'true' };
  const pushed = await asUsage(() => push(servers, content, options));
  print(call, pushed, () => pushText(pushed));
  const isStopped = ({ state }: PushedServer) => state === 'refused' || (state === 'away' && !options.skipsAway);
  return pushed.outcome === 'done' || (isDryRun && !pushed.servers.some(isStopped)) ? 0 : 1;
}

const outcomes: Readonly<Record<Pushed['outcome'], string>> = {
  dryRun: 'Nothing was changed: this was a dry run.\n',
  done: '',
  stopped: 'Nothing was changed: all servers must answer and take it (--skip-away leaves out those that are away).\n',
  failed: 'It was not carried out everywhere: see the state of each server.\n',
};

function pushText({ outcome, servers }: Pushed): string {
  const details = servers
    .filter(({ differences }) => differences.length > 0)
    .map(({ name, differences }) => {
      const items = differences.map(({ section, name: item, kind, before, after }) => {
        return `  ${kind} ${section} ${item}\n${kind === 'changed' ? lines(before, after) : ''}`;
      });
      return `${name}\n${items.join('')}`;
    });
  const rows = servers.map(({ name, state, reason, differences }) => ({
    server: name,
    state: state.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
    new: differences.filter(({ kind }) => kind === 'new').length,
    changed: differences.filter(({ kind }) => kind === 'changed').length,
    reason,
  }));
  return `${details.join('')}\n${table(rows)}${outcomes[outcome]}`;
}

export const fleetCommands: readonly Command[] = [
  {
    path: 'fleet status',
    flags,
    doc: 'show each server of a list at a glance; exit code 1 when one is away or has rules in trouble',
    run: status,
  },
  {
    path: 'fleet rules',
    flags,
    doc: 'show the rules of all servers side by side; exit code 1 when they are not the same everywhere',
    run: rules,
  },
  {
    path: 'fleet diff',
    flags,
    doc: 'show the definitions in which servers differ; exit code 1 when there are any',
    run: diff,
  },
  {
    path: 'fleet push',
    flags: [
      fileFlag,
      ...flags,
      { name: 'dry-run', doc: 'change nothing, show what would be changed where' },
      { name: 'skip-away', doc: 'leave out servers that do not answer, in the place of changing none' },
    ],
    doc: 'give a ruleset to all servers or, where one refuses, to none; exit code 1 when it was not carried out',
    run: pushRuleset,
  },
];
