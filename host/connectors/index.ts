/** All connectors, by what the control plane asks of their manifests; what does the work is loaded at its first use. */
import { meantOr } from '../base/text/nearest.js';
import type { Connector, LookupDeclaration } from './define.js';
import { manifests } from './gen/index.js';
import { addManifests, connectorOf } from './loaded.js';

type Props = Readonly<Record<string, unknown>>;

addManifests(manifests);

export {
  askedPart,
  connectorFor,
  connectorOf,
  dynamicProps,
  loadConnector,
  pluginConnectors,
  sinkForm,
  unknownConnector,
} from './loaded.js';

/** All connectors, by name. */
export function allConnectors(): readonly Connector[] {
  return manifests;
}

/** The connectors that users may name. */
export function userConnectors(): readonly Connector[] {
  return manifests.filter(({ isInternal }) => !isInternal);
}

/** Names of the connectors that can play the part for a user. */
export function connectorNames(part: 'source' | 'sink'): readonly string[] {
  return userConnectors().flatMap((connector) => (connector[part] === undefined ? [] : [connector.name]));
}

/** Types that named connections may have. */
export function connectionTypes(): readonly string[] {
  return manifests.flatMap(({ name, connection }) => (connection === undefined ? [] : [name])).sort();
}

/** Sources in which rows can be looked up, by name. */
export function lookups(): ReadonlyMap<string, LookupDeclaration> {
  const all = manifests.flatMap(({ name, lookup }) => (lookup === undefined ? [] : [[name, lookup] as const]));
  return new Map(all.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The error for a source in which no rows can be looked up: the type that was meant, or those there are. */
export function unknownLookup(type: string): string {
  const names = manifests.flatMap(({ name, lookup }) => (lookup === undefined ? [] : [name])).sort();
  return `lookup source type ${type} not found${meantOr(type, names, 'expected one of')}`;
}

/** True when rows of lookup tables of the type come by its source and are kept; otherwise it is asked for them. */
export function isKeptTable(type: string): boolean {
  const connector = connectorOf(type);
  return connector?.source !== undefined && (connector.lookup === undefined || connector.lookup.isKept === true);
}

/** Type of streams or scan tables whose statement names none. */
export function defaultType(kind: 'stream' | 'table'): string {
  return nameOfSource(({ isTypeOf }) => isTypeOf === kind);
}

/** Type that sends the rows which a test rule is given in the place of its streams. */
export function givenRowsType(): string {
  return nameOfSource(({ sendsGivenRows }) => sendsGivenRows === true);
}

function nameOfSource(test: (source: NonNullable<Connector['source']>) => boolean): string {
  const found = manifests.find(({ source }) => source !== undefined && test(source));
  if (found === undefined) throw new Error('no connector declares what is asked for');
  return found.name;
}

/** Where the configuration keys of a source come from. */
export interface SourceKeys {
  /** Name of the file `<keysName>.yaml`; in upper case the begin of the names of variables. */
  readonly keysName?: string;
  /** Properties of the key `default` that are there without a file. */
  readonly defaultKey?: Props;
}

/** Where the configuration keys of each source or lookup connector come from, by its name. */
export function sourceKeys(): ReadonlyMap<string, SourceKeys> {
  const built = manifests.flatMap(({ name, source, lookup }): (readonly [string, SourceKeys])[] => {
    const part = source ?? lookup;
    return part === undefined ? [] : [[name, part]];
  });
  return new Map(built.sort(([a], [b]) => (a < b ? -1 : 1)));
}
