/**
 * Gives a ruleset to many servers. Each of them is asked first what it would do with it; none is changed while one
 * refuses. Then one after another takes it, all of it or nothing, and the first that fails has those before it taken
 * back as far as that goes.
 */
import { type HaumeaClient, Refusal } from '../sdk/client.js';
import { type Definitions, type Difference, differencesOf } from '../sdk/differences.js';
import { type Asked, type AskOptions, askEach, askOne, type Shown, shownOf } from './ask.js';
import { fleetErrors } from './errors.js';
import type { FleetServer } from './list.js';

export interface PushOptions extends AskOptions {
  /** Nothing is changed; the answer says what would be. */
  readonly isDryRun: boolean;
  /** Servers that do not answer are left out; otherwise one of them stops it all. */
  readonly skipsAway: boolean;
}

/**
 * What became of a server: `same` has it already, `wouldChange` takes it, `changed` has taken it, `untouched` would
 * take it but was not asked to; `refused` and `away` have a reason. `reverted` is as it was before, `notReverted` is
 * not, or may not be.
 */
export type PushState =
  | 'same'
  | 'wouldChange'
  | 'changed'
  | 'untouched'
  | 'refused'
  | 'away'
  | 'reverted'
  | 'notReverted';

export interface PushedServer extends Shown {
  readonly state: PushState;
  readonly reason?: string;
  /** Items that are new or changed there. */
  readonly differences: readonly Difference[];
}

export interface Pushed {
  /** `done` also where some that are away were left out; `stopped`: nothing is changed; `failed`: see the servers. */
  readonly outcome: 'dryRun' | 'done' | 'stopped' | 'failed';
  readonly servers: readonly PushedServer[];
}

/** Imports start sources and plugins and take longer than questions. */
const importMs = 120_000;
const sections = ['streams', 'tables', 'rules'];

export async function push(servers: readonly FleetServer[], content: string, options: PushOptions): Promise<Pushed> {
  const ruleset = readRuleset(content);
  const looked = await askEach(servers, (client, signal) => wouldBe(client, signal, ruleset), options);
  const found = looked.map(lookedOf);
  const stops = ({ state }: PushedServer) => state === 'refused' || (state === 'away' && !options.skipsAway);
  if (options.isDryRun) return { outcome: 'dryRun', servers: found };
  if (found.some(stops)) return { outcome: 'stopped', servers: found.map(untouched) };
  return carryOut(servers, found, ruleset, options);
}

/** Reads a ruleset; other sections than its own can't be taken back. */
function readRuleset(content: string): Definitions {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    throw fleetErrors.badRuleset(`it is no JSON: ${error instanceof Error ? error.message : ''}`, { cause: error });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw fleetErrors.badRuleset('an object with streams, tables and rules was expected');
  }
  const isFull = (items: unknown) => typeof items === 'object' && items !== null && Object.keys(items).length > 0;
  const given = Object.entries(value).filter(([, items]) => isFull(items));
  const other = given.find(([name]) => !sections.includes(name))?.[0];
  if (other !== undefined) throw fleetErrors.badRuleset(`${other} is no part of one, it has streams, tables and rules`);
  if (given.length === 0) throw fleetErrors.badRuleset('it has no streams, tables and rules');
  return Object.fromEntries(given) as Definitions;
}

/** What a server would do: its import says what it refuses, its definitions what is different. */
async function wouldBe(client: HaumeaClient, signal: AbortSignal, ruleset: Definitions) {
  const file = await client.ask('GET /data/export', { query: { secrets: 'omit' }, signal });
  const differences = changesOf(JSON.parse(await file.text()) as Definitions, ruleset);
  await give(client, signal, ruleset, true);
  return differences;
}

const changesOf = (now: Definitions, ruleset: Definitions) =>
  differencesOf(now, ruleset, true).filter(({ kind }) => kind !== 'same');

async function give(client: HaumeaClient, signal: AbortSignal, items: Definitions, isDryRun = false): Promise<void> {
  const query = { partial: '1', atomic: '1', ...(isDryRun ? { dryRun: '1' } : {}) };
  await client.ask('POST /data/import', { query, body: { content: JSON.stringify(items) }, signal });
}

function lookedOf(one: Asked<readonly Difference[]>): PushedServer {
  const { name, url, groups } = one;
  const server = { name, url, groups };
  if ('reason' in one) {
    return { ...server, state: one.isAway ? 'away' : 'refused', reason: readable(one.reason), differences: [] };
  }
  return { ...server, state: one.told.length === 0 ? 'same' : 'wouldChange', differences: one.told };
}

