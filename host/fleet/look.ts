/** How the servers of a list are, and what runs on which of them. */
import type { Answer } from '../sdk/client.js';
import { type Definitions, itemsOf, shown } from '../sdk/differences.js';
import { type Asked, type AskOptions, askEach, type Shown } from './ask.js';
import type { FleetServer } from './list.js';

/** A server at a glance; `reason` says why it has told nothing. */
export type ServerStatus = Shown & { readonly reason?: string; readonly overview?: Answer<'GET /overview'> };

export async function fleetStatus(servers: readonly FleetServer[], options?: AskOptions): Promise<ServerStatus[]> {
  const all = await askEach(servers, (client, signal) => client.ask('GET /overview', { signal }), options);
  return all.map((one) => {
    const { name, url, groups } = one;
    return { name, url, groups, ...('told' in one ? { overview: one.told } : { reason: one.reason }) };
  });
}

/** One item of the definitions on several servers. */
export interface FleetItem {
  readonly section: string;
  readonly name: string;
  /** Its different texts; the one that most servers have comes first. */
  readonly variants: readonly { readonly servers: readonly string[]; readonly text: string }[];
  /** Servers that have told their definitions, and have none of this name. */
  readonly missing: readonly string[];
}

export interface FleetRule {
  readonly id: string;
  /** True when all servers that answer have it, and the same. */
  readonly isSame: boolean;
  readonly missing: readonly string[];
  /** Where it is: its state there, and which of its texts, from 1, that server has. */
  readonly on: readonly { readonly server: string; readonly status: string; readonly variant: number }[];
}

/** What becomes of each server that was asked. */
export type Reached = Shown & { readonly reason?: string };

/** The rules of all servers side by side. */
export async function fleetRules(
  servers: readonly FleetServer[],
  options?: AskOptions,
): Promise<{ servers: Reached[]; rules: FleetRule[] }> {
  const all = await askEach(
    servers,
    async (client, signal) => {
      const rules = await client.ask('GET /rules', { signal });
      const text = await (await client.ask('GET /data/export', { query: { secrets: 'omit' }, signal })).text();
      const states = new Map(rules.map(({ id, status }) => [id, status]));
      return { states, items: comparable({ rules: (JSON.parse(text) as Definitions).rules ?? {} }) };
    },
    options,
  );
  const states = new Map(toldOf(all).map(({ name, told }) => [name, told.states]));
  const rules = besides(toldOf(all).map(({ name, told }) => [name, told.items])).map(
    ({ name: id, variants, missing }) => ({
      id,
      isSame: variants.length === 1 && missing.length === 0,
      missing,
      on: variants.flatMap((variant, i) =>
        variant.servers.map((server) => ({ server, status: states.get(server)?.get(id) ?? '', variant: i + 1 })),
      ),
    }),
  );
  return { servers: all.map(reachedOf), rules: rules.toSorted((one, other) => (one.id < other.id ? -1 : 1)) };
}

/** Items that not all servers have, or not the same; items that are the same are counted. */
export async function fleetDifferences(
  servers: readonly FleetServer[],
  options?: AskOptions,
): Promise<{ servers: Reached[]; items: FleetItem[]; same: number }> {
  const all = await askEach(
    servers,
    async (client, signal) => {
      const file = await client.ask('GET /data/export', { query: { secrets: 'omit' }, signal });
      return comparable(JSON.parse(await file.text()) as Definitions);
    },
    options,
  );
  const items = besides(toldOf(all).map(({ name, told }) => [name, told]));
  const different = items.filter(({ variants, missing }) => variants.length > 1 || missing.length > 0);
  return { servers: all.map(reachedOf), items: different, same: items.length - different.length };
}

type Told<T> = Extract<Asked<T>, { readonly told: T }>;

const toldOf = <T>(all: readonly Asked<T>[]) => all.filter((one): one is Told<T> => 'told' in one);

function reachedOf(one: Asked<unknown>): Reached {
  const { name, url, groups } = one;
  return { name, url, groups, ...('told' in one ? {} : { reason: one.reason }) };
}

/** Texts of the items by section and name. Whether a rule was stopped by hand is its state, no part of its text. */
function comparable(definitions: Definitions): ReadonlyMap<string, string> {
  const texts = [...itemsOf(definitions)].map(([key, item]) => {
    const isRule = key.startsWith('["rules",') && typeof item === 'object' && item !== null;
    const { triggered: _triggered, ...rule } = (isRule ? item : {}) as Readonly<Record<string, unknown>>;
    return [key, shown(inOneOrder(isRule ? rule : item)).trim()] as const;
  });
  return new Map(texts);
}

/** Members in the order of their names: JSON that means the same is the same text. */
function inOneOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOneOrder);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, inOneOrder(member)]));
}

/** Each item of any of the servers, with the servers by its text. */
function besides(all: readonly (readonly [name: string, texts: ReadonlyMap<string, string>])[]): FleetItem[] {
  const keys = [...new Set(all.flatMap(([, texts]) => [...texts.keys()]))];
  return keys.map((key) => {
    const [section = '', name = ''] = JSON.parse(key) as string[];
    const byText = new Map<string, string[]>();
    for (const [server, texts] of all) {
      const text = texts.get(key);
      if (text !== undefined) byText.set(text, [...(byText.get(text) ?? []), server]);
    }
    const variants = [...byText].map(([text, servers]) => ({ servers, text }));
    return {
      section,
      name,
      variants: variants.toSorted((one, other) => other.servers.length - one.servers.length),
      missing: all.filter(([, texts]) => !texts.has(key)).map(([server]) => server),
    };
  });
}
