/**
 * The list of servers that an operator has written down: who belongs together, where they are, and how to sign in. No
 * address that is not in it is ever asked.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { reasonOf, yamlReason } from '../base/errors.js';
import { isObject } from '../base/structures/is-object.js';
import { fleetErrors } from './errors.js';

export interface FleetServer {
  readonly name: string;
  /** Address without a slash at its end. */
  readonly url: string;
  readonly groups: readonly string[];
  /** Token of each request; never told to anybody but this server. */
  readonly token?: string;
}

const members = ['name', 'url', 'groups', 'token', 'tokenFile'];
/** References within a document that may be followed. */
const maxAliases = 100;

/** Reads the list; throws for one that is missing or has faults, with all of them. */
export async function readFleet(file: string): Promise<readonly FleetServer[]> {
  if (!existsSync(file)) throw fleetErrors.noList(file);
  const faults: string[] = [];
  const servers = entriesOf(await readTree(file), faults).map((entry, i) =>
    readServer(entry, i, dirname(file), faults),
  );
  const names = servers.map(({ name }) => name);
  for (const name of new Set(names.filter((one, i) => one !== '' && names.indexOf(one) !== i))) {
    faults.push(`two servers are called ${name}`);
  }
  if (faults.length > 0) throw fleetErrors.badList(file, faults.join('; '));
  return servers;
}

async function readTree(file: string): Promise<unknown> {
  try {
    const { default: yaml } = await import('yaml');
    return yaml.parse(readFileSync(file, 'utf8'), { maxAliasCount: maxAliases });
  } catch (error) {
    throw fleetErrors.badList(file, yamlReason(error), { cause: error });
  }
}

function entriesOf(tree: unknown, faults: string[]): readonly unknown[] {
  if (isObject(tree) && Array.isArray(tree.servers)) {
    for (const name of Object.keys(tree).filter((one) => one !== 'servers')) faults.push(`${name} is not known`);
    return tree.servers;
  }
  faults.push('servers must be a list of objects with name and url');
  return [];
}

function readServer(entry: unknown, i: number, folder: string, faults: string[]): FleetServer {
  const given = isObject(entry) ? entry : {};
  const fault = (text: string) => faults.push(`server ${i + 1}: ${text}`);
  if (!isObject(entry)) fault('it must be an object with name and url');
  for (const name of Object.keys(given).filter((one) => !members.includes(one))) fault(`${name} is not known`);
  const { name, groups = [] } = given;
  const isNamed = typeof name === 'string' && /^[^\s,/]+$/.test(name);
  if (!isNamed) fault('name must be a text without blanks, commas and slashes');
  const isGrouped = Array.isArray(groups) && groups.every((one) => typeof one === 'string' && one !== '');
  if (!isGrouped) fault('groups must be a list of texts');
  return {
    name: isNamed ? name : '',
    url: addressOf(given.url, fault),
    groups: isGrouped ? (groups as string[]) : [],
    ...tokenOf(given, folder, fault),
  };
}

function addressOf(given: unknown, fault: (text: string) => void): string {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
  const isPlain = url !== undefined && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '';
  if (isPlain && url.username === '' && url.password === '') return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
  // An address with a password is not repeated.
  fault('url must be an address such as http://10.0.0.5:9081, without user name and query');
  return '';
}

function tokenOf(given: Readonly<Record<string, unknown>>, folder: string, fault: (text: string) => void) {
  const { token, tokenFile } = given;
  if (token !== undefined && tokenFile !== undefined) fault('token and tokenFile exclude each other');
  if (tokenFile === undefined) {
    if (token !== undefined && typeof token !== 'string') fault('token must be a text');
    return typeof token === 'string' && token.trim() !== '' ? { token: token.trim() } : {};
  }
  if (typeof tokenFile !== 'string') {
    fault('tokenFile must be a text');
    return {};
  }
  try {
    return { token: readFileSync(resolve(folder, tokenFile), 'utf8').trim() };
  } catch (error) {
    fault(`tokenFile can't be read: ${reasonOf(error)}`);
    return {};
  }
}

/** Which servers of the list are meant: those of a group, or by their names; all of them without either. */
export interface Chosen {
  readonly group?: string;
  readonly names?: readonly string[];
}

export function chosenOf(servers: readonly FleetServer[], { group, names }: Chosen): readonly FleetServer[] {
  if (servers.length === 0) throw fleetErrors.nobody();
  const unknown = names?.find((name) => servers.every((one) => one.name !== name));
  if (unknown !== undefined) throw fleetErrors.noServer(unknown, servers.map(({ name }) => name).join(', '));
  const found = servers.filter(
    (one) => (names === undefined || names.includes(one.name)) && (group === undefined || one.groups.includes(group)),
  );
  if (found.length > 0) return found;
  const groups = [...new Set(servers.flatMap((one) => one.groups))].join(', ');
  throw fleetErrors.noGroup(group ?? '', groups === '' ? 'no groups' : groups);
}