const untouched = (one: PushedServer): PushedServer =>
  one.state === 'wouldChange' ? { ...one, state: 'untouched' } : one;

/** The reasons of an import that refuses items, in the place of its JSON. */
function readable(reason: string): string {
  try {
    const refused = Object.entries(JSON.parse(reason) as Definitions).flatMap(([section, items]) =>
      Object.entries(items ?? {}).map(([name, why]) => `${section} ${name}: ${why}`),
    );
    return refused.length === 0 ? reason : refused.join('; ');
  } catch {
    return reason;
  }
}

/** What a server had right before it was changed, and what became new or changed there. It has passwords. */
interface Old {
  readonly before: Definitions;
  readonly differences: readonly Difference[];
}

/** Changes that were made on a server, and what they took the place of. */
interface Made extends Old {
  readonly at: number;
  readonly server: FleetServer;
}

async function carryOut(
  servers: readonly FleetServer[],
  found: readonly PushedServer[],
  ruleset: Definitions,
  { timeoutMs = importMs, signal }: PushOptions,
): Promise<Pushed> {
  const results = [...found];
  const made: Made[] = [];
  const options = { timeoutMs, signal };
  for (const [at, server] of servers.entries()) {
    if (found[at]?.state !== 'wouldChange') continue;
    const one = { ...shownOf(server), differences: found[at].differences };
    let old: Old | undefined;
    const taken = await askOne(
      server,
      async (client, limit) => {
        // With passwords, or they could not be put back; they are kept nowhere.
        const file = await client.ask('GET /data/export', { signal: limit });
        const before = JSON.parse(await file.text()) as Definitions;
        // What others made since the first look is to stay when this is taken back.
        old = { before, differences: changesOf(before, ruleset) };
        await give(client, limit, ruleset);
      },
      options,
    );
    if ('told' in taken) {
      results[at] = { ...one, state: 'changed' };
      if (old !== undefined) made.push({ at, server, ...old });
      continue;
    }
    // A refusal has changed nothing there; whoever did not answer may have taken it.
    results[at] = { ...one, state: taken.isAway ? 'away' : 'refused', reason: readable(taken.reason) };
    if (taken.isAway && old !== undefined) made.push({ at, server, ...old });
    await takeBack(made, results);
    return { outcome: 'failed', servers: results.map(untouched) };
  }
  return { outcome: 'done', servers: results };
}

/** Puts back what was there before, the last server first. */
async function takeBack(made: readonly Made[], results: PushedServer[]): Promise<void> {
  for (const { at, server, ...old } of made.toReversed()) {
    const { differences, reason } = results[at] as PushedServer;
    const told = await askOne(server, (client, signal) => restore(client, signal, old), { timeoutMs: importMs });
    const because = [reason, 'reason' in told ? `it can't be taken back: ${readable(told.reason)}` : undefined];
    const text = because.filter((one) => one !== undefined).join('; ');
    const state = 'told' in told ? 'reverted' : 'notReverted';
    results[at] = { ...shownOf(server), state, ...(text === '' ? {} : { reason: text }), differences };
  }
}

async function restore(client: HaumeaClient, signal: AbortSignal, { before, differences }: Old): Promise<void> {
  const named = (kind: Difference['kind'], section: string) =>
    differences.filter((one) => one.kind === kind && one.section === section).map(({ name }) => name);
  // Rules go before the streams that they read.
  const drop = (section: string, route: 'DELETE /rules/{id}' | 'DELETE /streams/{id}' | 'DELETE /tables/{id}') =>
    named('new', section).map((id) => () => client.ask(route, { path: { id }, signal }).catch(unlessMissing));
  for (const step of drop('rules', 'DELETE /rules/{id}')) await step();
  const old = sections.map((section) => [
    section,
    Object.fromEntries(named('changed', section).map((name) => [name, before[section]?.[name]])),
  ]);
  if (differences.some(({ kind }) => kind === 'changed')) await give(client, signal, Object.fromEntries(old));
  for (const step of drop('streams', 'DELETE /streams/{id}')) await step();
  for (const step of drop('tables', 'DELETE /tables/{id}')) await step();
}

/** A server that did not answer may never have had what is to go. */
function unlessMissing(error: unknown): void {
  const isMissing = error instanceof Refusal && (error.status === 404 || / is not found/.test(error.message));
  if (!isMissing) throw error;
}
